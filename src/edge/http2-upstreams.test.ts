import { once } from 'node:events'
import {
  connect,
  createSecureServer,
  createServer,
  type Http2SecureServer,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
  sensitiveHeaders,
} from 'node:http2'
import { createServer as createHttpsServer } from 'node:https'
import { type AddressInfo, connect as connectTcp, createServer as createTcpServer, type LookupFunction, type Socket } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestCa, type TestCa } from '../../test/support/certificates.ts'
import { startTestEdge, type TestEdge } from '../../test/support/edge.ts'
import { DATA, FrameCollector, frame, GOAWAY, HEADERS, PREFACE, SETTINGS, WINDOW_UPDATE, word } from '../../test/support/http2-frames.ts'
import { speak } from '../../test/support/raw-visitor.ts'
import { visit } from '../../test/support/visitor.ts'

const HOST = 'shop.customer.com'
const WAIT_MS_MAX = 15_000 // a busy machine takes its time
let ca: TestCa
let edge: TestEdge
let plain: Http2Server
let secure: Http2SecureServer

function answer(stream: ServerHttp2Stream, headers: Record<string, unknown>) {
  stream.on('error', () => {})
  if (headers[':path'] === '/counted') {
    stream.respond({ ':status': 200, 'content-length': 5, trailer: 'x-sum' }, { waitForTrailers: true })
    stream.on('wantTrailers', () => stream.sendTrailers({ 'x-sum': '7' }))
    return stream.end('whole')
  }
  if (headers[':path'] === '/empty') return stream.respond({ ':status': 200, 'x-a': 'b' }, { endStream: true })
  stream.respond({ ':status': 200, 'set-cookie': ['a=1', 'b=2'], 'alt-svc': 'h3=":443"' }, { waitForTrailers: true })
  stream.on('wantTrailers', () => stream.sendTrailers({ 'x-sum': '7' }))
  stream.write(`${headers[':method']} ${headers[':path']} ${headers[':authority']} ${headers['x-forwarded-proto']} `)
  stream.pipe(stream)
}

const lookup = ((_name: string, _options: object, found: (error: null, all: object[]) => void) =>
  found(null, [{ address: '127.0.0.1', family: 4 }])) as LookupFunction

const portOf = (server: { address(): unknown }) => (server.address() as AddressInfo).port

beforeAll(async () => {
  ca = await createTestCa()
  const { keyPem, chainPem } = await ca.issue(['localhost'])
  plain = createServer().on('stream', answer)
  secure = createSecureServer({ key: keyPem, cert: chainPem }).on('stream', answer)
  for (const server of [plain, secure]) await once(server.listen(0, 'localhost'), 'listening')
  edge = await startTestEdge({ upstream: { ca: [ca.certPem] } })
})

afterAll(async () => {
  await edge.stop(0)
  plain.close()
  secure.close()
})

const visitEdge = (more: { method?: string; path?: string; body?: string; headers?: Record<string, string> } = {}) =>
  visit({ port: edge.httpsPort, hostname: HOST, ca: edge.ca.certPem, ...more })

test.each(['h2c', 'h2'] as const)('a visitor over HTTP/1.1 is served by an upstream of %s', async (upstreamProtocol) => {
  const address = upstreamProtocol === 'h2c' ? `http://localhost:${portOf(plain)}` : `https://localhost:${portOf(secure)}`
  await edge.route(HOST, address, { upstreamProtocol })
  const answered = await visitEdge({ method: 'POST', path: '/a?b', body: 'body' })
  expect(answered).toMatchObject({ status: 200, body: `POST /a?b ${HOST} https body`, headers: { 'set-cookie': ['a=1', 'b=2'] } })
  expect(answered.headers).not.toHaveProperty('alt-svc')
  expect(await visitEdge({ path: '/empty' })).toMatchObject({ status: 200, body: '', headers: { 'x-a': 'b', 'content-length': '0' } })
})

test('trailers reach a visitor over HTTP/1.1 too', async () => {
  await edge.route(HOST, `http://localhost:${portOf(plain)}`, { upstreamProtocol: 'h2c' })
  const target = { port: edge.httpsPort, hostname: HOST, ca: edge.ca.certPem }
  const reader = await speak(target, `GET / HTTP/1.1\r\nHost: ${HOST}\r\nTE: trailers\r\nConnection: close, TE\r\n\r\n`)
  expect(await reader.closed()).toMatch(/\r\n0\r\nx-sum: 7\r\n\r\n$/)
})

test.each(['own', 'node'] as const)('trailers behind a body of a known length reach a visitor over HTTP/2 (%s)', async (http2Engine) => {
  const own = await startTestEdge({ http2Engine })
  await own.route(HOST, `http://localhost:${portOf(plain)}`, { upstreamProtocol: 'h2c' })
  const session = connect(`https://${HOST}:${own.httpsPort}`, { lookup, ca: own.ca.certPem })
  const stream = session.request({ ':path': '/counted' })
  const seen = { headers: {}, trailers: {}, body: '' }
  stream.on('response', (headers) => Object.assign(seen.headers, headers))
  stream.on('trailers', (trailers) => Object.assign(seen.trailers, trailers))
  stream.on('data', (chunk: Buffer) => (seen.body += chunk.toString()))
  await once(stream, 'close')
  expect(seen).toMatchObject({ headers: { 'content-length': '5', trailer: 'x-sum' }, body: 'whole', trailers: { 'x-sum': '7' } })
  session.destroy()
  await own.stop(0)
})

test.each(['own', 'node'] as const)(
  'what visitor and application say so that nobody puts it into a table stays such between the two (%s)',
  async (http2Engine) => {
    const [key, token, sum] = [`x-key-${http2Engine}`, `x-token-${http2Engine}`, `x-sum-${http2Engine}`] // what is known of a name stays known
    const heard: unknown[] = []
    const markedIn = (headers: object): unknown => Reflect.get(headers, sensitiveHeaders)
    const upstream = createServer().on('stream', (stream, headers) => {
      heard.push([headers[key], markedIn(headers)])
      stream.on('wantTrailers', () => stream.sendTrailers({ [sum]: 'secret', 'x-open': 'open', [sensitiveHeaders]: [sum] }))
      stream.respond({ ':status': 200, [token]: 'secret', 'x-open': 'open', [sensitiveHeaders]: [token] }, { waitForTrailers: true })
      stream.end('whole')
    })
    await once(upstream.listen(0, 'localhost'), 'listening')
    const own = await startTestEdge({ http2Engine })
    await own.route(HOST, `http://localhost:${portOf(upstream)}`, { upstreamProtocol: 'h2c' })
    const session = connect(`https://${HOST}:${own.httpsPort}`, { lookup, ca: own.ca.certPem })
    const stream = session.request({ ':path': '/', [key]: 'secret', 'x-open': 'open', [sensitiveHeaders]: [key] })
    const headersIn = async (event: string) => ((await once(stream, event)) as [IncomingHttpHeaders])[0]
    const [answered, trailers] = await Promise.all([headersIn('response'), headersIn('trailers'), stream.resume()])
    expect(heard).toEqual([['secret', [key]]])
    expect([answered[token], markedIn(answered)]).toEqual(['secret', [token]])
    expect([trailers[sum], markedIn(trailers)]).toEqual(['secret', [sum]])
    session.destroy()
    await own.stop(0)
    upstream.close()
  },
)

test.each(['own', 'node'] as const)('a visitor over HTTP/2 that reads nothing stops the upstream before long (%s)', async (http2Engine) => {
  let written = 0
  const endless = createServer().on('stream', (stream) => {
    stream.on('error', () => {})
    stream.respond({ ':status': 200 })
    const more = () => {
      while (!stream.destroyed && stream.write(Buffer.alloc(16_384))) written += 16_384
    }
    stream.on('drain', more)
    more()
  })
  await once(endless.listen(0, 'localhost'), 'listening')
  const own = await startTestEdge({ http2Engine })
  await own.route(HOST, `http://localhost:${portOf(endless)}`, { upstreamProtocol: 'h2c' })
  const session = connect(`https://${HOST}:${own.httpsPort}`, { lookup, ca: own.ca.certPem })
  const stream = session.request({ ':path': '/' }).on('error', () => {})
  await once(stream, 'response')
  let before = -1
  const isStill = () => {
    const was = before
    before = written
    return was === written
  }
  await expect.poll(isStill, { interval: 200, timeout: WAIT_MS_MAX }).toBe(true)
  expect(written).toBeLessThan(4 * 1024 * 1024)
  stream.resume()
  await expect.poll(() => written - before, { timeout: WAIT_MS_MAX }).toBeGreaterThan(4 * 1024 * 1024)
  session.destroy()
  await own.stop(0)
  endless.close()
})

test('a WebSocket is refused with its reason, since HTTP/2 knows no change of protocol', async () => {
  await edge.route(HOST, `http://localhost:${portOf(plain)}`, { upstreamProtocol: 'h2c' })
  const headers = {
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
    'sec-websocket-version': '13',
  }
  expect(await visitEdge({ headers })).toMatchObject({ status: 502, headers: { 'namesake-error': 'no-upgrade' } })
})

test.each([
  ['offers no HTTP/2', 'tls'],
  ['is not trusted', 'tls'],
])('an https upstream that %s is a 502', async (what, reason) => {
  const { keyPem, chainPem } = await (what === 'is not trusted' ? await createTestCa() : ca).issue(['localhost'])
  const options = { key: keyPem, cert: chainPem }
  const server = what === 'is not trusted' ? createSecureServer(options) : createHttpsServer(options)
  await once(server.listen(0, 'localhost'), 'listening')
  await edge.route(HOST, `https://localhost:${portOf(server)}`, { upstreamProtocol: 'h2' })
  expect(await visitEdge()).toMatchObject({ status: 502, headers: { 'namesake-error': reason } })
  server.close()
})

test.each([
  ['h2c', 'http://10.0.0.1'],
  ['h2', 'https://[::1]'],
] as const)('addresses that no upstream may have are refused for %s too', async (upstreamProtocol, address) => {
  const strict = await startTestEdge({ upstream: { allowPrivate: false } })
  await strict.route(HOST, address, { upstreamProtocol })
  const answered = await visit({ port: strict.httpsPort, hostname: HOST, ca: strict.ca.certPem })
  expect(answered).toMatchObject({ status: 502, headers: { 'namesake-error': 'forbidden-address' } })
  await strict.stop(0)
})

/** A way to an upstream that can go under everything on it, as a machine does whose power has failed: without a word. */
async function startFragileWay(port: number) {
  const pairs: [Socket, Socket][] = []
  const way = createTcpServer((near) => {
    const far = connectTcp(port, 'localhost')
    for (const socket of [near, far]) socket.on('error', () => {})
    near.on('close', () => far.destroy())
    near.pipe(far).pipe(near)
    pairs.push([near, far])
  })
  await once(way.listen(0, 'localhost'), 'listening')
  const vanish = () => {
    for (const [near, far] of pairs.splice(0)) {
      near.unpipe(far).resume()
      far.unpipe(near).resume()
    }
  }
  return { port: portOf(way), vanish, close: () => way.close() }
}

test('an upstream that vanishes under a GET is asked again on another connection; what may not be asked twice fails', async () => {
  const way = await startFragileWay(portOf(plain))
  const own = await startTestEdge({ timeouts: { pingMs: 500 } })
  await own.route(HOST, `http://localhost:${way.port}`, { upstreamProtocol: 'h2c' })
  const session = connect(`https://${HOST}:${own.httpsPort}`, { lookup, ca: own.ca.certPem })
  const statusOf = async (method: string) => {
    const stream = session.request({ ':path': '/empty', ':method': method }, { endStream: true })
    const [headers] = await once(stream, 'response')
    stream.close()
    return headers[':status']
  }
  expect(await statusOf('GET')).toBe(200)
  way.vanish()
  expect(await Promise.all([statusOf('GET'), statusOf('POST')])).toEqual([200, 502])
  session.destroy()
  await own.stop(0)
  way.close()
})

test.each([
  ['too large', 150_000, { get: 200, post: 200 }, 1],
  ['so large that it could be endless, but for what may not be asked twice', 1_500_000, { get: 200, post: 502 }, 2],
])('a head that is %s fails the answer that it begins, and none beside it', async (_, headBytes, others, connectionsExpected) => {
  const held: ServerHttp2Stream[] = []
  let connections = 0
  const hold = (stream: ServerHttp2Stream, headers: Record<string, unknown>) => {
    stream.on('error', () => {})
    if (headers[':path'] === '/large') stream.respond({ ':status': 200, 'x-large': 'x'.repeat(headBytes) }, { endStream: true })
    else if (held.length < 2) held.push(stream)
    else stream.respond({ ':status': 200 }, { endStream: true })
  }
  const server = createServer({ maxSendHeaderBlockLength: 2 * headBytes }).on('stream', hold)
  server.on('session', (session) => {
    connections += 1
    session.on('error', () => {})
  })
  await once(server.listen(0, 'localhost'), 'listening')
  await edge.route(HOST, `http://localhost:${portOf(server)}`, { upstreamProtocol: 'h2c' })
  const [get, post] = [visitEdge(), visitEdge({ method: 'POST', body: 'body' })]
  await expect.poll(() => held.length, { timeout: WAIT_MS_MAX }).toBe(2)
  expect(await visitEdge({ path: '/large' })).toMatchObject({ status: 502, headers: { 'namesake-error': 'malformed' } })
  for (const stream of held) if (!stream.destroyed) stream.respond({ ':status': 200 }, { endStream: true })
  expect({ get: (await get).status, post: (await post).status }).toEqual(others)
  expect(connections).toBe(connectionsExpected)
  server.close()
})

/** An upstream of bare frames whose first connection lets out what a stream begins with and then says that it has looked at nothing; the others read all. */
async function startAbsentUpstream() {
  const received: string[] = []
  const server = createTcpServer((socket) => {
    const nth = received.push('') - 1
    const collector = new FrameCollector()
    let isGreeted = false
    socket.on('error', () => {}).write(frame(SETTINGS, 0, 0))
    socket.on('data', (chunk) => {
      collector.add(isGreeted ? chunk : chunk.subarray(PREFACE.length))
      isGreeted = true
      for (const { type, flags, streamId, payload } of collector.frames.splice(0)) {
        if (type !== DATA) continue
        received[nth] += payload.toString('latin1')
        if (nth > 0 && flags & 1)
          socket.write(frame(HEADERS, 5, streamId, [0x88])) // :status 200
        else if (nth > 0 && payload.length > 0)
          for (const id of [0, streamId]) socket.write(frame(WINDOW_UPDATE, 0, id, word(payload.length)))
        else if (received[nth]!.length === 65_535) socket.write(frame(GOAWAY, 0, 0, Buffer.alloc(8)))
      }
    })
  })
  await once(server.listen(0, 'localhost'), 'listening')
  return { port: portOf(server), received, close: () => server.close() }
}

test('an upload of any size is sent again whole to an upstream that has looked at nothing of it', async () => {
  const upstream = await startAbsentUpstream()
  await edge.route(HOST, `http://localhost:${upstream.port}`, { upstreamProtocol: 'h2c' })
  const body = Array.from({ length: 50_000 }, (_, i) => i).join(' ')
  expect(await visitEdge({ method: 'POST', body })).toMatchObject({ status: 200 })
  expect(upstream.received.map(({ length }) => length)).toEqual([65_535, body.length])
  expect(upstream.received[1] === body).toBe(true)
  upstream.close()
})
