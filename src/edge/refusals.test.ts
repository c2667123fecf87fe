import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestEdge, type TestEdge } from '../../test/support/edge.ts'
import { openHttp2, requestHttp2, speak } from '../../test/support/raw-visitor.ts'

let edge: TestEdge
const HOST = 'shop.customer.com'

beforeAll(async () => {
  edge = await startTestEdge()
  await edge.route(HOST, 'http://127.0.0.1:1')
})
afterAll(() => edge.stop(0))
const target = () => ({ port: edge.httpsPort, hostname: HOST, ca: edge.ca.certPem })

test('405 says what is allowed', async () => {
  const ALLOWED = 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS'
  for (const bytes of [`CONNECT ${HOST}:443 HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`, `TRACE / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`]) {
    const reader = await speak(target(), bytes)
    expect((await reader.answer()).field('allow')).toBe(ALLOWED)
    reader.socket.destroy()
  }
  const session = await openHttp2(target())
  for (const headers of [{ ':method': 'CONNECT' }, { ':method': 'TRACE', ':path': '/' }])
    expect((await requestHttp2(session, { ':authority': HOST, ...headers })).headers).toMatchObject({ ':status': 405, allow: ALLOWED })
  session.close()
})

test.each(['a b', `u@${HOST}`, `${HOST}:abc`, `${HOST}, x`, `[${HOST}]`, '[::1', `${HOST}/`, 'a%zz', 'sh\xadop.customer.com'])(
  'the Host %j, which can be none, is 400 whatever the connection is for',
  async (host) => {
    for (const more of [{}, { servername: '', rejectUnauthorized: false }]) {
      const reader = await speak({ ...target(), more }, `GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
      expect((await reader.answer()).status).toBe(400)
      reader.socket.destroy()
    }
  },
)

/** What the log calls the only request that was answered so. */
async function loggedId(status: number, protocol: string): Promise<string> {
  const find = () => edge.lines.find((line) => line.status === status && line.protocol === protocol)
  await expect.poll(find).toBeDefined()
  return find()!.requestId as string
}

test.each([
  ['an application that is away', 502, `GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`],
  ['a body that is malformed', 400, `POST / HTTP/1.1\r\nHost: ${HOST}\r\nTransfer-Encoding: chunked\r\n\r\nno-chunk\r\n`],
  ['a head that cannot be served', 431, `GET / HTTP/1.1\r\nHost: ${HOST}\r\nX: ${'x'.repeat(40_000)}\r\n\r\n`],
  ['an authority that is another’s', 421, 'GET / HTTP/1.1\r\nHost: other.customer.com\r\n\r\n'],
])('a program is told of %s (%i) with the request’s id as the last line', async (_name, status, bytes) => {
  edge.lines.length = 0
  const reader = await speak(target(), bytes)
  const { body } = await reader.answer()
  reader.socket.destroy()
  expect(body).toMatch(/^\d{3} .*\n.+\nRequest id: \S+\n$/)
  expect(body).toContain(`Request id: ${await loggedId(status, 'HTTP/1.1')}\n`)
})

const MANY_FIELDS = Array.from({ length: 101 }, (_, i) => `X-${i}: 1\r\n`).join('')
const LONG = 'x'.repeat(17_000)

test.each([
  ['101 fields', 431, `GET /a?secret=1 HTTP/1.1\r\n${MANY_FIELDS}\r\n`, ['GET', '/a', 'HTTP/1.1']],
  ['a head that is too long', 431, `GET /a HTTP/1.0\r\nX: ${LONG}${LONG}`, ['GET', '/a', 'HTTP/1.0']],
  ['an unknown expectation', 417, `PUT /a HTTP/1.1\r\nHost: ${HOST}\r\nExpect: much\r\n\r\n`, ['PUT', '/a', 'HTTP/1.1']],
  ['an unknown coding', 501, `\r\nPUT /a HTTP/1.1\r\nHost: ${HOST}\r\nTransfer-Encoding: br\r\n\r\n`, ['PUT', '/a', 'HTTP/1.1']],
  ['a version to come', 505, 'GET /a HTTP/3.0\r\n\r\n', ['GET', '/a', 'HTTP/1.1']],
  ['no version', 505, 'GET /a\r\n', ['GET', '/a', 'HTTP/1.1']],
  ['two lengths', 400, `PUT /a HTTP/1.1\r\nHost: ${HOST}\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n`, ['PUT', '/a', 'HTTP/1.1']],
  ['another authority', 400, `GET http://me:secret@x/a HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`, ['GET', '/a', 'HTTP/1.1']],
  ['CONNECT', 405, `CONNECT ${HOST}:443 HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`, ['CONNECT', `${HOST}:443`, 'HTTP/1.1']],
  ['CONNECT to what is no authority', 405, `CONNECT me:secret@x:443 HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`, ['CONNECT', '', 'HTTP/1.1']],
  ['a target that is too long', 414, `GET /${LONG} HTTP/1.1\r\n\r\n`, ['GET', `/${'x'.repeat(1_023)}`, 'HTTP/1.1']],
  ['a target that is none', 400, 'GET /a#b HTTP/1.1\r\n\r\n', ['GET', '', 'HTTP/1.1']],
  ['no request line', 400, 'rubb(ish /a HTTP/1.1\r\n\r\n', ['', '', 'HTTP/1.1']],
  ['a method without end', 431, `${LONG}${LONG} /a HTTP/1.1\r\n`, ['', '', 'HTTP/1.1']],
])('the log says of %s (%i) what could be read of it', async (_name, status, bytes, said) => {
  edge.lines.length = 0
  const reader = await speak(target(), bytes)
  expect((await reader.answer()).status).toBe(status)
  reader.socket.destroy()
  await expect.poll(() => edge.lines.map((line) => [line.method, line.path, line.protocol])).toEqual([said])
})

test('the log says what was asked for by a head that does not end in time', async () => {
  const hasty = await startTestEdge({ timeouts: { requestHeadMs: 1_000 } })
  await hasty.route(HOST, 'http://127.0.0.1:1')
  const reader = await speak({ ...target(), port: hasty.httpsPort, ca: hasty.ca.certPem }, 'GET /slow HTTP/1.1\r\nX: ')
  expect((await reader.answer()).status).toBe(408)
  await expect.poll(() => hasty.lines).toMatchObject([{ method: 'GET', path: '/slow', status: 408 }])
  reader.socket.destroy()
  await hasty.stop(0)
})

test.each([
  [417, { expect: 'much' }],
  [431, Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`x-${i}`, '1']))],
  [431, { x: LONG + LONG }],
  [400, { host: 'other.customer.com' }],
])('the log says over HTTP/2 of what is refused with %i for its head what could be read of it', async (status, fields) => {
  edge.lines.length = 0
  const session = await openHttp2(target())
  const { headers } = await requestHttp2(session, { ':method': 'PUT', ':path': '/a?secret=1', ':authority': HOST, ...fields })
  session.close()
  expect(headers[':status']).toBe(status)
  await expect.poll(() => edge.lines).toMatchObject([{ method: 'PUT', path: '/a', status }])
})

test('the log says over HTTP/2 whom a CONNECT was for', async () => {
  edge.lines.length = 0
  const session = await openHttp2(target())
  await requestHttp2(session, { ':method': 'CONNECT', ':authority': 'db.internal:5432' })
  session.close()
  await expect.poll(() => edge.lines).toMatchObject([{ method: 'CONNECT', path: 'db.internal:5432', status: 405 }])
})

test('who asks for the head alone gets a refusal’s head alone', async () => {
  const reader = await speak(target(), `HEAD /a HTTP/1.1\r\nHost: ${HOST}\r\nExpect: much\r\n\r\n`)
  expect(await reader.closed()).toMatch(/^HTTP\/1\.1 417 .*\r\n\r\n$/s)
})

test('a program is told the request’s id over HTTP/2 as well', async () => {
  edge.lines.length = 0
  const session = await openHttp2(target())
  const { body } = await requestHttp2(session, { ':path': '/', ':authority': HOST })
  session.close()
  expect(body).toMatch(/^502 .*\n.+\n/)
  expect(body.endsWith(`\nRequest id: ${await loggedId(502, 'HTTP/2')}\n`)).toBe(true)
})
