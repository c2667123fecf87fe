import type { Socket } from 'node:dgram'
import { once } from 'node:events'
import { createRateLimit } from './rate-limit.ts'
import { createResponder, type Outcome } from './responder.ts'
import { createTcpServer } from './tcp.ts'
import type { Zone } from './zone.ts'

export type DnsServerParts = {
  zone: Zone
  /** A bound socket; the server closes it. */
  udp: Socket
  tcp: { fd: number } | { host: string; port: number }
  count(outcome: Outcome): void
}

const UNSENT_BYTES_MAX = 1_048_576

/**
 * The authoritative server of one zone, over UDP and TCP. It looks nothing up for anybody else, and refuses what lies outside the zone.
 * Whoever can forge addresses gains little: answers are small, and each network gets only so many.
 */
export async function startDnsServer({ zone, udp, tcp, count }: DnsServerParts): Promise<{ stop(): Promise<void> }> {
  const responder = createResponder(zone, count)
  const verdictOn = createRateLimit()
  const { server, stop } = createTcpServer(responder)
  const underWay = new Set<Promise<void>>()
  let isStopping = false

  udp.on('message', (packet, from) => {
    if (isStopping) return // for whoever asks again there is a successor
    const verdict = from.port === 0 || udp.getSendQueueSize() > UNSENT_BYTES_MAX ? 'drop' : verdictOn(from.address)
    const send = (reply: Buffer | undefined): Promise<void> =>
      new Promise((resolve) => (reply ? udp.send(reply, from.port, from.address, () => resolve()) : resolve())) // who cannot be reached asks again
    if (verdict === 'answer') {
      const answering = responder.respond(packet, 'udp').then(send)
      underWay.add(answering)
      void answering.finally(() => underWay.delete(answering))
    }
    if (verdict === 'slip') void send(responder.slip(packet))
    if (verdict === 'drop') count('dropped')
  })
  udp.on('error', () => {}) // of one datagram; the next is another's
  server.listen(tcp)
  await once(server, 'listening')
  return {
    async stop() {
      // Datagrams first: until ours is closed, the system still gives it some of what a successor beside it could answer.
      isStopping = true
      await Promise.all(underWay)
      await new Promise<void>((resolve) => udp.close(resolve))
      await stop()
    },
  }
}
