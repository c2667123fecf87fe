import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { countBy } from './count-by.ts'

test('a counter shows every value of its label before the first event', async () => {
  const registry = new Registry()
  const count = countBy(registry, { name: 'orders_total', help: 'Orders', label: 'outcome', values: ['issued', 'refused'] })
  const shown = async () => (await registry.getSingleMetric('orders_total')!.get()).values
  expect(await shown()).toEqual([
    { labels: { outcome: 'issued' }, value: 0 },
    { labels: { outcome: 'refused' }, value: 0 },
  ])
  count('refused')
  expect(await shown()).toContainEqual({ labels: { outcome: 'refused' }, value: 1 })
})
