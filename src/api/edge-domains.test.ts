import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestApi, type Tenant, type TestApi } from '../../test/support/api.ts'

const DOMAINS = 2_500

let api: TestApi
let tenant: Tenant
beforeAll(async () => {
  api = await startTestApi()
  tenant = await api.addTenant()
  await api.db.pool.query(
    `insert into domains (project_id, hostname, metadata) select $1, 'h-' || i || '.customer.test', '{"i":' || i || '}' from generate_series(1, $2::int) i`,
    [tenant.project.id, DOMAINS],
  )
})
afterAll(() => api.stop())

type Record = { hostname: string; createdAt: string; metadata: { i: number } }

test('a list of any length comes whole and in order', async () => {
  const answer = await tenant.call('GET', '/v1/edge/domains')
  const domains = answer.json<Record[]>()
  expect(domains.length).toBe(DOMAINS)
  const hostnames = domains.map(({ hostname }) => hostname)
  expect(hostnames).toEqual([...hostnames].sort())
  expect(domains.every(({ hostname, metadata }) => hostname === `h-${metadata.i}.customer.test`)).toBe(true)
  expect(answer.headers.link).toBeUndefined()
})

test('so does what is left of it after a cursor, or narrowed', async () => {
  const first = await tenant.call('GET', '/v1/edge/domains?limit=1000')
  const cursor = /cursor=([\w-]+)/.exec(String(first.headers.link))![1]
  expect((await tenant.call('GET', `/v1/edge/domains?cursor=${cursor}`)).json<Record[]>().length).toBe(DOMAINS - 1_000)
  expect((await tenant.call('GET', '/v1/edge/domains?search=h-1')).json<Record[]>().length).toBe(1 + 10 + 100 + 1_000)
})

test('HEAD tells the same without a body', async () => {
  expect(await tenant.call('HEAD', '/v1/edge/domains')).toMatchObject({ status: 200, text: '' })
})
