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
  let stopped = false

  udp.on('message', (packet, from) => {
    const verdict = from.port === 0 || udp.getSendQueueSize() > UNSENT_BYTES_MAX ? 'drop' : verdictOn(from.address)
    const send = (reply: Buffer | undefined) => {
      if (reply && !stopped) udp.send(reply, from.port, from.address, () => {}) // who cannot be reached asks again
    }
    if (verdict === 'answer') void responder.respond(packet, 'udp').then(send)
    else if (verdict === 'slip') send(responder.slip(packet))
    else count('dropped')
  })
  udp.on('error', () => {}) // of one datagram; the next is another's
  server.listen(tcp)
  await once(server, 'listening')
  return {
    async stop() {
      stopped = true
      udp.removeAllListeners('message')
      await stop()
      await new Promise<void>((resolve) => udp.close(resolve))
    },
  }
}
