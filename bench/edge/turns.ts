import { percentile } from '../support/measure.ts'
import type { Peer } from '../support/peers.ts'
import type { Round } from './figures.ts'

/**
 * How long everything takes: `rounds` of `readMs` each after a warm-up, which is for compilers and caches; `leastMs`: what a shape's caches need.
 * `again`: so many times as many rounds at most while they differ as on a machine that is not steady.
 */
export type Plan = { rounds: number; readMs: number; again: number; warmUpMs(proxy: string, leastMs?: number): number }

/** A proxy in a shape, which may need so many times as many rounds, and a warm-up of at least so long. */
type Planned = { proxy: string; roundsFactor?: number; leastMs?: number }

const ROUND_OVERHEAD_MS = 450 // until the load has begun and is even, and until it has ended
const READ_MS = 1_000
const READ_MS_MIN = 400
const ROUNDS = [9, 7, 5]
const ROUNDS_OF_WHOLE_RUN = 7
const WARM_UP_SHARE_MAX = 0.3
const AGAIN_MAX = 3
const FACTOR_MAX = 6
/** Of its median: what the middle half of a proxy's rounds may differ by. On a quiet machine it is 2 to 8 %. */
const STEADY_WITHIN = 0.2
const TRIES = 4
const MESSAGE_CHARACTERS_MAX = 300

/** V8 compiles for seconds beside a new kind of load, and would be measured; Go and C need their caches filled. */
function fullWarmUpMs(proxy: string, leastMs = 0): number {
  return Math.max(leastMs, proxy.startsWith('namesake') ? 4_000 : 700)
}

/** So many seconds over these; without `seconds`, seven rounds of one second each. */
export function planRounds(planned: readonly Planned[], seconds: number | undefined): Plan {
  if (seconds === undefined) return { rounds: ROUNDS_OF_WHOLE_RUN, readMs: READ_MS, again: AGAIN_MAX, warmUpMs: fullWarmUpMs }
  const total = seconds * 1_000
  const sum = (each: (one: Planned) => number) => planned.reduce((already, one) => already + each(one), 0)
  const warmUp = sum(({ proxy, leastMs }) => fullWarmUpMs(proxy, leastMs))
  const scale = Math.min(1, (total * WARM_UP_SHARE_MAX) / warmUp)
  const placeMs = (total - warmUp * scale) / sum(({ roundsFactor = 1 }) => roundsFactor)
  const rounds = ROUNDS.find((count) => placeMs / count >= READ_MS + ROUND_OVERHEAD_MS) ?? ROUNDS.at(-1)!
  const readMs = Math.max(READ_MS_MIN, placeMs / rounds - ROUND_OVERHEAD_MS)
  return { rounds, readMs, again: 1, warmUpMs: (proxy, leastMs) => Math.max(READ_MS_MIN, fullWarmUpMs(proxy, leastMs) * scale) }
}

/** With so many times as many rounds, of which fewer are needed again. */
export function times(plan: Plan, factor = 1): Plan {
  return { ...plan, rounds: plan.rounds * factor, again: Math.max(1, Math.min(plan.again, Math.floor(FACTOR_MAX / factor))) }
}

/**
 * Lets the proxies take turns, so that whatever else the machine does comes to each of them: once to warm up, then for the rounds that count, each
 * of them behind every other one as often. While they differ so much that the machine is not steady, as many more: all of them count.
 * What fails is tried again, and `repeats` has the reasons; a proxy that fails for good is left out from then on, with the last one.
 */
export async function takeTurns(
  proxies: readonly Peer[],
  plan: Plan,
  each: { warmUp(proxy: Peer, ms: number): Promise<unknown>; measure(proxy: Peer, ms: number): Promise<Round> },
): Promise<{ rounds: Map<string, Round[]>; failures: Map<string, string>; repeats: Map<string, string[]> }> {
  const rounds = new Map(proxies.map(({ name }) => [name, [] as Round[]]))
  const failures = new Map<string, string>()
  const repeats = new Map<string, string[]>()
  const turn = async (proxy: Peer, work: () => Promise<void>) => {
    if (failures.has(proxy.name)) return
    const reasons = await tryUntilItWorks(work)
    if (reasons.length === TRIES) {
      failures.set(proxy.name, reasons.at(-1)!)
      rounds.set(proxy.name, [])
    } else if (reasons.length > 0) repeats.set(proxy.name, [...(repeats.get(proxy.name) ?? []), ...reasons])
  }
  for (const proxy of proxies) await turn(proxy, async () => void (await each.warmUp(proxy, plan.warmUpMs(proxy.name))))
  for (let round = 0; round < plan.rounds * plan.again; round += 1) {
    if (round > 0 && round % plan.rounds === 0 && isSteady([...rounds.values()])) break
    for (const proxy of inTurn(proxies, round))
      await turn(proxy, async () => void rounds.get(proxy.name)!.push(await each.measure(proxy, plan.readMs)))
  }
  return { rounds, failures, repeats }
}

/**
 * The order of a round: a Williams square, of an odd number of them with every second row from its end. Whom a proxy comes behind decides what it finds in
 * the processor's caches.
 */
function inTurn<T>(all: readonly T[], round: number): T[] {
  const { length } = all
  const order = all.map((_, place) => all[((place % 2 === 0 ? length - place / 2 : (place + 1) / 2) + round) % length]!)
  return length % 2 === 1 && round % 2 === 1 ? order.reverse() : order
}

/** Whether the rounds of most proxies are alike. One alone that has good and bad rounds may be so by itself. */
function isSteady(rounds: readonly (readonly Round[])[]): boolean {
  const unsteady = rounds.filter((each) => {
    const [low, middle, high] = [0.25, 0.5, 0.75].map((share) =>
      percentile(
        each.map(({ value }) => value),
        share,
      ),
    ) as [number, number, number]
    return high - low > middle * STEADY_WITHIN
  })
  return unsteady.length * 2 <= rounds.length
}

/** Why it did not work, each time; so many times as it is tried where it never did. */
async function tryUntilItWorks(work: () => Promise<void>): Promise<string[]> {
  const reasons: string[] = []
  while (reasons.length < TRIES) {
    try {
      await work()
      break
    } catch (error) {
      reasons.push((error as Error).message.trim().replaceAll(/\s+/g, ' ').slice(0, MESSAGE_CHARACTERS_MAX))
    }
  }
  return reasons
}
