import { once } from 'node:events'
import { constants } from 'node:http2'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createTestCa, type TestCa } from '../../test/support/certificates.ts'
import { startTestEdge, type TestEdge } from '../../test/support/edge.ts'
import { openHttp2, requestHttp2, speak } from '../../test/support/raw-visitor.ts'

const HOST = 'shop.customer.com'
const CONNECTIONS_MAX = 1_024 // of upstream-pools.ts
const STREAMS = 64
/** Node accepts one connection a turn, and the system takes no more than these before. */
const BACKLOG = 4_096

/** An application that leaves all requests for `/held` without an answer until the test gives one. */
let application: ReturnType<typeof createServer>
let held: Socket[]
let connections: number
let edge: TestEdge
let ca: TestCa
beforeAll(async () => {
  ca = await createTestCa()
  application = createServer(serve)
  await once(application.listen({ host: '127.0.0.1', port: 0, backlog: BACKLOG }), 'listening')
})
afterAll(() => void application.close())

function serve(socket: Socket): void {
  connections += 1
  socket.on('error', () => {})
  socket.on('data', (bytes) => {
    const [, path] = bytes.toString('latin1').split(' ', 2) as [string, string]
    if (path === '/held') held.push(socket)
    else socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${path.length}\r\n\r\n${path}`)
  })
}

beforeEach(async () => {
  held = []
  connections = 0
  edge = await startTestEdge({ upstream: { ca: [ca.certPem] } })
  await edge.route(HOST, `http://127.0.0.1:${portOf(application)}`)
  return () => edge.stop(0)
})

const portOf = (server: Server) => (server.address() as AddressInfo).port
const openSession = () => openHttp2({ port: edge.httpsPort, hostname: HOST, ca: edge.ca.certPem })
const head = (path: string) => ({ ':path': path, ':authority': HOST })

/** All connections that the application may have are taken by requests that it does not answer. */
async function takeAllConnections(): Promise<void> {
  for (let taken = 0; taken < CONNECTIONS_MAX; taken += STREAMS) {
    const session = await openSession()
    for (let n = 0; n < STREAMS; n += 1) requestHttp2(session, head('/held')).catch(() => {})
  }
  await expect.poll(() => held.length).toBe(CONNECTIONS_MAX)
}

test('a connection that its visitor did not wait for is the next one’s', async () => {
  const arrived = Promise.withResolvers<Socket>()
  const { keyPem, chainPem } = await ca.issue(['localhost'])
  const secure = createTlsServer({ key: keyPem, cert: chainPem }, serve)
  const slow = createServer(arrived.resolve).listen(0, 'localhost')
  await once(slow, 'listening')
  await edge.route(HOST, `https://localhost:${portOf(slow)}`)
  const session = await openSession()
  const request = session.request(head('/gone')).on('error', () => {})
  const socket = await arrived.promise
  request.close(constants.NGHTTP2_CANCEL)
  await expect.poll(async () => (await edge.report()).exchanges).toBe(0)
  secure.emit('connection', socket)
  await expect.poll(() => connections).toBe(1)
  expect(await requestHttp2(session, head('/here'))).toMatchObject({ body: '/here' })
  expect(connections).toBe(1)
  session.destroy()
  slow.close()
})

test('what cannot be sent twice is not sent on a connection that its application closes behind an answer', async () => {
  await takeAllConnections()
  const text = 'POST /sent HTTP/1.1\r\nHost: shop.customer.com\r\nContent-Length: 4\r\n\r\nbody'
  const waiting = await speak({ port: edge.httpsPort, hostname: HOST, ca: edge.ca.certPem }, text)
  await expect.poll(async () => (await edge.report()).exchanges).toBe(CONNECTIONS_MAX + 1)
  held[0]!.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
  expect(await waiting.answer()).toMatchObject({ status: 200, body: '/sent' })
  waiting.socket.destroy()
})
