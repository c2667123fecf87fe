import { setMaxListeners } from 'node:events'
import { isAskable, type Message, type Question, RCODE } from '../lib/dns-message.ts'
import type { Server } from './servers.ts'
import { askOverTcp } from './tcp.ts'
import { createUdp } from './udp.ts'

export type Exchange = {
  /** Asks one server once, over UDP and, when the answer is truncated, over TCP. Undefined: nothing that fits came before `endsAt`. */
  ask(server: Server, question: Question, endsAt: number): Promise<Message | undefined>
  /** As ask, over TCP alone, where nobody else can answer in the server's place without seeing what it is asked. */
  askSurely(server: Server, question: Question, endsAt: number): Promise<Message | undefined>
  /** False while this machine has no way to the family of the address, as one without IPv6. */
  reaches(address: string): boolean
  close(): void
}

const IN_FLIGHT_MAX = 4_000
const IN_LINE_MAX = 20_000
const TCP_MIN_MS = 1_000 // a truncated answer proves that the server is alive: its second, slower try is given this long

/** All packets of a probe pass here: at most 4,000 queries are under way, the others wait in line, and a full line answers nothing. */
export function createExchange(): Exchange {
  // Authorities are strangers', who see the ports that they are asked from: the resolver's answers are awaited at others.
  const udp = { resolvers: createUdp(), authorities: createUdp() }
  const closing = new AbortController()
  setMaxListeners(IN_FLIGHT_MAX, closing.signal)
  const line: (() => void)[] = []
  let lineHead = 0
  let inFlight = 0

  function enter(): Promise<void> | undefined {
    if (inFlight < IN_FLIGHT_MAX) {
      inFlight++
      return undefined
    }
    return new Promise((resolve) => line.push(resolve))
  }

  function exit(): void {
    const next = line[lineHead]
    if (!next) {
      inFlight--
      return
    }
    lineHead++
    if (lineHead > IN_LINE_MAX) {
      line.splice(0, lineHead)
      lineHead = 0
    }
    next() // the place passes on, so the count stays
  }

  async function inPlace(endsAt: number, ask: () => Promise<Message | undefined>): Promise<Message | undefined> {
    if (line.length - lineHead >= IN_LINE_MAX || closing.signal.aborted) return undefined
    await enter()
    try {
      return performance.now() < endsAt ? await ask() : undefined
    } finally {
      exit()
    }
  }

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
    async ask(server, question, endsAt) {
      return isAskable(question.name) ? inPlace(endsAt, () => askEnds(server, question, endsAt)) : undefined
    },
    async askSurely(server, question, endsAt) {
      return isAskable(question.name) ? inPlace(endsAt, () => askOverTcp(server, question, endsAt, closing.signal)) : undefined
    },
    reaches: udp.authorities.reaches,
    close() {
      closing.abort()
      udp.resolvers.close()
      udp.authorities.close()
    },
  }
}
