import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestApi, type Tenant, type TestApi } from '../support/api.ts'
import { EDGE_HOST, freshHostname } from '../support/tenants.ts'

const ISO_MS = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const FIELDS = ['hostname', 'projectSlug', 'verified', 'verifiedAt', 'createdAt', 'metadata']

let api: TestApi
let tenant: Tenant
beforeAll(async () => {
  api = await startTestApi()
  tenant = await api.addTenant()
})
afterAll(() => api.stop())

test('the record is returned by register and list, with exactly the six fields', async () => {
  const own = await api.addTenant()
  const hostname = freshHostname()
  const registered = await own.call('POST', '/v1/edge/domains', { body: { hostname } })
  const listed = await own.call('GET', '/v1/edge/domains')
  expect(Object.keys(registered.json())).toEqual(FIELDS)
  expect(listed.text).toBe(`[${registered.text}]`)
})

test('projectSlug is the slug of the owning project', async () => {
  const answer = await tenant.call('POST', '/v1/edge/domains', { body: { hostname: freshHostname() } })
  expect(answer.json().projectSlug).toBe(tenant.project.slug)
})

test('verified is false and verifiedAt null at registration; createdAt is an ISO 8601 UTC timestamp with milliseconds', async () => {
  const before = Date.now()
  const answer = (await tenant.call('POST', '/v1/edge/domains', { body: { hostname: freshHostname() } })).json<{ createdAt: string }>()
  expect(answer).toMatchObject({ verified: false, verifiedAt: null, createdAt: expect.stringMatching(ISO_MS) })
  expect(Math.abs(Date.parse(answer.createdAt) - before)).toBeLessThan(60_000)
})

test('verified is true and verifiedAt a timestamp with milliseconds once the probe confirms DNS', async () => {
  const hostname = freshHostname()
  await tenant.call('POST', '/v1/edge/domains', { body: { hostname } })
  api.dns.set(hostname, 'CNAME', EDGE_HOST)
  await tenant.call('POST', `/v1/edge/domains/${hostname}/check`)
  const again = await tenant.call('POST', '/v1/edge/domains', { body: { hostname } })
  expect(again.json()).toMatchObject({ verified: true, verifiedAt: expect.stringMatching(ISO_MS) })
})

describe('metadata is an opaque JSON object, returned untouched', () => {
  test.each([
    ['key order, integer-like keys included', '{"z":1,"10":2,"a":3,"2":4}'],
    ['number notation', '{"price":1.50,"exponent":1E3,"negative":-0.0}'],
    [
      'the keys __proto__ and constructor, at any depth',
      '{"__proto__":{"a":1},"constructor":{"prototype":{"b":2}},"x":{"__proto__":null}}',
    ],
    ['any Unicode', '{"ключ":"Grüße 👋🏽","\\u00e9":"\\ud83d\\ude00"}'],
    ['blanks between its tokens', '{ "a" : [ 1, 2 ] ,\t"b":{}}'],
    ['text that looks like JSON, and escapes', '{"a":"}{\\"],\\\\","b\\"":"\\n"}'],
    ['deep nesting', `{"a":${'['.repeat(2_000)}${']'.repeat(2_000)}}`],
    ['null, booleans and empty values', '{"a":null,"b":true,"c":[],"d":{},"":""}'],
  ])('%s', async (_what, metadata) => {
    const hostname = freshHostname()
    const answer = await tenant.call('POST', '/v1/edge/domains', { body: `{"hostname":"${hostname}","metadata":${metadata}}` })
    expect(answer.status).toBe(200)
    expect(answer.text).toContain(`"metadata":${metadata}}`)
    expect((await tenant.call('GET', '/v1/edge/domains')).text).toContain(`"metadata":${metadata}}`)
    expect((await tenant.call('GET', `/v1/edge/resolve?hostname=${hostname}`)).text).toContain(`"metadata":${metadata}}`)
  })

  test('it is an empty object when none was supplied', async () => {
    const answer = await tenant.call('POST', '/v1/edge/domains', { body: { hostname: freshHostname() } })
    expect(answer.json().metadata).toEqual({})
  })

  test('16 KB come back, and more is refused', async () => {
    const sized = (bytes: number) => ({ hostname: freshHostname(), metadata: { text: 'x'.repeat(bytes - 11) } })
    expect((await tenant.call('POST', '/v1/edge/domains', { body: sized(16 * 1024) })).status).toBe(200)
    expect((await tenant.call('POST', '/v1/edge/domains', { body: sized(16 * 1024 + 1) })).json()).toMatchObject({
      status: 400,
      code: 'metadata_invalid',
    })
  })

  test.each([
    ['an array', '[]'],
    ['null', 'null'],
    ['a string', '"{}"'],
    ['NUL', '{"a":"\\u0000"}'],
    ['a lone surrogate', '{"a":"\\ud800"}'],
    ['a lone surrogate in a key', '{"\\udc00":1}'],
    ['an integer beyond 2^53', '{"a":9007199254740993}'],
    ['a number beyond all', '{"a":1e999}'],
  ])('400 metadata_invalid for %s', async (_what, metadata) => {
    const answer = await tenant.call('POST', '/v1/edge/domains', { body: `{"hostname":"${freshHostname()}","metadata":${metadata}}` })
    expect(answer.json()).toMatchObject({ status: 400, code: 'metadata_invalid' })
  })
})
