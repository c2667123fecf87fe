import { execFile } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { LOAD_CORE, onCore } from '../support/cores.ts'
import { median, percentile } from '../support/measure.ts'
import type { Peer } from '../support/peers.ts'
import type { Figure, Held, Round } from './figures.ts'
import { parseH2load, parseRequestLog } from './load-output.ts'
import { HOT, type Place } from './place.ts'
import { type Plan, takeTurns, times } from './turns.ts'

const HELD: readonly Held[] = [{ peer: 'nginx', node: { gate: 1.5, goal: 1.2 }, bun: { gate: 1.5, goal: 1.2 } }]
const PEAK_CONNECTIONS = 64
const PEAK_WARM_UP_MS = 300
// h2load looks every 10 ms at most whether a connection's next request is due, so one connection must not owe more than one by then.
const A_SECOND_AND_CONNECTION = 80
const CONNECTIONS_MIN = 16
const APART_MS = 5 // between the starts of connections, so that they do not send in step, and that handshakes are no second load
const SETTLE_MS = 300
// A generator that has to enlarge its table of descriptors stands still for 10 to 20 ms (docs/decisions/0098), and what its connections owe by then
// all of them send at once, in each period from then on: it would measure that. The table is as large as the highest descriptor it begins with.
const WITH_ROOM = ['bash', '-c', 'exec 4095</dev/null; exec "$@"', 'with-room']
const PER_SECOND_MIN = 200 // for a percentile that says something
const RATE_SHARE_MIN = 0.5 // a load generator that falls behind measures itself
const TIMEOUT_MS = 60_000
// A machine that stands still for ten milliseconds makes the slowest hundredth of a second alone, whatever the proxy: three times as many readings as of
// costs, and of each the median of its quarters, which has what a proxy does to its visitors more than twice a second.
const ROUNDS_FACTOR = 3
const QUARTERS = 4
/** With those that find out how much each proxy can answer at most. */
export const ALL_ROUNDS_FACTOR = ROUNDS_FACTOR + 1

export const LATENCY = { id: 'http1-p99', title: 'HTTP/1.1 small, p99 at half of its own peak' }

/**
 * The 99th percentile of answer times, of a quarter of each reading, while each proxy gets half the requests a second that it can answer at most. What
 * that is all are asked in turns as well: who was asked in a bad second would be measured at a third of it, and wait less than the others.
 */
export async function measureLatency(proxies: readonly Peer[], place: Place, plan: Plan): Promise<Figure> {
  const atMost = await takeTurns(
    proxies,
    { ...plan, again: 1 },
    { warmUp: peakOf, measure: async (proxy, ms) => ({ value: await peakOf(proxy, ms) }) },
  )
  const peakFor = ({ name }: Peer) => median(atMost.rounds.get(name)!.map(({ value }) => value))
  const turns = await takeTurns(
    proxies.filter(({ name }) => !atMost.failures.has(name)),
    { ...times(plan, ROUNDS_FACTOR), again: 1 },
    { warmUp: async () => {}, measure: (proxy, ms) => atHalf(proxy, peakFor(proxy), place, ms) },
  )
  const rounds = new Map(proxies.map(({ name }) => [name, turns.rounds.get(name) ?? []]))
  const failures = new Map([...atMost.failures, ...turns.failures])
  const repeatsOf = (name: string) => [...(atMost.repeats.get(name) ?? []), ...(turns.repeats.get(name) ?? [])]
  const repeats = new Map(proxies.flatMap(({ name }) => (repeatsOf(name).length > 0 ? [[name, repeatsOf(name)]] : [])))
  return { ...LATENCY, unit: 'ms', held: HELD, rounds, failures, repeats }
}

/** Requests a second, over `ms`; what comes before is for handshakes. */
async function peakOf(proxy: Peer, ms: number): Promise<number> {
  const output = await h2load(proxy, [
    ...['-c', String(PEAK_CONNECTIONS)],
    ...['-D', `${Math.round(ms)}ms`, '--warm-up-time', `${Math.min(PEAK_WARM_UP_MS, Math.round(ms))}ms`],
  ])
  const peak = parseH2load(output).done / (ms / 1_000)
  if (peak < PER_SECOND_MIN) throw new Error(`only ${Math.round(peak)} requests a second at most. ${output}`)
  return peak
}

async function atHalf(proxy: Peer, peak: number, { dir }: Place, readMs: number): Promise<Round> {
  const perSecond = peak / 2
  const connections = Math.max(CONNECTIONS_MIN, Math.ceil(perSecond / A_SECOND_AND_CONNECTION))
  const startMs = connections * APART_MS + SETTLE_MS
  const rps = perSecond / connections
  const each = Math.ceil((rps * (startMs + readMs)) / 1_000)
  const log = join(dir, 'requests.log')
  rmSync(log, { force: true })
  const pace = ['-r', '1', '--rate-period', `${APART_MS}ms`, '--rps', rps.toFixed(2), '-n', String(each * connections)]
  await h2load(proxy, ['-c', String(connections), ...pace, '--log-file', log])
  const windows = parseRequestLog(readFileSync(log, 'utf8'), { afterMs: startMs, forMs: readMs, windowMs: readMs / QUARTERS })
  const reached = (windows.flat().length / readMs) * 1_000
  if (reached < perSecond * RATE_SHARE_MIN)
    throw new Error(`${Math.round(reached)} requests a second of the ${Math.round(perSecond)} wanted`)
  return { value: median(windows.map((ms) => percentile(ms, 0.99))), perSecond: reached }
}

async function h2load({ port }: Peer, options: string[]): Promise<string> {
  const target = ['--connect-to', `127.0.0.1:${port}`, `https://${HOT}:${port}/`]
  const command = onCore(LOAD_CORE, [...WITH_ROOM, 'h2load', '--h1', ...options, ...target])
  return (await promisify(execFile)(...command, { signal: AbortSignal.timeout(TIMEOUT_MS) })).stdout
}
