import { type Message, RCODE, type RecordType } from '../lib/dns-message.ts'
import { ExactLru } from '../lib/exact-lru.ts'
import { type Budget, spend } from './budget.ts'
import type { Exchange } from './exchange.ts'
import type { Server } from './servers.ts'

/** `answer`: NOERROR or NXDOMAIN, whatever it holds. `refused`: the servers answered, and would not say. `silent`: none answered in time. */
export type Reply = { kind: 'answer'; message: Message } | { kind: 'refused'; rcode: number } | { kind: 'silent' }

export type Asking = { name: string; type: RecordType; unchecked?: boolean }

export type Resolver = {
  /**
   * Asks the recursive servers, one after the other until one answers. Those who ask the same at the same time share the outcome, but not a silence for which
   * the first had too little time.
   */
  resolve(asking: Asking, budget: Budget): Promise<Reply>
  /** As resolve, from memory for up to a minute. For what many hostnames share (name servers, parents), never for the hostname itself. */
  resolveCached(asking: Asking, budget: Budget): Promise<Reply>
}

// The first server has little time, so that a dead one costs little; the last has the most, for an authority far away.
const TRY_TIMEOUTS_MS = [800, 1_400, 2_300]
/** Of the texts in the answers; what holds them is counted with each. */
const MEMORY_BYTES_MAX = 16_000_000
const RECORD_BYTES = 200
const MEMORY_MAX_S = 60

export function createResolver(servers: readonly Server[], exchange: Exchange): Resolver {
  const underWay = new Map<string, Promise<Outcome>>()
  const memory = new ExactLru<string, Remembered>({ max: () => MEMORY_BYTES_MAX, weightOf: ({ bytes }) => bytes, onLeave() {} })
  let preferred = 0 // the server that answered last

  async function tryAll(asking: Asking, budget: Budget): Promise<Outcome> {
    const first = preferred
    const tries = Math.max(TRY_TIMEOUTS_MS.length, servers.length)
    const outcome: Outcome = { reply: { kind: 'silent' } }
    const refusals = new Set<number>()
    for (let n = 0; n < tries && refusals.size < servers.length; n++) {
      const index = (first + n) % servers.length
      if (refusals.has(index)) continue
      if (!spend(budget)) return { ...outcome, cutShort: budget }
      const endsAt = Math.min(budget.endsAt, performance.now() + (TRY_TIMEOUTS_MS[n] ?? TRY_TIMEOUTS_MS[0]!))
      const question = { name: asking.name, type: asking.type, recurse: true, unchecked: asking.unchecked ?? false }
      const message = await exchange.ask(servers[index]!, question, endsAt)
      if (!message && endsAt === budget.endsAt) return { ...outcome, cutShort: budget }
      if (!message) continue
      if (message.rcode === RCODE.noError || message.rcode === RCODE.noSuchName) {
        preferred = index
        return { reply: { kind: 'answer', message } }
      }
      refusals.add(index)
      outcome.reply = { kind: 'refused', rcode: message.rcode }
    }
    return outcome
  }

  async function resolve(asking: Asking, budget: Budget): Promise<Reply> {
    const key = keyOf(asking)
    const begin = () => {
      const asked = tryAll(asking, budget).finally(() => underWay.delete(key))
      underWay.set(key, asked)
      return asked
    }
    // Others join what is being asked, and never what waits for a place: that may be the line of a zone that is silent.
    const join = () => underWay.get(key)
    for (;;) {
      const outcome = await (join() ?? exchange.inPlace(budget, () => join() ?? begin()))
      if (!outcome) return { kind: 'silent' }
      // Of those who joined one that had too little left, the first asks again, on its own budget.
      if (!outcome.cutShort || outcome.cutShort === budget || performance.now() >= budget.endsAt) return outcome.reply
    }
  }

  return {
    resolve,
    async resolveCached(asking, budget) {
      const key = keyOf(asking)
      const known = memory.get(key)
      if (known && known.until > performance.now()) return known.reply
      const reply = await resolve(asking, budget)
      if (reply.kind === 'answer') memory.set(key, remembered(reply))
      return reply
    },
  }
}

/** `cutShort`: the budget that was used up before all had been tried. */
type Outcome = { reply: Reply; cutShort?: Budget }

type Remembered = { reply: Reply; until: number; bytes: number }

function remembered(reply: Extract<Reply, { kind: 'answer' }>): Remembered {
  const { answers, authority, additional } = reply.message
  const bytes = [...answers, ...authority, ...additional].reduce(
    (sum, { name, value }) => sum + RECORD_BYTES + name.length + value.length,
    RECORD_BYTES,
  )
  return { reply, until: performance.now() + lifetimeS(reply.message) * 1_000, bytes }
}

function keyOf(asking: Asking): string {
  return `${asking.type} ${asking.name.toLowerCase()}${asking.unchecked ? ' unchecked' : ''}`
}

function lifetimeS(message: Message): number {
  return message.answers.reduce((least, record) => Math.min(least, record.ttl), MEMORY_MAX_S)
}
