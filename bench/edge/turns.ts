import type { Peer } from '../support/peers.ts'
import type { Round } from './figures.ts'

/** How long everything takes: `rounds` of `readMs` each after a warm-up, which is for compilers and caches; `leastMs`: what a shape's caches need. */
export type Plan = { rounds: number; readMs: number; warmUpMs(proxy: string, leastMs?: number): number }

const ROUND_OVERHEAD_MS = 450 // until the load has begun and is even, and until it has ended
const READ_MS = 1_000
const READ_MS_MIN = 400
const ROUNDS = [9, 7, 5]
const ROUNDS_OF_WHOLE_RUN = 7
const WARM_UP_SHARE_MAX = 0.3
const TRIES = 4
const MESSAGE_CHARACTERS_MAX = 300

/** V8 compiles for seconds beside a new kind of load, and would be measured; Go and C need their caches filled. */
function fullWarmUpMs(proxy: string): number {
  return proxy.startsWith('namesake') ? 4_000 : 700
}

/** So many seconds over these places (a proxy in a shape each); without `seconds`, seven rounds of one second each. */
export function planRounds(places: readonly string[], seconds: number | undefined): Plan {
  if (seconds === undefined) {
    return { rounds: ROUNDS_OF_WHOLE_RUN, readMs: READ_MS, warmUpMs: (proxy, leastMs = 0) => Math.max(leastMs, fullWarmUpMs(proxy)) }
  }
  const total = seconds * 1_000
  const warmUp = places.reduce((sum, proxy) => sum + fullWarmUpMs(proxy), 0)
  const scale = Math.min(1, (total * WARM_UP_SHARE_MAX) / warmUp)
  const placeMs = (total - warmUp * scale) / places.length
  const rounds = ROUNDS.find((count) => placeMs / count >= READ_MS + ROUND_OVERHEAD_MS) ?? ROUNDS.at(-1)!
  const readMs = Math.max(READ_MS_MIN, placeMs / rounds - ROUND_OVERHEAD_MS)
  return { rounds, readMs, warmUpMs: (proxy) => Math.max(READ_MS_MIN, fullWarmUpMs(proxy) * scale) }
}

/** With so many times as many rounds. */
export function times(plan: Plan, factor = 1): Plan {
  return { ...plan, rounds: plan.rounds * factor }
}

/**
 * Lets the proxies take turns, so that whatever else the machine does comes to each of them: once to warm up, then for the rounds that count, each
 * round beginning with another one.
 * What fails is tried again; a proxy that fails for good is left out from then on, with the reason.
 */
export async function takeTurns(
  proxies: readonly Peer[],
  plan: Plan,
  each: { warmUp(proxy: Peer, ms: number): Promise<unknown>; measure(proxy: Peer, ms: number): Promise<Round> },
): Promise<{ rounds: Map<string, Round[]>; failures: Map<string, string> }> {
  const rounds = new Map(proxies.map(({ name }) => [name, [] as Round[]]))
  const failures = new Map<string, string>()
  const turn = async (proxy: Peer, work: () => Promise<void>) => {
    if (failures.has(proxy.name)) return
    try {
      await untilItWorks(work)
    } catch (error) {
      failures.set(proxy.name, (error as Error).message.trim().replaceAll(/\s+/g, ' ').slice(0, MESSAGE_CHARACTERS_MAX))
      rounds.set(proxy.name, [])
    }
  }
  for (const proxy of proxies) await turn(proxy, async () => void (await each.warmUp(proxy, plan.warmUpMs(proxy.name))))
  for (let round = 0; round < plan.rounds; round += 1) {
    const first = round % proxies.length
    for (const proxy of [...proxies.slice(first), ...proxies.slice(0, first)])
      await turn(proxy, async () => void rounds.get(proxy.name)!.push(await each.measure(proxy, plan.readMs)))
  }
  return { rounds, failures }
}

async function untilItWorks(work: () => Promise<void>): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work()
    } catch (error) {
      if (tries === TRIES) throw error
    }
  }
}
