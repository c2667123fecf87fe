import { afterAll, beforeAll, expect, test, vi } from 'vitest'
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
  await vi.waitFor(() => expect(find()).toBeDefined(), { timeout: 10_000 })
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

test('a program is told the request’s id over HTTP/2 as well', async () => {
  edge.lines.length = 0
  const session = await openHttp2(target())
  const { body } = await requestHttp2(session, { ':path': '/', ':authority': HOST })
  session.close()
  expect(body).toMatch(/^502 .*\n.+\n/)
  expect(body.endsWith(`\nRequest id: ${await loggedId(502, 'HTTP/2')}\n`)).toBe(true)
})
