import { afterAll, beforeAll, expect, test } from 'vitest'
import { parseHostname } from '../../src/hostname.ts'
import { startTestApi, type Tenant, type TestApi } from '../support/api.ts'
import { freshHostname } from '../support/tenants.ts'

let api: TestApi
let tenant: Tenant
beforeAll(async () => {
  api = await startTestApi()
  tenant = await api.addTenant()
})
afterAll(() => api.stop())

async function register(metadata = {}): Promise<string> {
  const hostname = freshHostname()
  await tenant.call('POST', '/v1/edge/domains', { body: { hostname, metadata } })
  return hostname
}

const resolve = (hostname: string, headers = {}) => tenant.call('GET', `/v1/edge/resolve?hostname=${hostname}`, { headers })

test('the record has the queried hostname, the project slug, the upstream URL and the metadata as stored', async () => {
  const hostname = await register({ customer: 42 })
  const answer = await resolve(hostname)
  expect(answer.status).toBe(200)
  expect(answer.json()).toEqual({
    hostname,
    projectSlug: tenant.project.slug,
    upstreamUrl: tenant.project.upstreamUrl,
    metadata: { customer: 42 },
  })
})

test('200 for a hostname of the project that is not verified yet', async () => {
  expect((await resolve(await register())).status).toBe(200)
})

test('404 for a hostname that nobody holds, and the same for one of another project', async () => {
  const other = await api.addTenant()
  const hostname = freshHostname()
  await other.call('POST', '/v1/edge/domains', { body: { hostname } })
  const ours = (await resolve(hostname)).json<{ detail: string }>()
  const nobodys = freshHostname()
  const missing = (await resolve(nobodys)).json<{ detail: string }>()
  expect(ours).toMatchObject({ status: 404, code: 'domain_not_found' })
  expect(missing.detail.replace(nobodys, '')).toBe(ours.detail.replace(hostname, ''))
})

test.each(['', 'localhost', '192.0.2.1', 'a..b', 'https://a.test', 'a.test:443', 'a_b.test', '%zz', 'a%20b.test'])(
  '400 when %j is no FQDN',
  async (text) => {
    expect((await resolve(text)).status).toBe(400)
  },
)

test('400 when the hostname is missing or given twice', async () => {
  expect((await tenant.call('GET', '/v1/edge/resolve')).json()).toMatchObject({ status: 400, code: 'query_invalid' })
  expect((await tenant.call('GET', '/v1/edge/resolve?hostname=a.test&hostname=b.test')).json()).toMatchObject({
    status: 400,
    code: 'query_invalid',
  })
})

test('upper case, a final dot and international characters name the same hostname', async () => {
  const label = freshHostname().split('.')[0]
  const hostname = parseHostname(`${label}.bücher.test`)
  await tenant.call('POST', '/v1/edge/domains', { body: { hostname } })
  for (const text of [hostname.toUpperCase(), `${hostname}.`, `${label}.${encodeURIComponent('bücher')}.test`]) {
    expect((await resolve(text)).json().hostname).toBe(hostname)
  }
})

test('an unchanged answer is 304 to its ETag, and a changed one comes with another', async () => {
  const hostname = await register({ version: 1 })
  const first = await resolve(hostname)
  const etag = String(first.headers.etag)
  expect(etag).toMatch(/^"[\w-]+"$/)
  expect(first.headers['cache-control']).toBe('private, max-age=1')
  expect(first.headers.vary).toBe('Authorization')
  for (const header of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
    const again = await resolve(hostname, { 'if-none-match': header })
    expect([again.status, again.text, again.headers.etag]).toEqual([304, '', etag])
  }
  await tenant.call('POST', '/v1/edge/domains', { body: { hostname, metadata: { version: 2 } } })
  const changed = await resolve(hostname, { 'if-none-match': etag })
  expect(changed.status).toBe(200)
  expect(changed.headers.etag).not.toBe(etag)
})

test('HEAD answers as GET, without the body', async () => {
  const hostname = await register()
  const head = await tenant.call('HEAD', `/v1/edge/resolve?hostname=${hostname}`)
  const get = await resolve(hostname)
  expect([head.status, head.text, head.headers['content-length']]).toEqual([200, '', String(Buffer.byteLength(get.text))])
})
