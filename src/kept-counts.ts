import type { MetricObjectWithValues, MetricValue } from 'prom-client'
import type { Child } from './child.ts'

type Metric = MetricObjectWithValues<MetricValue<string> & { metricName?: string }>

/** `metrics` is undefined where it did not answer in time. */
export type Said = { child: Child; metrics: readonly object[] | undefined }

/** What one place in the tree has counted since the tree began, whichever processes sat there. */
export type KeptCounts = {
  /**
   * The metrics of the place, one after another to be summed: those that its process said just now, if one sits there, what those that still drain have
   * counted and hold, and counts that others said before.
   */
  metricsOf(sitting: Said | undefined, leaving: readonly Said[]): object[]
}

/**
 * Keeps what processes have counted when they end, or do not answer in time. A sum that falls with one of them looks to Prometheus as if all had begun
 * anew, and what the others have counted since they started would be the rate of that minute. What a process counts behind its last report goes with it.
 */
export function createKeptCounts(): KeptCounts {
  const last = new Map<Child, Metric[]>()
  const over = new WeakSet<Child>()
  let ended: Metric[] = []

  const note = (said: Said) => {
    const { child } = said
    if (!said.metrics || over.has(child)) return
    if (!last.has(child)) void child.ended.then(() => end(child))
    last.set(child, metricsIn(said).filter(isCount))
  }
  const end = (child: Child) => {
    ended = sumOf([...ended, ...(last.get(child) ?? [])])
    last.delete(child)
    over.add(child)
  }

  return {
    metricsOf(sitting, leaving) {
      for (const said of sitting ? [sitting, ...leaving] : leaving) note(said)
      const shown = sitting ? metricsIn(sitting).filter((metric) => !isCount(metric)) : []
      const held = leaving.flatMap(metricsIn).filter(isHeld)
      // Its counts too are taken from what is kept: one that has ended since it answered is among the ended already.
      return [...shown, ...[...last.values()].flat(), ...held, ...ended]
    },
  }
}

/** As its process put them together, with prom-client. */
function metricsIn({ metrics = [] }: Said): readonly Metric[] {
  return metrics as readonly Metric[]
}

function isCount({ type, aggregator }: Metric): boolean {
  return aggregator === 'sum' && ['counter', 'histogram'].includes(String(type))
}

/** Connections, memory: what adds up with that of others. */
function isHeld({ type, aggregator }: Metric): boolean {
  return aggregator === 'sum' && String(type) === 'gauge'
}

function sumOf(metrics: readonly Metric[]): Metric[] {
  const sums = new Map<string, { metric: Metric; values: Map<string, Metric['values'][number]> }>()
  for (const metric of metrics) {
    const sum = sums.get(metric.name) ?? { metric, values: new Map() }
    sums.set(metric.name, sum)
    for (const value of metric.values) {
      const key = JSON.stringify([value.metricName, value.labels])
      sum.values.set(key, { ...value, value: value.value + (sum.values.get(key)?.value ?? 0) })
    }
  }
  return Array.from(sums.values(), ({ metric, values }) => ({ ...metric, values: [...values.values()] }))
}
