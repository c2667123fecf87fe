import type { FastifyInstance } from 'fastify'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createInternalApp } from '../../src/api/certificate-check.ts'
import { listen } from '../../src/api/listen.ts'
import { createRouteFinder, type RouteAnswer } from '../../src/api/route-finder.ts'
import { registerDomain } from '../../src/core/domains.ts'
import { loadRoutes } from '../../src/core/routes.ts'
import { type Hostname, wildcardOver } from '../../src/hostname.ts'
import { createLog } from '../../src/log.ts'
import { startTestApi, type Tenant, type TestApi } from '../support/api.ts'
import { startCaddy } from '../support/caddy.ts'
import { CLAIM_RULES, freshHostname } from '../support/tenants.ts'

let api: TestApi
let tenant: Tenant
let app: FastifyInstance
let url: string

beforeAll(async () => {
  api = await startTestApi()
  tenant = await api.addTenant()
  app = internalApp(api)
  url = `http://127.0.0.1:${await listen(app, { host: '127.0.0.1', port: 0 })}`
})
afterAll(async () => {
  await app.close()
  await api.stop()
})

function internalApp({ finder }: Pick<TestApi, 'finder'>): FastifyInstance {
  return createInternalApp({
    log: createLog('test-internal', 'fatal'),
    baseUrl: new URL('https://api.namesake.test'),
    finder,
    roles: ['api', 'worker'],
    readiness: async (role) => ({ ready: role !== 'worker', details: { roles: ['api'] } }),
    metrics: async () => 'up 1\n',
  })
}

async function register(hostname = freshHostname()): Promise<Hostname> {
  await tenant.call('POST', '/v1/edge/domains', { body: { hostname } })
  return hostname
}

const ask = async (query: string, base = url) => (await fetch(`${base}/internal/certificate-check${query}`)).status

test('it answers 200 when the domain is registered, verified or not', async () => {
  const hostname = await register()
  expect(await ask(`?domain=${hostname}`)).toBe(200)
  expect(await ask(`?domain=${hostname.toUpperCase()}.`)).toBe(200)
})

test('it answers 404 when the domain is not registered, or no longer', async () => {
  const hostname = await register()
  await tenant.call('DELETE', `/v1/edge/domains/${hostname}`)
  expect(await ask(`?domain=${hostname}`)).toBe(404)
  expect(await ask(`?domain=${freshHostname()}`)).toBe(404)
})

test.each(['', '?domain=', '?domain=localhost', '?domain=192.0.2.1', '?domain=*.a.test', '?domain=a.test&domain=b.test', '?host=a.test'])(
  'it answers 400 to %j: one parameter domain is required, an FQDN',
  async (query) => expect(await ask(query)).toBe(400),
)

test('whoever asks about two at once is told so', async () => {
  const answer = await fetch(`${url}/internal/certificate-check?domain=a.test&domain=b.test`)
  expect(await answer.json()).toMatchObject({ code: 'query_invalid', detail: expect.stringContaining('domain is there more than once') })
})

test('it answers from memory also while the database is down', async () => {
  const other = await startTestApi()
  const own = await other.addTenant()
  const hostname = freshHostname()
  await own.call('POST', '/v1/edge/domains', { body: { hostname } })
  const [route] = await loadRoutes(other.db, [hostname])
  const copy = new Map<Hostname, RouteAnswer>([[hostname, { kind: 'route', route: route! }]])
  const finder = createRouteFinder({
    db: other.db,
    isFresh: () => false,
    resolve: (wanted) => copy.get(wanted) ?? { kind: 'unknown' },
    now: () => new Date(),
  })
  const internal = internalApp({ finder })
  const base = `http://127.0.0.1:${await listen(internal, { host: '127.0.0.1', port: 0 })}`
  await other.cutDatabase()
  const statuses = [await ask(`?domain=${hostname}`, base), await ask(`?domain=${freshHostname()}`, base)]
  await internal.close()
  await other.stop()
  expect(statuses).toEqual([200, 404])
})

test('a stranger’s on-demand TLS hook understands it: Caddy serves a claimed hostname and refuses another', async () => {
  const hostname = await register()
  const caddy = await startCaddy(`${url}/internal/certificate-check`)
  try {
    expect(await caddy.visit(hostname)).toBe(`served ${hostname}`)
    await expect(caddy.visit(freshHostname())).rejects.toThrow(/alert|ECONNRESET|socket/i)
  } finally {
    await caddy.stop()
  }
})

test('the same address tells whether all roles serve, and the metrics', async () => {
  const ready = await fetch(`${url}/ready`)
  expect([ready.status, await ready.json()]).toEqual([200, { ready: true, roles: ['api'] }])
  const metrics = await fetch(`${url}/metrics`)
  expect(await metrics.text()).toBe('up 1\n')
  expect(metrics.headers.get('content-type')).toContain('text/plain; version=0.0.4')
})

test('it tells whether one role serves, and 400 says which there are', async () => {
  const ready = (query: string) => fetch(`${url}/ready${query}`)
  expect([(await ready('?role=api')).status, (await ready('?role=worker')).status]).toEqual([200, 503])
  for (const query of ['?role=edge', '?role=', '?role=api&role=worker']) expect((await ready(query)).status).toBe(400)
  expect(await (await ready('?role=edge')).json()).toMatchObject({
    code: 'query_invalid',
    detail: 'this machine has no role "edge": role is one of api, worker',
  })
})

test('it answers 200 for a name under a wildcard once that is verified, and 404 before', async () => {
  const hostname = freshHostname()
  await registerDomain(
    api.db,
    tenant.project,
    { hostname: wildcardOver(hostname), metadataJson: '{}' },
    { ...CLAIM_RULES, wildcards: true },
  )
  expect(await ask(`?domain=${hostname}`)).toBe(404)
  await api.db.pool.query('update domains set verified_at = now() where hostname = $1', [wildcardOver(hostname)])
  expect(await ask(`?domain=${hostname}`)).toBe(200)
})
