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
