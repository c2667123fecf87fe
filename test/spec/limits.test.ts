import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestApi, type TestApi } from '../support/api.ts'
import { CLAIM_RULES, freshHostname } from '../support/tenants.ts'

let api: TestApi
beforeAll(async () => {
  api = await startTestApi()
})
afterAll(() => api.stop())

test('the plan limit is enforced with 402 on register, also when claims come at once', async () => {
  const limit = CLAIM_RULES.plans.get('ten')!
  const tenant = await api.addTenant('ten')
  const answers = await Promise.all(
    Array.from({ length: limit * 2 }, () => tenant.call('POST', '/v1/edge/domains', { body: { hostname: freshHostname() } })),
  )
  const statuses = answers.map(({ status }) => status)
  expect(statuses.filter((status) => status === 200)).toHaveLength(limit)
  expect(statuses.filter((status) => status === 402)).toHaveLength(limit)
})

test('the verification probe of an unverified domain is due within the interval of 5 minutes', async () => {
  const tenant = await api.addTenant()
  const hostname = freshHostname()
  await tenant.call('POST', '/v1/edge/domains', { body: { hostname } })
  const { dns } = (await tenant.call('GET', `/v1/edge/domains/${hostname}`)).json<{ dns: { nextCheckAt: string } }>()
  expect(Date.parse(dns.nextCheckAt) - Date.now()).toBeLessThan(5 * 60_000)
})

test('the control-plane rate is uncapped: 500 calls in a row are all served', async () => {
  const tenant = await api.addTenant()
  const hostname = freshHostname()
  await tenant.call('POST', '/v1/edge/domains', { body: { hostname } })
  const answers = await Promise.all(Array.from({ length: 500 }, () => tenant.call('GET', `/v1/edge/resolve?hostname=${hostname}`)))
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
})
