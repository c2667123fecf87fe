import { eventually } from '../../test/support/tree.ts'
import { pause, processorUsOf } from '../support/measure.ts'
import type { Peer } from '../support/peers.ts'
import type { Counters } from './counters.ts'
import type { Figure, Round } from './figures.ts'
import type { Shape } from './shapes.ts'
import { type Plan, takeTurns, times } from './turns.ts'

const RAMP_MS = 200 // connections are made, code is warm, before the first reading
const TAIL_MS = 150 // the load outlasts the second reading
const BEGUN_UNITS = 2 // seen by the upstream: then the load generator has started
const BEGIN_TIMEOUT_MS = 10_000
const LOOK_MS = 20
const UNITS_MIN = 20 // with fewer the proxy was kept from its core by something else
const LOAD_TIMEOUT_MS = 15_000 // h2load waits for ever when a connection of its first hundred milliseconds got lost

/** The processor time that a unit of this shape of load costs each proxy. */
export async function measureShape(shape: Shape, proxies: readonly Peer[], counters: Counters, plan: Plan): Promise<Figure> {
  const measure = (proxy: Peer, ms: number) => measureOnce(proxy, shape, counters, ms)
  const warmUp = (proxy: Peer) => measure(proxy, plan.warmUpMs(proxy.name, shape.warmUpMs))
  const turns = await takeTurns(proxies, times(plan, shape.roundsFactor), { warmUp, measure })
  return { id: shape.id, title: shape.title, unit: `µs ${shape.unit}`, held: shape.held, ...turns }
}

async function measureOnce(proxy: Peer, shape: Shape, counters: Counters, readMs: number): Promise<Round> {
  const read = async () => ({ done: await counters(shape.counts), us: processorUsOf(proxy.processes()), at: performance.now() })
  const start = await counters(shape.counts)
  const { rampMs = RAMP_MS } = shape
  const loadMs = Math.ceil(rampMs + readMs + TAIL_MS)
  let isOver = false
  const running = shape.load(proxy, loadMs, AbortSignal.timeout(loadMs + LOAD_TIMEOUT_MS))
  const ended = running.catch(() => {}).then(() => (isOver = true))
  await untilBegun(shape, counters, start, () => isOver)
  await Promise.race([pause(rampMs), ended])
  const before = await read()
  await Promise.race([pause(readMs), ended])
  const after = await read()
  const { done, bad, example = '' } = await running
  const reached = (await counters(shape.counts)) - start
  if (bad > 0 || !(reached >= done)) throw new Error(`${done} good, ${bad} bad, the upstream saw ${reached}. ${example}`)
  const units = after.done - before.done
  const ms = after.at - before.at
  if (units < UNITS_MIN) throw new Error(`Only ${units} in ${Math.round(ms)} ms.`)
  const us = after.us - before.us
  return { value: us / units, perSecond: (units / ms) * 1_000, share: us / 1_000 / ms }
}

/** Asking is counted as a request itself. */
async function untilBegun(shape: Shape, counters: Counters, start: number, isOver: () => boolean): Promise<void> {
  let asked = 0
  const hasBegun = async () => {
    asked += 1
    return isOver() || (await counters(shape.counts)) > start + asked + BEGUN_UNITS
  }
  await eventually(hasBegun, BEGIN_TIMEOUT_MS, LOOK_MS)
}
