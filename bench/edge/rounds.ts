import { eventually } from '../../test/support/tree.ts'
import { pause, processorUsOf } from '../support/measure.ts'
import type { Peer } from '../support/peers.ts'
import type { Counters } from './counters.ts'
import type { Figure, Round } from './figures.ts'
import type { Shape } from './shapes.ts'

/** How long everything takes: `rounds` of `readMs` each after a warm-up, which is for compilers. */
export type Plan = { rounds: number; readMs: number; warmUpMs(proxy: string): number }

const RAMP_MS = 200 // connections are made, code is warm, before the first reading
const TAIL_MS = 150 // the load outlasts the second reading
const OVERHEAD_MS = RAMP_MS + TAIL_MS
const BEGUN_UNITS = 10 // seen by the upstream: then the load generator has started
const BEGIN_TIMEOUT_MS = 10_000
const LOOK_MS = 20
const READ_MS = 1_000
const READ_MS_MIN = 400
const ROUNDS = [9, 7, 5]
const WARM_UP_SHARE_MAX = 0.3
const ANSWERS_MIN = 20 // with fewer the proxy was kept from its core by something else, and the round is repeated
const TRIES = 4
const MESSAGE_CHARACTERS_MAX = 300
const LOAD_TIMEOUT_MS = 15_000 // h2load waits for ever when a connection of its first hundred milliseconds got lost

/** V8 compiles for seconds beside a new kind of load, and would be measured; Go and C need their caches filled. */
function fullWarmUpMs(proxy: string): number {
  return proxy.startsWith('namesake') ? 4_000 : 700
}

/** So many seconds over these places (a proxy in a shape each); without `seconds`, five rounds of one second each. */
export function planRounds(places: readonly string[], seconds: number | undefined): Plan {
  const warmUp = places.reduce((sum, proxy) => sum + fullWarmUpMs(proxy), 0)
  const fewest = ROUNDS.at(-1)!
  if (seconds === undefined) return { rounds: fewest, readMs: READ_MS, warmUpMs: fullWarmUpMs }
  const total = seconds * 1_000
  const scale = Math.min(1, (total * WARM_UP_SHARE_MAX) / warmUp)
  const placeMs = (total - warmUp * scale) / places.length
  const rounds = ROUNDS.find((count) => placeMs / count >= READ_MS + OVERHEAD_MS) ?? fewest
  const readMs = Math.max(READ_MS_MIN, placeMs / rounds - OVERHEAD_MS)
  return { rounds, readMs, warmUpMs: (proxy) => Math.max(READ_MS_MIN, fullWarmUpMs(proxy) * scale) }
}

/** Processor time of the proxies under one shape of load: they take turns, so that whatever else the machine does comes to each of them. */
export async function measureShape(shape: Shape, proxies: readonly Peer[], counters: Counters, plan: Plan): Promise<Figure> {
  const rounds = new Map(proxies.map(({ name }) => [name, [] as Round[]]))
  const failures = new Map<string, string>()
  for (let round = -1; round < plan.rounds; round += 1) {
    for (const proxy of proxies) {
      if (failures.has(proxy.name)) continue
      const readMs = round < 0 ? plan.warmUpMs(proxy.name) : plan.readMs
      try {
        const figures = await measureOften(proxy, shape, counters, readMs)
        if (round >= 0) rounds.get(proxy.name)!.push(figures)
      } catch (error) {
        failures.set(proxy.name, (error as Error).message.trim().replaceAll(/\s+/g, ' ').slice(0, MESSAGE_CHARACTERS_MAX))
        rounds.set(proxy.name, [])
      }
    }
  }
  return { id: shape.id, title: shape.title, unit: `µs a ${shape.unit}`, held: shape.held, rounds, failures }
}

async function measureOften(proxy: Peer, shape: Shape, counters: Counters, readMs: number): Promise<Round> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await measure(proxy, shape, counters, readMs)
    } catch (error) {
      if (tries === TRIES) throw error
    }
  }
}

/** To ask is counted as a request itself. */
async function untilBegun(shape: Shape, counters: Counters, start: number): Promise<void> {
  let asked = 0
  const hasBegun = async () => {
    asked += 1
    return (await counters(shape.counts)) > start + asked + BEGUN_UNITS
  }
  await eventually(hasBegun, BEGIN_TIMEOUT_MS, LOOK_MS)
}

async function measure(proxy: Peer, shape: Shape, counters: Counters, readMs: number): Promise<Round> {
  const read = async () => ({ done: await counters(shape.counts), us: processorUsOf(proxy.processes()), at: performance.now() })
  const start = await counters(shape.counts)
  const loadMs = RAMP_MS + readMs + TAIL_MS
  const running = shape.load(proxy, loadMs, AbortSignal.timeout(Math.ceil(loadMs) + LOAD_TIMEOUT_MS))
  const ended = running.then(
    () => {},
    () => {},
  )
  await Promise.race([untilBegun(shape, counters, start).then(() => pause(RAMP_MS)), ended])
  const before = await read()
  await Promise.race([pause(readMs), ended])
  const after = await read()
  const { done, bad, example = '' } = await running
  const reached = (await counters(shape.counts)) - start
  if (bad > 0 || !(reached >= done)) throw new Error(`${done} good, ${bad} bad, the upstream saw ${reached}. ${example}`)
  const units = after.done - before.done
  if (units < ANSWERS_MIN) throw new Error(`Only ${units} in ${Math.round(after.at - before.at)} ms.`)
  const us = after.us - before.us
  const ms = after.at - before.at
  return { value: us / units, perSecond: (units / ms) * 1_000, share: us / 1_000 / ms }
}
