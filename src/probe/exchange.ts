import { setMaxListeners } from 'node:events'
import { isAskable, type Message, type Question, RCODE } from '../lib/dns-message.ts'
import { createPlaces, PLACES_MAX, type Places } from './places.ts'
import type { Server } from './servers.ts'
import { askOverTcp } from './tcp.ts'
import { createUdp } from './udp.ts'

export type Exchange = Places & {
  /** Asks one server once, over UDP and, when the answer is truncated, over TCP. Undefined: nothing that fits came before `endsAt`. */
  ask(server: Server, question: Question, endsAt: number): Promise<Message | undefined>
  /** As ask, over TCP alone, where nobody else can answer in the server's place without seeing what it is asked. */
  askSurely(server: Server, question: Question, endsAt: number): Promise<Message | undefined>
  /** False while this machine has no way to the family of the address, as one without IPv6. */
  reaches(address: string): boolean
  close(): void
}

const TCP_MIN_MS = 1_000 // a truncated answer proves that the server is alive: its second, slower try is given this long

/** All packets of a probe pass here. What a look-up asks, it asks in its places: time begins to run when it has one. */
export function createExchange(): Exchange {
  // Authorities are strangers', who see the ports that they are asked from: the resolver's answers are awaited at others.
  const udp = { resolvers: createUdp(), authorities: createUdp() }
  const closing = new AbortController()
  setMaxListeners(PLACES_MAX, closing.signal)

  async function askEnds(server: Server, question: Question, endsAt: number): Promise<Message | undefined> {
    const { ask } = question.recurse ? udp.resolvers : udp.authorities
    let message = await ask(server, question, endsAt, true)
    // Old servers stumble over EDNS (RFC 6891 §6.2.2).
    if (message && (message.rcode === RCODE.formatError || message.rcode === RCODE.notImplemented)) {
      message = await ask(server, question, endsAt, false)
    }
    if (!message?.truncated) return message
    return askOverTcp(server, question, Math.max(endsAt, performance.now() + TCP_MIN_MS), closing.signal)
  }

  return {
    ...createPlaces(),
    async ask(server, question, endsAt) {
      return isAskable(question.name) ? askEnds(server, question, endsAt) : undefined
    },
    async askSurely(server, question, endsAt) {
      return isAskable(question.name) ? askOverTcp(server, question, endsAt, closing.signal) : undefined
    },
    reaches: udp.authorities.reaches,
    close() {
      closing.abort()
      udp.resolvers.close()
      udp.authorities.close()
    },
  }
}
