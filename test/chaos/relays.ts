import { connect, createServer, type Server, type Socket } from 'node:net'
import { type Network, PLACES, type Place } from './network.ts'

type Relay = { from: Place; to: Place; server: Server; sockets: Set<Socket>; isCut: boolean; host: string; port: number }

/**
 * Machines at addresses of their own on the loopback interface, where no namespace is allowed. Between two that asked for a way stands a relay,
 * which can be cut; links without one cannot, and no packet can be lost.
 */
export function createRelays(): Network {
  const subnet = `127.${100 + (process.pid % 100)}.${Math.floor(process.pid / 100) % 250}`
  const addressOf = (place: Place) => `${subnet}.${PLACES[place]}`
  const relays: Relay[] = []

  return {
    kind: 'loopback relays',
    addressOf,
    within: () => [],
    strangers: '127.1.0.',
    async way(from, to, port) {
      const known = relays.find((relay) => relay.from === from && relay.to === to && relay.port === port)
      const relay = known ?? (await startRelay({ from, to, port, host: `${subnet}.${100 + relays.length}` }, addressOf(to)))
      if (!known) relays.push(relay)
      return { host: relay.host, port: relay.port }
    },
    async cut(from, to) {
      const between = relays.filter((relay) => relay.from === from && relay.to === to)
      if (between.length === 0) throw new Error(`there is no relay between ${from} and ${to}: this needs namespaces`)
      const hold = (isCut: boolean) => {
        for (const relay of between) {
          relay.isCut = isCut
          for (const socket of relay.sockets) {
            if (isCut) socket.pause()
            else socket.resume()
          }
        }
      }
      hold(true)
      return async () => hold(false)
    },
    lose: () => Promise.reject(new Error('packets can be lost in namespaces alone')),
    async close() {
      for (const { server, sockets } of relays) {
        server.close()
        for (const socket of sockets) socket.destroy()
      }
    },
  }
}

async function startRelay(place: Pick<Relay, 'from' | 'to' | 'port' | 'host'>, target: string): Promise<Relay> {
  const sockets = new Set<Socket>()
  const server = createServer({ allowHalfOpen: true }, (near) => {
    const far = connect({ host: target, port: place.port, allowHalfOpen: true })
    near.pipe(far).pipe(near)
    for (const socket of [near, far]) {
      sockets.add(socket)
      if (relay.isCut) socket.pause()
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        if (relay.isCut) return // its other end hears nothing of it
        near.destroy()
        far.destroy()
      })
    }
  })
  const relay: Relay = { ...place, server, sockets, isCut: false }
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(place.port, place.host, resolve))
  return relay
}
