import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestApi, type Tenant, type TestApi } from '../support/api.ts'
import { freshHostname } from '../support/tenants.ts'

let api: TestApi
let tenant: Tenant
beforeAll(async () => {
  api = await startTestApi()
  tenant = await api.addTenant()
})
afterAll(() => api.stop())

const register = (hostname: string, by = tenant) => by.call('POST', '/v1/edge/domains', { body: { hostname } })

describe('400 on register: the hostname fails FQDN validation, and detail says why', () => {
  test.each([
    ['192.0.2.1', 'IP address'],
    ['[2001:db8::1]', 'IP address'],
    ['localhost', 'one label'],
    ['a_b.customer.test', 'underscore'],
    ['a..customer.test', 'empty label'],
    ['.customer.test', 'empty label'],
    [`${'a'.repeat(64)}.test`, '63'],
    [`${'a.'.repeat(127)}test`, '253'],
    ['customer.test:443', 'port'],
    ['https://customer.test', 'URL'],
    ['customer.test/path', 'path'],
    ['-a.customer.test', 'hyphen'],
    ['a b.customer.test', 'spaces'],
    ['', 'required'],
    ['co.uk', 'public suffix'],
    ['customer.123', 'number'],
    ['xn--zzzzzz--.test', ''],
  ])('%j: %s', async (hostname, reason) => {
    const problem = (await register(hostname)).json<{ detail: string }>()
    expect(problem).toMatchObject({ status: 400, code: 'hostname_invalid' })
    expect(problem.detail).toContain(reason)
  })

  test('wildcards are not enabled', async () => {
    expect((await register('*.customer.test')).json()).toMatchObject({ status: 400, code: 'wildcards_not_enabled' })
  })

  test.each(['edge.namesake.test', 'x.edge.namesake.test', 'api.namesake.test', 'portal.namesake.test', 'EDGE.namesake.test.'])(
    '%s is reserved',
    async (hostname) => {
      expect((await register(hostname)).json()).toMatchObject({ status: 400, code: 'hostname_reserved' })
    },
  )
})

describe('402 and 409 on register', () => {
  test('402 when the project is over its plan limit; registering a held hostname still merges', async () => {
    const small = await api.addTenant('free')
    const held = [freshHostname(), freshHostname(), freshHostname()]
    for (const hostname of held) expect((await register(hostname, small)).status).toBe(200)
    expect((await register(freshHostname(), small)).json()).toMatchObject({ status: 402, code: 'plan_limit' })
    const again = await small.call('POST', '/v1/edge/domains', { body: { hostname: held[0], metadata: { still: true } } })
    expect(again.json()).toMatchObject({ metadata: { still: true } })
  })

  test('room comes back with a removal', async () => {
    const small = await api.addTenant('free')
    const held = [freshHostname(), freshHostname(), freshHostname()]
    for (const hostname of held) await register(hostname, small)
    await small.call('DELETE', `/v1/edge/domains/${held[0]}`)
    expect((await register(freshHostname(), small)).status).toBe(200)
  })

  test('409 when another project holds the hostname, with a message that says it is already claimed', async () => {
    const other = await api.addTenant()
    const hostname = freshHostname()
    await register(hostname, other)
    const problem = (await register(hostname)).json()
    expect(problem).toMatchObject({ status: 409, code: 'hostname_claimed', detail: expect.stringContaining('already claimed') })
    expect(JSON.stringify(problem)).not.toContain(other.project.slug)
  })

  test('409 stands before 402', async () => {
    const hostname = freshHostname()
    await register(hostname)
    const small = await api.addTenant('free')
    for (let n = 0; n < 3; n += 1) await register(freshHostname(), small)
    expect((await register(hostname, small)).status).toBe(409)
  })

  test('of parallel registers by two projects exactly one wins each hostname', async () => {
    const other = await api.addTenant()
    const hostnames = Array.from({ length: 20 }, () => freshHostname())
    const pairs = await Promise.all(hostnames.map((hostname) => Promise.all([register(hostname), register(hostname, other)])))
    for (const pair of pairs) expect(pair.map(({ status }) => status).toSorted()).toEqual([200, 409])
  })
})

test('404 on DELETE when the hostname is not owned by this project', async () => {
  const other = await api.addTenant()
  const hostname = freshHostname()
  await register(hostname, other)
  expect((await tenant.call('DELETE', `/v1/edge/domains/${hostname}`)).json()).toMatchObject({ status: 404, code: 'domain_not_found' })
  expect((await other.call('GET', `/v1/edge/domains/${hostname}`)).status).toBe(200)
})

test('every error is a problem document with the id of the request', async () => {
  const answer = await tenant.call('GET', '/v1/edge/domains/localhost')
  expect(answer.headers['content-type']).toBe('application/problem+json')
  expect(answer.json()).toEqual({
    type: 'https://api.namesake.test/v1/docs#hostname_invalid',
    title: 'The hostname is not valid',
    status: 400,
    code: 'hostname_invalid',
    detail: expect.any(String),
    requestId: answer.headers['x-request-id'],
  })
})

test('404 for a path that is none, and 405 with Allow for a method that a path does not have', async () => {
  for (const path of ['/', '/v1', '/v1/edge', '/v2/edge/domains', '/V1/edge/domains', '/v1/edge/domains/a.test/x']) {
    expect((await tenant.call('GET', path)).json()).toMatchObject({ status: 404, code: 'route_not_found' })
  }
  const answer = await tenant.call('PUT', '/v1/edge/domains')
  expect(answer.json()).toMatchObject({ status: 405, code: 'method_not_allowed' })
  expect(answer.headers.allow).toBe('GET, HEAD, POST')
})

test.each([
  ['nonsense instead of HTTP', 'nonsense\r\n\r\n', 400],
  ['bytes in the URL that must be encoded', 'GET /v1/edge/resolve?hostname=b\u00fccher.test HTTP/1.1\r\nHost: a\r\n\r\n', 400],
  ['no Host with HTTP/1.1', 'GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n', 400],
  ['two Hosts', 'GET /healthz HTTP/1.1\r\nHost: a\r\nHost: a\r\nConnection: close\r\n\r\n', 400],
  ['a Host that can be none', 'GET /healthz HTTP/1.1\r\nHost: a@b\r\nConnection: close\r\n\r\n', 400],
  ['a URL that never ends', `GET /${'a'.repeat(20_000)} HTTP/1.1\r\nHost: a\r\n\r\n`, 414],
  ['a head that never ends', `GET / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`, 431],
])('%s is answered with a problem document too', async (_what, bytes, status) => {
  const socket = connect(api.port, '127.0.0.1')
  socket.write(Buffer.from(bytes, 'latin1'))
  const answer = await text(socket)
  expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
  expect(answer).toMatch(/^content-type: application\/problem\+json\r$/im)
  expect(answer).toMatch(/^date: \w{3}, .* GMT\r$/im)
  expect(JSON.parse(answer.split('\r\n\r\n')[1]!)).toMatchObject({ status, code: 'request_malformed' })
})

test('405 for CONNECT, with what to do, and never in place of the answer to a request before it', async () => {
  const connectBytes = 'CONNECT customer.test:443 HTTP/1.1\r\nHost: customer.test:443\r\n\r\n'
  const say = (bytes: string) => {
    const socket = connect(api.port, '127.0.0.1')
    socket.write(bytes)
    return text(socket)
  }
  const [head, body] = (await say(connectBytes)).split('\r\n\r\n')
  expect(head).toMatch(/^HTTP\/1.1 405 Method Not Allowed\r$/m)
  expect(head).toMatch(/^connection: close\r?$/im)
  expect(head).toMatch(/^allow: GET, HEAD, POST, /im)
  expect(JSON.parse(body!)).toMatchObject({ status: 405, code: 'method_not_allowed', detail: expect.stringContaining('no proxy') })
  expect(await say(`GET /v1/edge/resolve HTTP/1.1\r\nHost: a\r\n\r\n${connectBytes}`)).not.toContain('405')
})

test('HTTP/1.0 needs no Host', async () => {
  const socket = connect(api.port, '127.0.0.1')
  socket.write('GET /healthz HTTP/1.0\r\n\r\n')
  expect(await text(socket)).toMatch(/^HTTP\/1.1 200 /)
})

test('503 with Retry-After while the database is away, and nothing of its words', async () => {
  const other = await startTestApi()
  const own = await other.addTenant()
  await own.call('GET', '/v1/edge/domains')
  await other.cutDatabase()
  const answer = await own.call('GET', '/v1/edge/domains')
  await other.stop()
  expect(answer.json()).toMatchObject({ status: 503, code: 'database_unavailable' })
  expect(answer.headers['retry-after']).toBe('2')
})

test('500 tells nothing of what failed inside', async () => {
  const other = await startTestApi()
  const own = await other.addTenant()
  await own.call('GET', '/v1/edge/domains')
  await other.db.pool.query('alter table domains rename to secret_name')
  const answer = await own.call('GET', '/v1/edge/domains')
  await other.db.pool.query('alter table secret_name rename to domains')
  await other.stop()
  expect(answer.json()).toMatchObject({ status: 500, code: 'internal' })
  expect(answer.text).not.toMatch(/domains"|relation|secret_name|select/)
})
