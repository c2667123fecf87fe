import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Answer, startTestApi, type TestApi } from '../support/api.ts'
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts'

let database: TestDatabase
let apis: [TestApi, TestApi]
let addresses = 0
beforeAll(async () => {
  database = await createTestDatabase()
  apis = [await startTestApi({ database }), await startTestApi({ database })]
})
afterAll(async () => {
  for (const api of apis) await api.stop()
  await database.drop()
})

const fresh = () => ({ 'x-forwarded-for': `198.51.100.${++addresses}` })

/** So many calls, to the two processes in turn. */
async function repeat(times: number, call: (api: TestApi) => Promise<Answer>): Promise<number[]> {
  const statuses: number[] = []
  for (let n = 0; n < times; n += 1) statuses.push((await call(apis[n % 2]!)).status)
  return statuses
}

const ask = (email: string, headers: Record<string, string>) => (api: TestApi) =>
  api.call('POST', '/v1/auth/request-magic-link', { body: { email }, headers })

test('five sign-in links an address, whichever process is asked and wherever from; known or not', async () => {
  const statuses: number[] = []
  for (let n = 0; n < 7; n += 1) statuses.push((await ask('ada@vendor.test', fresh())(apis[n % 2]!)).status)
  expect(statuses).toEqual([202, 202, 202, 202, 202, 429, 429])
  const refused = await ask('Ada@vendor.test', fresh())(apis[0])
  expect(refused.json()).toMatchObject({ status: 429, code: 'rate_limited', detail: expect.stringMatching(/try again in 1[45] minutes/) })
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(14 * 60 - 10)
  expect((await ask('grace@vendor.test', fresh())(apis[0])).status).toBe(202)
})

test('five links in all to what others make up behind a plus, and none of those of the address without it', async () => {
  const statuses: number[] = []
  for (let n = 0; n < 6; n += 1) statuses.push((await ask(`lin+${n}@vendor.test`, fresh())(apis[n % 2]!)).status)
  expect(statuses).toEqual([202, 202, 202, 202, 202, 429])
  expect((await ask('lin@vendor.test', fresh())(apis[0])).status).toBe(202)
})

test('five links to an address however its domain is written', async () => {
  const statuses: number[] = []
  for (const domain of ['bücher.test', 'xn--bcher-kva.test', 'BÜCHER.test', 'bücher.test', 'xn--bcher-kva.test', 'bücher.test'])
    statuses.push((await ask(`lin@${domain}`, fresh())(apis[0])).status)
  expect(statuses).toEqual([202, 202, 202, 202, 202, 429])
  expect((await ask('lin@ｂücher.test', fresh())(apis[0])).json()).toMatchObject({ status: 400, code: 'email_invalid' })
})

test('an address with a character that no text may have is malformed', async () => {
  expect((await ask('a\u0000b@vendor.test', fresh())(apis[0])).json()).toMatchObject({ status: 400, code: 'email_invalid' })
  expect((await ask('a\ud800b@vendor.test', fresh())(apis[0])).json()).toMatchObject({ status: 400, code: 'email_invalid' })
})

test('thirty calls a minute from one IP address to what signs in, shared by all processes', async () => {
  const headers = fresh()
  const statuses = await repeat(32, (api) => api.call('POST', '/v1/auth/callback', { body: { token: 'x' }, headers }))
  expect(statuses).toEqual([...Array.from({ length: 30 }, () => 401), 429, 429])
  expect((await apis[0].call('POST', '/v1/auth/magic-link', { body: { token: 'x' }, headers })).status).toBe(429)
  expect((await apis[0].call('POST', '/v1/auth/callback', { body: { token: 'x' }, headers: fresh() })).status).toBe(401)
})

test('three hundred refused credentials a minute from one IP address; a good token from there is served all the same', async () => {
  const headers = fresh()
  const tenant = await apis[0].addTenant()
  const wrong = { ...headers, authorization: `Bearer svc_${'0'.repeat(64)}` }
  const statuses = await repeat(302, (api) => api.call('GET', '/v1/edge/domains', { headers: wrong }))
  expect(new Set(statuses.slice(0, 300))).toEqual(new Set([401]))
  expect(statuses.slice(300)).toEqual([429, 429])
  expect((await tenant.call('GET', '/v1/edge/domains', { headers })).status).toBe(200)
  expect((await apis[1].call('GET', '/v1/portal/projects', { headers })).status).toBe(429)
  expect((await apis[1].call('GET', '/v1/openapi.json', { headers })).status).toBe(429)
  expect((await apis[1].call('GET', '/healthz', { headers })).status).toBe(200)
})

test('one person’s IPv6 network is one', async () => {
  const from = (n: number) => ({ 'x-forwarded-for': `2001:db8:7:7::${n.toString(16)}` })
  let n = 0
  const statuses = await repeat(31, (api) => api.call('POST', '/v1/auth/callback', { body: { token: 'x' }, headers: from(++n) }))
  expect(statuses.at(-1)).toBe(429)
})

test('while the database is away each process counts for itself', async () => {
  const alone = await startTestApi()
  await alone.cutDatabase()
  const headers = fresh()
  const statuses: number[] = []
  for (let n = 0; n < 302; n += 1) statuses.push((await alone.call('GET', '/v1/openapi.json', { headers })).status)
  await alone.stop()
  expect(statuses.slice(299)).toEqual([200, 429, 429])
})

test('who leaves before a refusal is written takes nobody else along', async () => {
  for (let i = 0; i < 100; i += 1) {
    const socket = connect(apis[0].port, '127.0.0.1')
    await once(socket, 'connect')
    socket.write(`GET /v1/edge/domains HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer svc_${randomBytes(32).toString('hex')}\r\n\r\n`)
    await nextTurn()
    socket.resetAndDestroy()
  }
  expect((await apis[0].call('GET', '/healthz')).status).toBe(200)
})
