import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestApi, type Tenant, type TestApi } from '../../test/support/api.ts'
import { EDGE_HOST, freshHostname } from '../../test/support/tenants.ts'
import { parseHostname } from '../hostname.ts'

let api: TestApi
let tenant: Tenant
beforeAll(async () => {
  api = await startTestApi({ wildcards: true })
  tenant = await api.addTenant()
})
afterAll(() => api.stop())

const register = (hostname: string, metadata = {}, by = tenant) => by.call('POST', '/v1/edge/domains', { body: { hostname, metadata } })
const resolve = (hostname: string) => tenant.call('GET', `/v1/edge/resolve?hostname=${hostname}`)

test('a wildcard is registered, shown, checked, listed and removed, with its path encoded or not', async () => {
  const domain = freshHostname()
  expect((await register(`*.${domain.toUpperCase()}.`)).json()).toMatchObject({ hostname: `*.${domain}`, verified: false })
  for (const path of [`*.${domain}`, `%2A.${domain}`, encodeURIComponent(`*.${domain}`)]) {
    const shown = await tenant.call('GET', `/v1/edge/domains/${path}`)
    expect(shown.json()).toMatchObject({
      hostname: `*.${domain}`,
      dns: { expected: [{ name: `*.${domain}`, type: 'CNAME', value: EDGE_HOST }] },
    })
    expect((await tenant.call('GET', `/v1/edge/domains/${path}/certificate/history`)).json()).toEqual([])
  }
  expect((await tenant.call('GET', `/v1/edge/domains?search=*.${domain}`)).json()).toMatchObject([{ hostname: `*.${domain}` }])
  expect((await tenant.call('DELETE', `/v1/edge/domains/%2A.${domain}`)).status).toBe(204)
  expect((await tenant.call('GET', `/v1/edge/domains/*.${domain}`)).json()).toMatchObject({ status: 404, code: 'domain_not_found' })
})

test('a check verifies a wildcard by its wildcard CNAME', async () => {
  const domain = freshHostname()
  await register(`*.${domain}`)
  const check = async () => (await tenant.call('POST', `/v1/edge/domains/*.${domain}/check`)).json()
  api.dns.set(`*.${domain}`, 'CNAME', EDGE_HOST)
  expect(await check()).toMatchObject({
    verified: true,
    dns: { state: 'verified', sentence: `The DNS of *.${domain} is right: it leads to ${EDGE_HOST}.` },
  })
})

test('a name under a wildcard resolves to it, with the name that was asked for, unless it is registered itself', async () => {
  const domain = freshHostname()
  const [shop, blog] = [`shop.${domain}`, `blog.${domain}`]
  await register(`*.${domain}`, { from: 'wildcard' })
  expect((await resolve(shop)).json()).toMatchObject({ hostname: shop, projectSlug: tenant.project.slug, metadata: { from: 'wildcard' } })
  await register(shop, { from: 'shop' })
  expect((await resolve(shop)).json()).toMatchObject({ hostname: shop, metadata: { from: 'shop' } })
  expect((await resolve(blog)).json()).toMatchObject({ hostname: blog, metadata: { from: 'wildcard' } })
  expect((await resolve(blog)).headers.etag).not.toBe((await resolve(`other.${domain}`)).headers.etag)
  await tenant.call('DELETE', `/v1/edge/domains/${shop}`)
  expect((await resolve(shop)).json()).toMatchObject({ hostname: shop, metadata: { from: 'wildcard' } })
  await register(`*.${domain}`, { from: 'anew' })
  expect((await resolve(blog)).json()).toMatchObject({ metadata: { from: 'anew' } })
  await tenant.call('DELETE', `/v1/edge/domains/*.${domain}`)
  for (const name of [shop, blog]) expect((await resolve(name)).status).toBe(404)
})

test.each(['deep.shop', ''])('a wildcard covers one label: not %j before the domain', async (labels) => {
  const domain = freshHostname()
  await register(`*.${domain}`)
  expect((await resolve(labels ? `${labels}.${domain}` : domain)).status).toBe(404)
})

test('a wildcard is no hostname that could be resolved', async () => {
  const domain = freshHostname()
  await register(`*.${domain}`)
  expect((await resolve(`*.${domain}`)).json()).toMatchObject({ status: 400, code: 'hostname_invalid' })
})

test("409 for a name under another project's wildcard, which the answer names", async () => {
  const other = await api.addTenant()
  const domain = freshHostname()
  await register(`*.${domain}`)
  const refused = (await register(`shop.${domain}`, {}, other)).json()
  expect(refused).toMatchObject({ status: 409, code: 'hostname_claimed', detail: expect.stringContaining(`the wildcard *.${domain}`) })
})

test('the certificate check permits names under a wildcard once it is verified', async () => {
  const domain = freshHostname()
  await register(`*.${domain}`)
  expect(await api.finder.find(parseHostname(`shop.${domain}`), tenant.project.id)).toMatchObject({
    hostname: `*.${domain}`,
    proofNeeded: true,
  })
  await api.db.pool.query('update domains set verified_at = now() where hostname = $1', [`*.${domain}`])
  expect(await api.finder.findInCopy(parseHostname(`shop.${domain}`))).toMatchObject({ hostname: `*.${domain}`, proofNeeded: false })
})
