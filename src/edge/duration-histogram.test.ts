import { Histogram, Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { DurationHistogram } from './duration-histogram.ts'

test('durations are shown as by any other histogram', async () => {
  const [ours, theirs] = [new Registry(), new Registry()]
  const settings = { name: 'seconds', help: 'How long', buckets: [0.01, 0.5, 2] }
  const one = new DurationHistogram({ ...settings, registers: [ours] })
  const other = new Histogram({ ...settings, registers: [theirs] })
  expect(await ours.metrics()).toBe(await theirs.metrics())
  for (const seconds of [0, 0.01, 0.010001, 0.3, 0.5, 1, 2, 3, 400]) {
    one.note(seconds)
    other.observe(seconds)
  }
  expect(await ours.metrics()).toBe(await theirs.metrics())
  expect(await theirs.getMetricsAsJSON()).toMatchObject(await ours.getMetricsAsJSON())
})
