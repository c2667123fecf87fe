import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestApi, type Tenant, type TestApi } from '../support/api.ts'
import { createTestCa, type TestCa } from '../support/certificates.ts'
import { freshHostname } from '../support/tenants.ts'

let api: TestApi
let tenant: Tenant
let ca: TestCa
beforeAll(async () => {
  ca = await createTestCa()
  api = await startTestApi()
  tenant = await api.addTenant()
})
afterAll(() => api.stop())

const pathOf = (hostname: string) => `/v1/edge/domains/${hostname}/certificate`
async function bring(hostname: string, names: string[], by = tenant) {
  const { chainPem, keyPem } = await ca.issue(names)
  return by.call('PUT', pathOf(hostname), { body: { chain: chainPem, key: keyPem } })
}
async function claimed(by = tenant): Promise<string> {
  const hostname = freshHostname()
  await by.call('POST', '/v1/edge/domains', { body: { hostname } })
  return hostname
}

test('a certificate of your own is kept, shown as imported, and its key never comes back', async () => {
  const hostname = await claimed()
  const answer = await bring(hostname, [hostname])
  expect(answer.status).toBe(200)
  expect(answer.json().certificate).toMatchObject({ state: 'issued', origin: 'imported', serial: expect.stringMatching(/^[0-9a-f]+$/) })
  const details = await tenant.call('GET', `/v1/edge/domains/${hostname}`)
  expect(details.json().certificate).toMatchObject({ origin: 'imported' })
  expect(JSON.stringify([answer.json(), details.json()])).not.toContain('PRIVATE KEY')
})

test('what could not be served is refused with every reason, and nothing is kept', async () => {
  const hostname = await claimed()
  const [mine, other] = [await ca.issue(['elsewhere.test']), await ca.issue([hostname])]
  const answer = await tenant.call('PUT', pathOf(hostname), { body: { chain: mine.chainPem, key: other.keyPem } })
  expect(answer.status).toBe(400)
  expect(answer.json()).toMatchObject({ code: 'certificate_invalid', detail: expect.stringMatching(/not for .*; .*key/) })
  expect((await tenant.call('PUT', pathOf(hostname), { body: { chain: mine.chainPem } })).json()).toMatchObject({ code: 'body_invalid' })
  expect((await tenant.call('GET', `/v1/edge/domains/${hostname}`)).json().certificate).toMatchObject({ state: 'none' })
})

test("another project's hostname is 404, whatever certificate is brought", async () => {
  const other = await api.addTenant()
  const hostname = await claimed(other)
  expect((await bring(hostname, [hostname])).status).toBe(404)
  expect((await bring(hostname, [hostname], other)).status).toBe(200)
  expect((await tenant.call('DELETE', pathOf(hostname))).status).toBe(404)
})

test('it is handed back on demand, and then one is ordered in its place', async () => {
  const hostname = await claimed()
  expect((await tenant.call('DELETE', pathOf(hostname))).status).toBe(404)
  await bring(hostname, [hostname])
  expect((await tenant.call('DELETE', pathOf(hostname))).status).toBe(204)
  expect((await tenant.call('GET', `/v1/edge/domains/${hostname}`)).json().certificate).toMatchObject({
    state: 'issued',
    origin: 'ordered',
  })
})
