import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { connect as connectTls, createServer as createTlsServer } from 'node:tls'
import { expect, onTestFinished, test } from 'vitest'
import { createTestCa } from '../../test/support/certificates.ts'
import { startTestEdge } from '../../test/support/edge.ts'
import { openHttp2, RawReader, requestHttp2, speak } from '../../test/support/raw-visitor.ts'
import { standStill } from '../../test/support/stand-still.ts'
import { startUpstream } from '../../test/support/upstream.ts'
import { recordClientHello } from '../../test/support/visitor.ts'
import { pause } from '../lib/back-off.ts'
import { UpstreamLine } from './upstream-line.ts'

const HOST = 'shop.customer.com'

/** An edge in this process, and an application. */
async function start(more: Parameters<typeof startTestEdge>[0] = {}) {
  const edge = await startTestEdge(more)
  onTestFinished(() => edge.stop(0))
  const upstream = await startUpstream()
  onTestFinished(upstream.stop)
  await edge.route(HOST, upstream.url)
  return { edge, upstream, target: { port: edge.httpsPort, hostname: HOST, ca: edge.ca.certPem } }
}

test('what comes on kept connections while the edge stands still is served', async () => {
  const { target, upstream } = await start({ timeouts: { keepAliveMs: 1_500 } })
  const get = `GET /echo HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`
  const readers = await Promise.all([speak(target, get), speak(target, get)])
  for (const reader of readers) await reader.answer()
  const session = await openHttp2(target)
  await requestHttp2(session, { ':path': '/echo', ':authority': HOST })
  let overHttp2: ReturnType<typeof requestHttp2> | undefined
  await standStill(2_000, () => {
    readers[0]!.socket.write(get)
    readers[1]!.socket.write(`POST /echo HTTP/1.1\r\nHost: ${HOST}\r\nContent-Length: 2\r\n\r\nhi`)
    overHttp2 = requestHttp2(session, { ':path': '/echo', ':authority': HOST })
  })
  for (const reader of readers) expect((await reader.answer()).status).toBe(200)
  expect((await overHttp2)?.headers[':status']).toBe(200)
  expect(upstream.seen).toHaveLength(6)
  session.destroy()
})

test('a connection to an application that is under way when the edge stands still is made', async () => {
  const ca = await createTestCa()
  const { edge, target } = await start({ timeouts: { connectMs: 1_000 }, upstream: { ca: [ca.certPem] } })
  const { keyPem: key, chainPem: cert } = await ca.issue(['localhost'])
  const application = createTlsServer({ key, cert }, (socket) =>
    socket.on('error', () => {}).once('data', () => void socket.write('HTTP/1.1 204 No Content\r\n\r\n')),
  )
  const slow = createServer().listen(0, 'localhost')
  onTestFinished(() => void slow.close())
  await once(slow, 'listening')
  await edge.route(HOST, `https://localhost:${(slow.address() as AddressInfo).port}`)
  const arrived = once(slow, 'connection')
  const reader = await speak(target, `POST / HTTP/1.1\r\nHost: ${HOST}\r\nContent-Length: 2\r\n\r\nhi`)
  const [socket] = (await arrived) as [Socket]
  await pause(100)
  await standStill(1_200)
  application.emit('connection', socket)
  expect((await reader.answer({ bodiless: true })).status).toBe(204)
})

test('who waits for an application that is away waits on when the edge stood still', async () => {
  const { edge, target } = await start({ bridgeMs: 1_000 })
  const application = createServer((socket) =>
    socket.on('error', () => {}).once('data', () => void socket.write('HTTP/1.1 204 No Content\r\n\r\n')),
  )
  await once(application.listen(0, '127.0.0.1'), 'listening')
  const { port } = application.address() as AddressInfo
  application.close()
  await edge.route(HOST, `http://127.0.0.1:${port}`)
  const reader = await speak(target, `GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
  await expect.poll(async () => /namesake_edge_held_requests 1\n/.test(await edge.metrics())).toBe(true)
  await standStill(1_200)
  application.listen(port, '127.0.0.1')
  onTestFinished(() => void application.close())
  expect((await reader.answer({ bodiless: true })).status).toBe(204)
})

test('a request that waits in the line of an application gets what has become free while the edge stood still', async () => {
  const line = new UpstreamLine<string>()
  const waiting = line.wait(500, {})
  await standStill(600)
  setTimeout(() => line.next()?.resolve('a connection'))
  expect(await waiting).toBe('a connection')
})

test('a handshake whose beginning comes while the edge stands still goes on', async () => {
  const { target } = await start({ timeouts: { handshakeMs: 1_000 } })
  const hello = await recordClientHello(HOST)
  const socket = connect(target.port, '127.0.0.1').on('error', () => {})
  onTestFinished(() => void socket.destroy())
  socket.setNoDelay(true).write(hello.subarray(0, 100))
  await pause(200)
  await standStill(1_200, () => socket.write(hello.subarray(100)))
  const [answer] = (await once(socket, 'data')) as [Buffer]
  expect(answer[0]).toBe(22) // a handshake record (RFC 8446 §5.1)
})

test('a header of the PROXY protocol that comes while the edge stands still is read', async () => {
  const { edge, target } = await start({ proxyProtocol: 'required' })
  const socket = connect(target.port, '127.0.0.1').on('error', () => {})
  await once(socket, 'connect')
  await pause(100)
  await standStill(5_200, () => socket.write('PROXY TCP4 192.0.2.7 10.0.0.1 4096 443\r\n'))
  const tls = connectTls({ socket, servername: HOST, ca: edge.ca.certPem }).on('error', () => {})
  onTestFinished(() => void tls.destroy())
  const reader = new RawReader(tls)
  tls.write(`GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
  expect((await reader.answer()).status).toBe(200)
})
