import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { measureProcess } from './event-loop-pauses.ts'

test('a process measures itself, but for lags over its whole life', async () => {
  const metrics = new Registry()
  measureProcess(metrics)
  const named = (await metrics.getMetricsAsJSON()).map(({ name }) => name)
  expect(named).toEqual(
    expect.arrayContaining(['process_resident_memory_bytes', 'nodejs_gc_duration_seconds', 'nodejs_eventloop_lag_seconds']),
  )
  expect(named.filter((name) => name.startsWith('nodejs_eventloop_lag_'))).toEqual(['nodejs_eventloop_lag_seconds'])
})
