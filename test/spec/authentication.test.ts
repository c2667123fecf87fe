import { afterAll, beforeAll, expect, test } from 'vitest'
import { listTokens, revokeToken } from '../../src/core/tokens.ts'
import { startTestApi, type Tenant, type TestApi } from '../support/api.ts'
import { freshHostname } from '../support/tenants.ts'

let api: TestApi
let tenant: Tenant
beforeAll(async () => {
  api = await startTestApi()
  tenant = await api.addTenant()
})
afterAll(() => api.stop())

const CALLS = [
  ['POST', '/v1/edge/domains'],
  ['GET', '/v1/edge/domains'],
  ['GET', '/v1/edge/domains/shop.customer.test'],
  ['DELETE', '/v1/edge/domains/shop.customer.test'],
  ['POST', '/v1/edge/domains/shop.customer.test/check'],
  ['GET', '/v1/edge/resolve?hostname=shop.customer.test'],
] as const

test('control-plane endpoints take a project token in the header Authorization: Bearer', async () => {
  expect((await tenant.call('GET', '/v1/edge/domains')).status).toBe(200)
})

test('the name of the scheme is not case-sensitive', async () => {
  expect((await api.call('GET', '/v1/edge/domains', { headers: { authorization: `bearer ${tenant.token}` } })).status).toBe(200)
})

test.each(CALLS)('%s %s without a token is 401, told by WWW-Authenticate which scheme', async (method, path) => {
  const answer = await api.call(method, path)
  expect(answer.json()).toMatchObject({ status: 401, code: 'token_invalid' })
  expect(answer.headers['www-authenticate']).toBe('Bearer realm="namesake"')
})

test.each([
  ['GET', '/v1/auth/me', 'session_required', 'Cookie realm="namesake"'],
  ['GET', '/v1/portal/projects', 'session_required', 'Cookie realm="namesake"'],
  ['GET', '/v1/portal/projects/acme/domains', 'session_required', 'Cookie realm="namesake", Bearer realm="namesake"'],
  ['GET', '/v1/connect', 'connect_link_invalid', 'Connect realm="namesake"'],
  ['POST', '/v1/auth/callback', 'magic_link_invalid', 'Link realm="namesake"'],
])('what %s %s takes is told by WWW-Authenticate, as the description says it', async (method, path, code, challenge) => {
  const answer = await api.call(method, path, method === 'POST' ? { body: { token: 'none' } } : {})
  expect(answer.json()).toMatchObject({ status: 401, code })
  expect(answer.headers['www-authenticate']).toBe(challenge)
})

test('401 stands before what is wrong with the request itself', async () => {
  const body = '{"nonsense":'
  expect((await api.call('POST', '/v1/edge/domains', { body })).status).toBe(401)
  expect((await api.call('GET', '/v1/edge/resolve')).status).toBe(401)
})

const WRONG: [string, (token: string) => string][] = [
  ['a malformed token', () => 'Bearer svc_123'],
  ['upper-case digits', (token) => `Bearer ${token.toUpperCase()}`],
  ['one digit too many', (token) => `Bearer ${token}0`],
  ['one digit too few', (token) => `Bearer ${token.slice(0, -1)}`],
  ['another prefix', (token) => `Bearer ${token.replace('svc_', 'pat_')}`],
  ['a token that was never issued', () => `Bearer svc_${'0'.repeat(64)}`],
  ['a second space before the token', (token) => `Bearer  ${token}`],
  ['a tab before the token', (token) => `Bearer\t${token}`],
  ['a space inside the token', (token) => `Bearer ${token.slice(0, 30)} ${token.slice(30)}`],
  ['something after the token', (token) => `Bearer ${token} x`],
  ['an encoded space after the token', (token) => `Bearer ${token}%20`],
  ['quotes around the token', (token) => `Bearer "${token}"`],
  ['no token', () => 'Bearer'],
  ['no scheme', (token) => token],
  ['another scheme', (token) => `Basic ${Buffer.from(`:${token}`).toString('base64')}`],
  ['the scheme twice', (token) => `Bearer Bearer ${token}`],
  ['two tokens', (token) => `Bearer ${token}, Bearer ${token}`],
]

test.each(WRONG)('%s is 401', async (_what, header) => {
  const answer = await api.call('GET', '/v1/edge/domains', { headers: { authorization: header(tenant.token) } })
  expect(answer.json()).toMatchObject({ status: 401, code: 'token_invalid' })
  expect(answer.headers['www-authenticate']).toBe('Bearer realm="namesake", error="invalid_token"')
})

test('a token in the query or in a cookie is none', async () => {
  expect((await api.call('GET', `/v1/edge/domains?access_token=${tenant.token}`)).status).toBe(401)
  expect((await api.call('GET', '/v1/edge/domains', { headers: { cookie: `token=${tenant.token}` } })).status).toBe(401)
})

test('a revoked token is refused as soon as the news is here', async () => {
  const own = await api.addTenant()
  expect((await own.call('GET', '/v1/edge/domains')).status).toBe(200)
  await revokeToken(api.db, own.project.slug, own.tokenId)
  api.forgetToken(own.tokenId)
  expect((await own.call('GET', '/v1/edge/domains')).json()).toMatchObject({ status: 401, code: 'token_invalid' })
})

test('revoking one token of a project leaves the others', async () => {
  const own = await api.addTenant()
  const other = await api.addTenant()
  await revokeToken(api.db, own.project.slug, own.tokenId)
  expect((await other.call('GET', '/v1/edge/domains')).status).toBe(200)
})

test('a token is bound to one project: what belongs to another is not there for it', async () => {
  const other = await api.addTenant()
  const hostname = freshHostname()
  await other.call('POST', '/v1/edge/domains', { body: { hostname } })
  expect((await tenant.call('GET', '/v1/edge/domains')).text).not.toContain(hostname)
  expect((await tenant.call('DELETE', `/v1/edge/domains/${hostname}`)).status).toBe(404)
  expect((await other.call('GET', `/v1/edge/domains/${hostname}`)).status).toBe(200)
})

test('an answer never repeats the token', async () => {
  const wrong = `svc_${'ab'.repeat(32)}`
  expect((await api.call('GET', '/v1/edge/domains', { headers: { authorization: `Bearer ${wrong}` } })).text).not.toContain(wrong)
})

test('tokens in use carry the time of their last use', async () => {
  const other = await startTestApi()
  const own = await other.addTenant()
  await own.call('GET', '/v1/edge/domains')
  await other.flushUses()
  const [token] = await listTokens(other.db, own.project.slug)
  await other.stop()
  expect(Date.now() - Date.parse(token!.lastUsedAt!)).toBeLessThan(60_000)
})
