import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestEdge, type TestEdge } from '../../test/support/edge.ts'
import { openHttp2, requestHttp2, speak } from '../../test/support/raw-visitor.ts'
import { startUpstream, type Upstream } from '../../test/support/upstream.ts'

let edge: TestEdge
let upstream: Upstream
const HOST = 'shop.customer.com'

beforeAll(async () => {
  upstream = await startUpstream()
  edge = await startTestEdge()
  await edge.route(HOST, upstream.url)
})
afterAll(async () => {
  await edge.stop(1_000)
  await upstream.stop()
})
const target = () => ({ port: edge.httpsPort, hostname: HOST, ca: edge.ca.certPem })

test('a visitor gets the answer of the upstream, which sees the original Host', async () => {
  const reader = await speak(target(), `GET /a?b=c HTTP/1.1\r\nHost: ${HOST}:8443\r\n\r\n`)
  const answer = await reader.answer()
  expect(answer.status).toBe(200)
  expect(JSON.parse(answer.body)).toMatchObject({ method: 'GET', url: '/a?b=c', fields: expect.arrayContaining(['Host', `${HOST}:8443`]) })
  reader.socket.destroy()
})

test('the same over HTTP/2', async () => {
  const session = await openHttp2(target())
  const answer = await requestHttp2(session, { ':path': '/x', ':method': 'POST' }, 'hello')
  expect(answer.headers[':status']).toBe(200)
  expect(JSON.parse(answer.body)).toMatchObject({
    method: 'POST',
    url: '/x',
    body: 'hello',
    fields: expect.arrayContaining(['Host', HOST]),
  })
  session.close()
})
