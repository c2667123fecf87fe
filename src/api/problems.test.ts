import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestApi, type Tenant, type TestApi } from '../../test/support/api.ts'
import { freshHostname } from '../../test/support/tenants.ts'

let api: TestApi
let tenant: Tenant
beforeAll(async () => {
  api = await startTestApi()
  tenant = await api.addTenant()
})
afterAll(() => api.stop())

test('a path too long for any hostname is the caller’s fault, and is not repeated', async () => {
  const answer = await tenant.call('GET', `/v1/edge/domains/${'a'.repeat(9_000)}`)
  expect(answer.json()).toMatchObject({ status: 400, code: 'request_malformed' })
  expect(answer.text.length).toBeLessThan(500)
})

test.each(['PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'QUERY'])(
  '%s is refused with 405 before anything is read of it',
  async (method) => {
    const answer = await tenant.call(method, '/v1/edge/domains', { headers: { 'content-type': 'text/plain' } })
    expect(answer.json()).toMatchObject({ status: 405, code: 'method_not_allowed' })
    expect(answer.headers.allow).toBe('GET, HEAD, POST')
  },
)

test('a check takes no fields', async () => {
  const hostname = freshHostname()
  await tenant.call('POST', '/v1/edge/domains', { body: { hostname } })
  const check = (body: unknown) => tenant.call('POST', `/v1/edge/domains/${hostname}/check`, { body })
  for (const body of [{ force: true }, [], null, 1]) expect((await check(body)).json()).toMatchObject({ status: 400, code: 'body_invalid' })
  expect((await check({})).status).toBe(200)
})

test('a removal takes no fields, and one that has some removes nothing', async () => {
  const hostname = freshHostname()
  await tenant.call('POST', '/v1/edge/domains', { body: { hostname } })
  const remove = (body: string) => {
    const headers = { 'content-type': 'application/json', 'content-length': String(body.length) }
    return tenant.call('DELETE', `/v1/edge/domains/${hostname}`, { body, headers })
  }
  for (const body of ['{"a":1}', '[]', '1']) expect((await remove(body)).json()).toMatchObject({ status: 400, code: 'body_invalid' })
  expect((await remove('{}')).status).toBe(204)
})

test('a removal whose body is not JSON is refused as the description says', async () => {
  const headers = { 'content-type': 'text/plain', 'content-length': '2' }
  const answer = await tenant.call('DELETE', `/v1/edge/domains/${freshHostname()}`, { body: 'hi', headers })
  expect(answer.json()).toMatchObject({ status: 415, code: 'unsupported_media_type' })
})

test('a compressed body is 415, not broken text', async () => {
  const headers = { 'content-encoding': 'gzip' }
  const answer = await tenant.call('POST', '/v1/edge/domains', { body: { hostname: freshHostname() }, headers })
  expect(answer.json()).toMatchObject({ status: 415, code: 'unsupported_media_type', detail: expect.stringContaining('Content-Encoding') })
})

test('an expectation that nobody knows changes nothing', async () => {
  const answer = await tenant.call('GET', '/v1/edge/domains', { headers: { expect: 'a-miracle' } })
  expect(answer.status).toBe(200)
})

test.each([
  ['limit=ten', 'limit is a whole number from 1 to 1000'],
  ['limit=9999', 'limit is a whole number from 1 to 1000'],
  ['verified=yes', '"verified" is one of true, false'],
  ['search=a&search=b', '"search" is given more than once'],
  ['verified=true&verified=false', '"verified" is given more than once'],
])('a list asked for with %s is told: %s', async (query, detail) => {
  expect((await tenant.call('GET', `/v1/edge/domains?${query}`)).json()).toMatchObject({ status: 400, code: 'query_invalid', detail })
})
