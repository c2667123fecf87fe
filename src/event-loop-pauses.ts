import { monitorEventLoopDelay } from 'node:perf_hooks'
import { collectDefaultMetrics, Histogram, type Registry } from 'prom-client'

/** Looking wakes a process that rests, for 50 to 100 µs each time: often where visitors wait for it, and seldom elsewhere. */
const EDGE_RESOLUTION_MS = 10
const RESOLUTION_MS = 50
const IS_BUN = process.versions.bun !== undefined
const LOOK_INTERVAL_MS = 1_000
const SECONDS = [0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.5, 1, 5]
const NEVER_MS = 86_400_000
/** Bun has no such spaces, and walks over its whole heap for figures in their place: 15 ms a report with 200,000 objects. */
const OF_BUNS_HEAP = ['total', 'used', 'available'].map((what) => `nodejs_heap_space_size_${what}_bytes`)
const LIFELONG_LAGS = ['min', 'max', 'mean', 'stddev', 'p50', 'p90', 'p99'].map((what) => `nodejs_eventloop_lag_${what}_seconds`)

/**
 * Puts prom-client's metrics of the process into the registry, but for the event loop's lags over the whole life of a process: measurePauses says more, and
 * a second one that looks would wake the process a hundred times a second more. On Bun without V8's spaces of the heap.
 */
export function measureProcess(metrics: Registry): void {
  collectDefaultMetrics({ register: metrics, eventLoopMonitoringPrecision: NEVER_MS })
  for (const name of [...LIFELONG_LAGS, ...(IS_BUN ? OF_BUNS_HEAP : [])]) metrics.removeSingleMetric(name)
}

/**
 * Puts `namesake_event_loop_pause_seconds` into the registry: of each second that this process runs, the longest pause of its event loop, by role.
 * Pauses below 10 ms are seen in part or not at all; those of other processes than edges below 50 ms.
 */
export function measurePauses(metrics: Registry, role: string): void {
  const resolution = role === 'edge' ? EDGE_RESOLUTION_MS : RESOLUTION_MS
  const delays = monitorEventLoopDelay({ resolution })
  const ownWaitMs = IS_BUN ? 0 : resolution // node's delays hold the wait of their own timer
  const pauses = new Histogram({
    name: 'namesake_event_loop_pause_seconds',
    help: 'Of each second, the longest pause of the event loop',
    labelNames: ['role'],
    buckets: SECONDS,
    registers: [metrics],
  })
  delays.enable()
  setInterval(() => {
    const waitedMs = delays.max / 1_000_000
    pauses.observe({ role }, Math.max(0, waitedMs - ownWaitMs) / 1_000)
    delays.reset()
  }, LOOK_INTERVAL_MS).unref()
}
