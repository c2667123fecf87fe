import { Counter, type Registry } from 'prom-client'

export type CountByParts<Value extends string> = { name: string; help: string; label: string; values: readonly Value[] }

/**
 * A counter by one label in the registry, and its increment. Every known value is there from the start, at 0: in one that appears with its first event
 * Prometheus sees no increase.
 */
export function countBy<Value extends string>(registry: Registry, parts: CountByParts<Value>): (value: Value) => void {
  const { name, help, label, values } = parts
  const counter = new Counter({ name, help, labelNames: [label], registers: [registry] })
  const byValue = new Map(values.map((value) => [value, counter.labels(value)]))
  for (const one of byValue.values()) one.inc(0)
  return (value) => byValue.get(value)?.inc()
}
