import { monitorEventLoopDelay } from 'node:perf_hooks'
import { collectDefaultMetrics, Histogram, type Registry } from 'prom-client'

const RESOLUTION_MS = 10
const LOOK_INTERVAL_MS = 1_000
const SECONDS = [0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.5, 1, 5]
const NEVER_MS = 86_400_000
const LIFELONG_LAGS = ['min', 'max', 'mean', 'stddev', 'p50', 'p90', 'p99'].map((what) => `nodejs_eventloop_lag_${what}_seconds`)

/**
 * Puts prom-client's metrics of the process into the registry, but for the event loop's lags over the whole life of a process: they say little, and looking wakes
 * a process a hundred times a second that we wake for measurePauses already.
 */
export function measureProcess(metrics: Registry): void {
  collectDefaultMetrics({ register: metrics, eventLoopMonitoringPrecision: NEVER_MS })
  for (const name of LIFELONG_LAGS) metrics.removeSingleMetric(name)
}

/**
 * Puts `namesake_event_loop_pause_seconds` into the registry: of each second that this process runs, the longest pause of its event loop, by role.
 * Pauses below 10 ms are seen in part or not at all.
 */
export function measurePauses(metrics: Registry, role: string): void {
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
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
    pauses.observe({ role }, Math.max(0, waitedMs - RESOLUTION_MS) / 1_000) // each delay holds the wait of its own timer
    delays.reset()
  }, LOOK_INTERVAL_MS).unref()
}
