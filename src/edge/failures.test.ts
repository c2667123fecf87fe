import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test } from 'vitest'
import { startTestEdge, type TestEdge } from '../../test/support/edge.ts'
import { DATA, frame, HEADERS, RawHttp2, RST_STREAM, requestBlock, WINDOW_UPDATE, word } from '../../test/support/http2-frames.ts'
import { freePort } from '../../test/support/ports.ts'
import { openHttp2, openTls, requestHttp2, speak } from '../../test/support/raw-visitor.ts'
import { type RawUpstream, startRawUpstream, startUpstream, type Upstream } from '../../test/support/upstream.ts'
import type { HostAnswer } from './host.ts'

let edge: TestEdge
/** Waits for nothing longer than a moment: whatever is asked of it may fail by `timeout`. */
let hasty: TestEdge
let strict: TestEdge
let upstream: Upstream
const HOST = 'shop.customer.com'
const raws: RawUpstream[] = []
const children: ChildProcess[] = []

beforeAll(async () => {
  upstream = await startUpstream()
  edge = await startTestEdge()
  hasty = await startTestEdge({ timeouts: { connectMs: 600, answerHeadMs: 400, bodyIdleMs: 700 } })
  strict = await startTestEdge({ upstream: { allowPrivate: false, ownAddresses: ['1.1.1.1'] } })
})
afterEach(async () => {
  for (const raw of raws.splice(0)) await raw.stop()
})
afterAll(async () => {
  for (const child of children) child.kill()
  await edge.stop(1_000)
  await hasty.stop(1_000)
  await strict.stop(1_000)
  await upstream.stop()
})

async function rawUpstream(...parameters: Parameters<typeof startRawUpstream>): Promise<RawUpstream> {
  const raw = await startRawUpstream(...parameters)
  raws.push(raw)
  return raw
}

async function ask(upstreamUrl: string, request = 'GET / HTTP/1.1', { at = edge, body = '' } = {}) {
  await at.route(HOST, upstreamUrl)
  const reader = await speak({ port: at.httpsPort, hostname: HOST, ca: at.ca.certPem }, `${request}\r\nHost: ${HOST}\r\n\r\n${body}`)
  const answer = await reader.answer({ bodiless: request.startsWith('HEAD') })
  reader.socket.destroy()
  return { status: answer.status, error: answer.field('namesake-error'), body: answer.body }
}

test('nobody listens there: 502, refused', async () => {
  expect(await ask(`http://127.0.0.1:${await freePort()}`)).toMatchObject({ status: 502, error: 'refused' })
})

test('the name does not exist: 502, dns', async () => {
  expect(await ask('http://does-not-exist.invalid')).toMatchObject({ status: 502, error: 'dns' })
})

test('the connection ends without an answer: 502, reset, and a fresh connection is not tried twice', async () => {
  const raw = await rawUpstream((socket) => socket.destroy())
  expect(await ask(raw.url)).toMatchObject({ status: 502, error: 'reset' })
  expect(raw.received.length).toBe(1)
})

test('the answer is no HTTP: 502, malformed, and the log says what is wrong with it', async () => {
  const raw = await rawUpstream((socket) => socket.end('220 mail.example.com ESMTP\r\n\r\n'))
  expect(await ask(raw.url, 'GET /mail HTTP/1.1')).toMatchObject({ status: 502, error: 'malformed' })
  const logged = () => edge.lines.find(({ path }) => path === '/mail')
  await expect.poll(logged).toMatchObject({ status: 502, error: 'malformed', detail: expect.stringContaining('status line') })
})

test('the log tells who went before the answer was complete from who got it', async () => {
  const raw = await rawUpstream((socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf'))
  await edge.route(HOST, raw.url)
  const reader = await speak({ port: edge.httpsPort, hostname: HOST, ca: edge.ca.certPem }, `GET /left HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
  await reader.until('half')
  reader.socket.destroy()
  await expect.poll(() => edge.lines.find(({ path }) => path === '/left')).toMatchObject({ status: 200, bytes: 4, error: 'visitor-gone' })
})

test('the log tells who went before all of a complete answer had left from who took it, and how much had', async () => {
  const own = await startTestEdge({ http2Engine: 'own' }) // node's does not say what its windows have held back
  onTestFinished(() => own.stop(0))
  const raw = await rawUpstream((socket) => socket.write(`HTTP/1.1 200 OK\r\nContent-Length: 10000\r\n\r\n${'x'.repeat(10_000)}`))
  await own.route(HOST, raw.url)
  const visitor = await RawHttp2.open({ port: own.httpsPort, hostname: HOST, ca: own.ca.certPem }, [0, 4, 0, 0, 0, 100]) // small windows
  const logged = (path: string) => own.lines.find((line) => line.path === path)
  for (const [id, path] of [
    [1, '/left-late'],
    [3, '/taken'],
  ] as const) {
    visitor.send(frame(HEADERS, 5, id, requestBlock(HOST, { path })))
    await visitor.until(({ type, streamId }) => type === DATA && streamId === id)
  }
  visitor.send(frame(RST_STREAM, 0, 1, word(8)), frame(WINDOW_UPDATE, 0, 3, word(10_000)))
  await expect.poll(() => logged('/left-late')).toMatchObject({ status: 200, bytes: 100, error: 'visitor-gone' })
  await expect.poll(() => logged('/taken')).toMatchObject({ status: 200, bytes: 10_000 })
  expect(logged('/taken')).not.toHaveProperty('error')
  visitor.socket.destroy()
})

test('the log tells who went while its hostname was looked up', async () => {
  const found = Promise.withResolvers<HostAnswer>()
  const slow = await startTestEdge({ findHost: () => found.promise })
  onTestFinished(() => slow.stop(0))
  await slow.route(HOST, 'http://127.0.0.1:1')
  const reader = await speak({ port: slow.httpsPort, hostname: HOST, ca: slow.ca.certPem }, `GET /left HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
  await expect.poll(async () => (await slow.report()).exchanges).toBe(1)
  reader.socket.destroy()
  await expect.poll(() => slow.lines.find(({ path }) => path === '/left')).toMatchObject({ status: 0, error: 'visitor-gone' })
  found.resolve({ kind: 'unknown' })
})

test('the upstream is silent: 502 and never 504, timeout', async () => {
  expect(await ask(upstream.url, 'GET /never HTTP/1.1', { at: hasty })).toMatchObject({ status: 502, error: 'timeout' })
})

test('the upstream does not accept in time: 502, timeout', async () => {
  // A full backlog drops further connection requests, as a firewall would.
  const server = createServer().listen({ host: '127.0.0.1', port: 0, backlog: 1 })
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  const script = `import socket,time\ns=socket.socket(); s.bind(('127.0.0.1',0)); s.listen(0); print(s.getsockname()[1],flush=True)\nc=[socket.socket() for _ in range(3)]\nfor x in c:\n x.setblocking(False)\n x.connect_ex(s.getsockname())\ntime.sleep(20)`
  const child = spawn('python3', ['-c', script])
  children.push(child)
  const [line] = (await once(child.stdout, 'data')) as [Buffer]
  expect(await ask(`http://127.0.0.1:${Number(line)}`, 'GET / HTTP/1.1', { at: hasty })).toMatchObject({ status: 502, error: 'timeout' })
  child.kill()
  server.close()
  expect(port).toBeGreaterThan(0)
})

test('an https upstream is verified by its own name', async () => {
  const trusting = await startTestEdge()
  const good = await startUpstream({ tls: await trusting.ca.issue(['127.0.0.1']) })
  const wrong = await startUpstream({ tls: await trusting.ca.issue(['other.example.com', HOST]) })
  const knowing = await startTestEdge({ upstream: { ca: [trusting.ca.certPem] } })
  expect(await ask(good.url, 'GET / HTTP/1.1', { at: knowing })).toMatchObject({ status: 200 })
  expect(await ask(good.url, 'GET / HTTP/1.1', { at: knowing })).toMatchObject({ status: 200 })
  expect(await ask(wrong.url, 'GET / HTTP/1.1', { at: knowing })).toMatchObject({ status: 502, error: 'tls' })
  expect(await ask(good.url, 'GET / HTTP/1.1', { at: edge })).toMatchObject({ status: 502, error: 'tls' })
  expect(await ask(upstream.url.replace('http:', 'https:'), 'GET / HTTP/1.1', { at: knowing })).toMatchObject({ status: 502, error: 'tls' })
  for (const running of [trusting, knowing]) await running.stop(0)
  for (const running of [good, wrong]) await running.stop()
})

test('an https upstream that wants a certificate of ours is asked once: 502, tls', async () => {
  const { chainPem, keyPem } = await edge.ca.issue(['127.0.0.1'])
  let connections = 0
  const server = createTlsServer({ cert: chainPem, key: keyPem, requestCert: true, minVersion: 'TLSv1.3' })
    .on('connection', () => (connections += 1))
    .listen(0, '127.0.0.1')
  await once(server, 'listening')
  const knowing = await startTestEdge({ upstream: { ca: [edge.ca.certPem] } })
  onTestFinished(async () => {
    await knowing.stop(0)
    server.close()
  })
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
  expect(await ask(url, 'GET / HTTP/1.1', { at: knowing })).toMatchObject({ status: 502, error: 'tls' })
  expect(connections).toBe(1)
})

test.each([
  '127.0.0.1',
  'localhost',
  '[::1]',
  '0.0.0.0',
  '10.0.0.1',
  '169.254.169.254',
  '100.64.0.1',
  '[::ffff:127.0.0.1]',
  '[64:ff9b::7f00:1]',
  '1.1.1.1',
  '2130706433',
  '0x7f.1',
])('the special or own address %s is refused at connect', async (host) => {
  expect(await ask(`http://${host}:${upstream.port}`, 'GET / HTTP/1.1', { at: strict })).toMatchObject({
    status: 502,
    error: 'forbidden-address',
  })
})

test('our own ports and hostnames that are served here are refused even where private addresses are allowed', async () => {
  expect(await ask(`http://127.0.0.1:${edge.httpPort}`)).toMatchObject({ status: 502, error: 'forbidden-address' })
  await edge.route('localhost.customer.com', upstream.url)
  expect(await ask('http://localhost.customer.com')).toMatchObject({ status: 502, error: 'forbidden-address' })
})

test('the service’s own upstream may be private, and a project cannot borrow its connections', async () => {
  await strict.route('api.example.com', upstream.url)
  strict.hosts.set('api.example.com', { kind: 'service', upstreamUrl: upstream.url })
  const reader = await speak(
    { port: strict.httpsPort, hostname: 'api.example.com', ca: strict.ca.certPem },
    'GET / HTTP/1.1\r\nHost: api.example.com\r\n\r\n',
  )
  expect((await reader.answer()).status).toBe(200)
  reader.socket.destroy()
  expect(await ask(upstream.url, 'GET / HTTP/1.1', { at: strict })).toMatchObject({ status: 502, error: 'forbidden-address' })
})

/** Answers the first request of each connection, and closes at the second one without a byte. */
function forgetful() {
  const counts = new Map<number, number>()
  return rawUpstream((socket, connection) => {
    const count = (counts.get(connection) ?? 0) + 1
    counts.set(connection, count)
    if (count === 1) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
    else socket.destroy()
  })
}

test('a kept connection that died is replaced once, unseen by the visitor', async () => {
  const raw = await forgetful()
  expect(await ask(raw.url)).toMatchObject({ status: 200 })
  expect(await ask(raw.url)).toMatchObject({ status: 200, body: 'ok' })
  expect(raw.connections.length).toBe(2)
})

test.each([
  'POST / HTTP/1.1\r\nContent-Length: 1',
  'POST / HTTP/1.1',
  'PATCH / HTTP/1.1\r\nContent-Length: 1',
  'PUT / HTTP/1.1\r\nContent-Length: 1',
])('a request that may have been read is never sent twice: %j', async (request) => {
  const raw = await forgetful()
  await ask(raw.url)
  expect(await ask(raw.url, request, { body: request.endsWith('1') && request.includes('Length') ? 'x' : '' })).toMatchObject({
    status: 502,
    error: 'reset',
  })
  expect(raw.received.filter((text) => !text.startsWith('GET')).length).toBe(1)
})

test('no request is repeated after the first byte of an answer', async () => {
  let count = 0
  const raw = await rawUpstream((socket) => {
    count += 1
    if (count === 1) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
    else socket.end('HTTP/1.1 2')
  })
  await ask(raw.url)
  expect(await ask(raw.url)).toMatchObject({ status: 502, error: 'reset' })
  expect(count).toBe(2)
})

test('a POST finds a new connection when the kept one was closed before', async () => {
  const server = await startUpstream()
  expect(await ask(server.url)).toMatchObject({ status: 200 })
  server.closeIdle()
  expect(await ask(server.url, 'POST / HTTP/1.1\r\nContent-Length: 1', { body: 'x' })).toMatchObject({ status: 200 })
  await server.stop()
})

test.each(['/dies-counted', '/dies-chunked'])('an upstream that dies in the body (%s) never looks like a short answer', async (path) => {
  await edge.route(HOST, upstream.url)
  const reader = await speak({ port: edge.httpsPort, hostname: HOST, ca: edge.ca.certPem }, `GET ${path} HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
  const text = await reader.closed()
  expect(text).toContain('only this')
  expect(bodyOf(text)).not.toContain('0\r\n\r\n')
  const session = await openHttp2({ port: edge.httpsPort, hostname: HOST, ca: edge.ca.certPem })
  await expect(requestHttp2(session, { ':path': path, ':authority': HOST })).rejects.toMatchObject({ rstCode: 2 })
  expect((await requestHttp2(session, { ':path': '/', ':authority': HOST })).headers[':status']).toBe(200)
  session.close()
})

test.each([
  ['a broken chunk', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\nzz\r\n'],
  ['a silent body', 'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nok'],
])('%s ends the visitor’s answer with an error', async (_name, text) => {
  const raw = await rawUpstream((socket) => socket.write(text))
  await hasty.route(HOST, raw.url)
  const reader = await speak({ port: hasty.httpsPort, hostname: HOST, ca: hasty.ca.certPem }, `GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
  expect(bodyOf(await reader.closed())).not.toContain('0\r\n\r\n')
})

test('a visitor that stops in the middle of its upload is told so with 408', async () => {
  await hasty.route(HOST, upstream.url)
  const reader = await speak(
    { port: hasty.httpsPort, hostname: HOST, ca: hasty.ca.certPem },
    `POST /swallow HTTP/1.1\r\nHost: ${HOST}\r\nContent-Length: 10\r\n\r\nhalf`,
  )
  expect((await reader.answer()).status).toBe(408)
  reader.socket.destroy()
})

test('a visitor that takes no more of an answer is let go, and nobody is told that it was the upstream', async () => {
  const raw = await rawUpstream((socket) => socket.write(`HTTP/1.1 200 OK\r\nContent-Length: 30000000\r\n\r\n${'x'.repeat(30_000_000)}`))
  await hasty.route(HOST, raw.url)
  hasty.lines.length = 0
  const socket = await openTls({ port: hasty.httpsPort, hostname: HOST, ca: hasty.ca.certPem })
  socket.on('error', () => {})
  socket.write(`GET /large HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
  await once(socket, 'readable')
  await expect.poll(() => hasty.lines.filter(({ path }) => path === '/large')).toMatchObject([{ status: 200 }])
  expect(hasty.lines.find(({ path }) => path === '/large')).toMatchObject({ error: 'visitor-stalled' })
  socket.destroy()
})

test('a visitor that does not read an event stream is let go, and the log says so', async () => {
  const raw = await rawUpstream((socket) =>
    socket.write(`HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n${'data: 1\n\n'.repeat(2_000_000)}`),
  )
  await hasty.route(HOST, raw.url)
  const reader = await speak(
    { port: hasty.httpsPort, hostname: HOST, ca: hasty.ca.certPem },
    `GET /events HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`,
  )
  reader.socket.pause()
  await expect.poll(() => hasty.lines.find(({ path }) => path === '/events')).toMatchObject({ status: 200, error: 'visitor-stalled' })
  reader.socket.destroy()
})

test('a visitor that opens no window for the rest of a complete answer loses it, and the log says why', async () => {
  const raw = await rawUpstream((socket) => socket.write(`HTTP/1.1 200 OK\r\nContent-Length: 10000\r\n\r\n${'x'.repeat(10_000)}`))
  await hasty.route(HOST, raw.url)
  const visitor = await RawHttp2.open({ port: hasty.httpsPort, hostname: HOST, ca: hasty.ca.certPem }, [0, 4, 0, 0, 0, 100])
  visitor.send(frame(HEADERS, 5, 1, requestBlock(HOST, { path: '/rest' })))
  await expect.poll(() => hasty.lines.find(({ path }) => path === '/rest')).toMatchObject({ status: 200, error: 'visitor-stalled' })
  visitor.socket.destroy()
})

test('when the visitor goes, the upstream’s connection ends too', async () => {
  const gone = Promise.withResolvers<void>()
  const raw = await rawUpstream((socket) => {
    socket.once('close', () => gone.resolve())
    socket.write('HTTP/1.1 200 OK\r\n\r\nbegin')
  })
  await edge.route(HOST, raw.url)
  const reader = await speak({ port: edge.httpsPort, hostname: HOST, ca: edge.ca.certPem }, `GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
  await reader.until('begin')
  reader.socket.destroy()
  await gone.promise
})

test('bytes behind an answer, or before a request, end the kept connection', async () => {
  const raw = await rawUpstream((socket) =>
    socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil'),
  )
  for (let i = 0; i < 3; i += 1) expect(await ask(raw.url)).toMatchObject({ status: 200, body: 'ok' })
  expect(raw.connections.length).toBe(3)
})

test('failures are counted by reason', async () => {
  for (const [at, reasons] of [
    [edge, ['refused', 'dns', 'reset', 'malformed']],
    [hasty, ['timeout']],
  ] as const)
    for (const reason of reasons)
      expect(await at.metrics()).toMatch(new RegExp(`namesake_edge_upstream_errors_total\\{reason="${reason}"\\} [1-9]`))
})

function bodyOf(answer: string): string {
  return answer.slice(answer.indexOf('\r\n\r\n') + 4)
}
