import { afterEach, beforeEach, expect, test } from 'vitest'
import { type DnsServer, startDnsServer } from '../../test/support/dns.ts'
import { openBudget } from './budget.ts'
import { createExchange, type Exchange } from './exchange.ts'
import { createResolver, type Resolver } from './resolver.ts'

const SHOP = 'shop.customer.test'

let server: DnsServer
let exchange: Exchange
let resolver: Resolver
beforeEach(async () => {
  server = await startDnsServer()
  exchange = createExchange()
  resolver = createResolver([server], exchange)
})
afterEach(async () => {
  exchange.close()
  await server.stop()
})

const ask = (timeoutMs: number, queriesLeft = 64) =>
  resolver.resolve({ name: SHOP, type: 'A' }, { ...openBudget(), endsAt: performance.now() + timeoutMs, queriesLeft })

test('who has time left is answered, though others with hardly any asked the same before', async () => {
  server.set(SHOP, 'A', '192.0.2.1')
  server.behave(SHOP, { latencyMs: 300 })
  const [, , ...rich] = await Promise.all([ask(50), ask(60_000, 0), ask(60_000), ask(60_000)])
  expect(rich.map(({ kind }) => kind)).toEqual(['answer', 'answer'])
})

test('servers that stay silent to the end are asked once for all who ask at the same time', async () => {
  server.behave(SHOP, { drop: true })
  const replies = await Promise.all([ask(60_000), ask(60_000), ask(60_000)])
  expect([replies.map(({ kind }) => kind), server.queries.length]).toEqual([['silent', 'silent', 'silent'], 3])
})
