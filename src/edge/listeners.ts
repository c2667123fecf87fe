import { createServer, type Server, type Socket } from 'node:net'
import { unmapped } from '../lib/addresses.ts'
import { Members } from '../lib/members.ts'
import { createSeldom } from '../lib/seldom.ts'
import type { Log } from '../log.ts'
import type { Admission } from './admission.ts'
import { type Introduction, takeProxyHeader } from './proxy-protocol.ts'
import { LEAVING_MS } from './timeouts.ts'

/** What a server is told to listen on: a bound socket that came from the supervisor, or an address. */
export type Listen = { fd: number } | { host: string; port: number }

export type ListenerParts = {
  log: Log
  proxyProtocol: 'off' | 'required'
  admission: Admission
  /** `peer`: the address of whoever connected, or of the visitor when a proxy told it. */
  onSocket(socket: Socket, peer: string): void
}

/** A connection, and how much of what it has said is the header of a proxy in front of us. */
type Accepted = { socket: Socket; headerBytes: number }

const BACKLOG = 4_096
const NO_HEADER =
  'connections that began without the PROXY protocol were closed, as NAMESAKE_PROXY_PROTOCOL=required has it. If the load balancer in front does not speak it, have it do so, or set that to off; if they came past it, let nobody else reach these ports'

/** Accepts connections on all of the addresses; resolves when every one listens. */
export async function startListeners(listens: readonly Listen[], parts: ListenerParts) {
  const servers: Server[] = []
  const connections = new Members<Accepted>()
  const seldom = createSeldom()
  const accept = (socket: Socket) => {
    socket.on('error', () => socket.destroy())
    if (parts.admission.admit(socket) === 'turned-away') return void socket.destroy()
    const accepted = { socket, headerBytes: 0 }
    const place = connections.add(accepted)
    socket.once('close', () => connections.delete(place))
    const address = unmapped(socket.remoteAddress ?? '')
    if (parts.proxyProtocol === 'off') hand(socket, address)
    else void takeProxyHeader(socket, address).then((introduction) => introduce(accepted, introduction, address))
  }
  const introduce = (accepted: Accepted, introduction: Introduction, client: string) => {
    if (introduction.kind === 'no-header') seldom((connections) => parts.log.warn({ client, connections }, NO_HEADER))
    if (introduction.kind !== 'introduced') return
    accepted.headerBytes = introduction.headerBytes
    hand(accepted.socket, introduction.peer)
  }
  const hand = (socket: Socket, peer: string) => {
    if (parts.admission.admitClient(socket, peer) === 'turned-away') socket.destroy()
    else parts.onSocket(socket, peer)
  }
  const close = async () => {
    // Browsers connect before they have anything to ask, and would keep a stop waiting until they should have.
    const letGo = () => {
      for (const { socket, headerBytes } of connections.all()) if (socket.bytesRead === headerBytes) socket.destroy()
    }
    const timer = setTimeout(letGo, LEAVING_MS)
    await Promise.all(servers.map((server) => new Promise<void>((resolve) => server.close(() => resolve()))))
    clearTimeout(timer)
  }
  try {
    for (const listen of listens) {
      const server = createServer({ noDelay: true }, accept)
      servers.push(server)
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject).once('listening', resolve)
        server.listen({ ...listen, backlog: BACKLOG })
      })
    }
  } catch (error) {
    for (const server of servers) server.close()
    throw error
  }
  return {
    ports: servers.map((server) => (server.address() as { port: number }).port),
    /** Takes no further connection, and lets those go that say nothing for two seconds more; resolves when the last one that was taken has closed. */
    close,
    destroy() {
      for (const { socket } of connections.all()) socket.destroy()
    },
  }
}
