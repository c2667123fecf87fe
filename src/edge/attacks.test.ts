import { once } from 'node:events'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { startTestEdge, type TestEdge } from '../../test/support/edge.ts'
import { openHttp2, openTls, RawReader, requestHttp2, speak } from '../../test/support/raw-visitor.ts'
import { type RawUpstream, startRawUpstream } from '../../test/support/upstream.ts'
import type { Timeouts } from './timeouts.ts'

let edge: TestEdge
let upstream: RawUpstream
const HOST = 'shop.customer.com'

beforeAll(async () => {
  upstream = await startRawUpstream((socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'))
  edge = await startTestEdge()
  await edge.route(HOST, upstream.url)
})
afterAll(async () => {
  await edge.stop(1_000)
  await upstream.stop()
})
const target = () => ({ port: edge.httpsPort, hostname: HOST, ca: edge.ca.certPem })
const H = `Host: ${HOST}\r\n`
const running: { stop(drainMs: number): Promise<void> }[] = []
afterEach(async () => {
  for (const one of running.splice(0)) await one.stop(0)
})

/** An edge of its own before an upstream that answers as the test wants. */
async function startPair(onRequest: Parameters<typeof startRawUpstream>[0], timeouts: Partial<Timeouts> = {}) {
  const behind = await startRawUpstream(onRequest)
  const front = await startTestEdge({ timeouts })
  running.push(front, behind)
  await front.route(HOST, behind.url)
  return { front, behind, to: { port: front.httpsPort, hostname: HOST, ca: front.ca.certPem } }
}

const CHUNKED = `POST / HTTP/1.1\r\n${H}Transfer-Encoding: chunked\r\n\r\n`

test.each([
  ['a length and chunks', `POST / HTTP/1.1\r\n${H}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`, 400],
  ['chunks and a length', `POST / HTTP/1.1\r\n${H}Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n`, 400],
  ['two lengths', `POST / HTTP/1.1\r\n${H}Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd`, 400],
  ['the same length twice', `POST / HTTP/1.1\r\n${H}Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc`, 400],
  ['a list of lengths', `POST / HTTP/1.1\r\n${H}Content-Length: 3, 3\r\n\r\nabc`, 400],
  ['a signed length', `POST / HTTP/1.1\r\n${H}Content-Length: +3\r\n\r\nabc`, 400],
  ['a hexadecimal length', `POST / HTTP/1.1\r\n${H}Content-Length: 0x3\r\n\r\nabc`, 400],
  ['an endless length', `POST / HTTP/1.1\r\n${H}Content-Length: 99999999999999999999\r\n\r\nabc`, 400],
  ['another coding', `POST / HTTP/1.1\r\n${H}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`, 501],
  ['a coding before chunked', `POST / HTTP/1.1\r\n${H}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`, 501],
  ['chunked twice', `POST / HTTP/1.1\r\n${H}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`, 400],
  ['chunked behind a vertical tab', `POST / HTTP/1.1\r\n${H}Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n`, 400],
  ['chunks in HTTP/1.0', `POST / HTTP/1.0\r\n${H}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`, 400],
  ['a bare LF in the request line', `GET / HTTP/1.1\nHost: ${HOST}\r\n\r\n`, 400],
  ['a bare LF in the head', `GET / HTTP/1.1\r\nHost: ${HOST}\nX: y\r\n\r\n`, 400],
  ['a bare CR in a value', `GET / HTTP/1.1\r\n${H}X: a\rb\r\n\r\n`, 400],
  ['a NUL in a value', `GET / HTTP/1.1\r\n${H}X: a\0b\r\n\r\n`, 400],
  ['a folded line', `GET / HTTP/1.1\r\n${H}X: a\r\n b\r\n\r\n`, 400],
  ['a space before the colon', `GET / HTTP/1.1\r\n${H}X : a\r\n\r\n`, 400],
  ['a space before the first field', `GET / HTTP/1.1\r\n ${H}\r\n`, 400],
  ['a field without a name', `GET / HTTP/1.1\r\n${H}: a\r\n\r\n`, 400],
  ['two Hosts', `GET / HTTP/1.1\r\n${H}Host: other.example\r\n\r\n`, 400],
  ['no Host', 'GET / HTTP/1.1\r\n\r\n', 400],
  ['another Host in the target', `GET http://other.example/ HTTP/1.1\r\n${H}\r\n`, 400],
  ['user information in the target', `GET http://${HOST}@other.example/ HTTP/1.1\r\n${H}\r\n`, 400],
  ['a fragment in the target', `GET /a#b HTTP/1.1\r\n${H}\r\n`, 400],
  ['a space in the target', `GET /a b HTTP/1.1\r\n${H}\r\n`, 400],
  ['an asterisk with GET', `GET * HTTP/1.1\r\n${H}\r\n`, 400],
  ['a version that is no HTTP/1', `GET / HTTP/2.0\r\n${H}\r\n`, 505],
  ['no version', 'GET /\r\n\r\n', 505],
  ['CONNECT', `CONNECT ${HOST}:443 HTTP/1.1\r\n${H}\r\n`, 405],
  ['TRACE', `TRACE / HTTP/1.1\r\n${H}\r\n`, 405],
  ['a head without end', `GET / HTTP/1.1\r\n${H}X: ${'a'.repeat(40_000)}\r\n\r\n`, 431],
  ['a thousand fields', `GET / HTTP/1.1\r\n${H}${'X: a\r\n'.repeat(1_000)}\r\n`, 431],
  ['an unknown expectation', `GET / HTTP/1.1\r\n${H}Expect: miracles\r\n\r\n`, 417],
  ['an unknown expectation before a known one', `GET / HTTP/1.1\r\n${H}Expect: miracles\r\nExpect: 100-continue\r\n\r\n`, 417],
  ['an unknown expectation behind a known one', `GET / HTTP/1.1\r\n${H}Expect: 100-Continue\r\nExpect: miracles\r\n\r\n`, 417],
])('%s is refused and reaches no upstream', async (_name, bytes, status) => {
  const before = upstream.received.length
  const reader = await speak(target(), bytes)
  expect((await reader.answer()).status).toBe(status)
  reader.socket.destroy()
  expect(upstream.received.length).toBe(before)
})

test.each([
  ['a bare LF behind a chunk size', '3\nabc\r\n0\r\n\r\n'],
  ['a bare LF behind a chunk', '3\r\nabc\n0\r\n\r\n'],
  ['a bare LF in a chunk extension', '3;a\nb\r\nabc\r\n0\r\n\r\n'],
  ['a hexadecimal prefix', '0x3\r\nabc\r\n0\r\n\r\n'],
  ['a signed size', '+3\r\nabc\r\n0\r\n\r\n'],
  ['a size that overflows', '10000000000000003\r\nabc\r\n0\r\n\r\n'],
  ['a chunk longer than its size', '3\r\nabcd\r\n0\r\n\r\n'],
  ['a length in the trailers', '0\r\nContent-Length: 5\r\n\r\n'],
])('a body with %s ends the connection, and what follows is never a request', async (_name, body) => {
  const before = upstream.received.length
  const reader = await speak(target(), `${CHUNKED}${body}GET /smuggled HTTP/1.1\r\n${H}\r\n`)
  await reader.closed()
  expect(upstream.received.slice(before).join('\n')).not.toMatch(/^GET \/smuggled/m)
})

test.each([
  ['a size that is none', 'zz\r\n'],
  ['a chunk longer than its size', '3\r\nabcd\r\n0\r\n\r\n'],
  ['a length in the trailers', '3\r\nabc\r\n0\r\nContent-Length: 5\r\n\r\n'],
  ['a trailer without a name', '3\r\nabc\r\n0\r\n: 5\r\n\r\n'],
])('a body with %s is 400 while nothing is answered, and its upstream never takes it for whole', async (_name, body) => {
  const { front, behind, to } = await startPair(() => {})
  const reader = await speak(to, CHUNKED)
  await expect.poll(() => behind.received.length).toBe(1)
  const gone = once(behind.connections[0]!, 'close')
  let heard = ''
  behind.connections[0]!.on('data', (chunk) => (heard += chunk.toString('latin1')))
  reader.socket.write(`${body}GET /smuggled HTTP/1.1\r\n${H}\r\n`)
  const answer = await reader.answer()
  expect([answer.status, answer.field('connection')]).toEqual([400, 'close'])
  expect(await reader.closed()).toBe('')
  await gone
  expect(heard).not.toMatch(/0\r\n/)
  expect(behind.connections.length).toBe(1)
  const logged = () => front.lines.find(({ msg }) => msg === 'request')
  await expect.poll(logged).toMatchObject({ method: 'POST', path: '/', status: 400 })
  expect(logged()).not.toHaveProperty('error') // nobody went, and nobody failed
})

test('a malformed body that begins with its head is 400 too, to HEAD without a body of ours', async () => {
  const { to } = await startPair(() => {})
  const reader = await speak(to, `${CHUNKED.replace('POST', 'HEAD')}zz\r\n`)
  const answer = await reader.answer({ bodiless: true })
  expect([answer.status, await reader.closed()]).toEqual([400, ''])
})

test.each([
  ['in the middle of its answer', 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nbegun'],
  ['behind its answer', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nbegun'],
])('a body that turns out to be malformed %s ends the connection without another', async (_name, bytes) => {
  const { to } = await startPair((socket) => socket.write(bytes))
  const reader = await speak(to, CHUNKED)
  await reader.until('begun')
  reader.socket.write('zz\r\n')
  expect(await reader.closed()).toBe('')
})

test('an upgrade with a body is no upgrade, and its body is no request', async () => {
  const inner = `GET /smuggled HTTP/1.1\r\n${H}\r\n`
  const reader = await speak(
    target(),
    `GET / HTTP/1.1\r\n${H}Connection: upgrade\r\nUpgrade: websocket\r\nContent-Length: ${inner.length}\r\n\r\n${inner}`,
  )
  expect((await reader.answer()).status).toBe(200)
  expect(upstream.received.at(-1)).not.toMatch(/upgrade/i)
  reader.socket.destroy()
})

test.each([
  ['a Host that differs from :authority', { host: 'other.example' }, 400],
  ['a connection field', { 'x-a': '1', 'proxy-connection': 'x' }, 400],
  ['a path that is none', { ':path': 'x' }, 400],
  ['a path with a space', { ':path': '/a b' }, 400],
  ['a fragment', { ':path': '/a#b' }, 400],
  ['a path that is an address', { ':path': `https://${HOST}/a` }, 400],
  ['user information in :authority', { ':authority': `u@${HOST}` }, 400],
  ['a target of 17 KB', { ':path': `/${'a'.repeat(17_000)}` }, 414],
  ['an unknown expectation', { expect: 'miracles' }, 417],
  ['TRACE', { ':method': 'TRACE' }, 405],
] as const)('over HTTP/2, %s is refused', async (_name, headers, status) => {
  const before = upstream.received.length
  const session = await openHttp2(target())
  const answer = requestHttp2(session, { ':path': '/', ':authority': HOST, ...headers })
  // What nghttp2 itself refuses is a reset stream instead of an answer.
  const outcome = await answer.then(
    ({ headers: fields }) => fields[':status'],
    () => status,
  )
  expect(outcome).toBe(status)
  session.destroy()
  expect(upstream.received.length).toBe(before)
})

test('bytes of HTTP/1.1 in an HTTP/2 value stay a value', async () => {
  const session = await openHttp2(target())
  const before = upstream.received.length
  await requestHttp2(session, { ':path': '/', ':authority': HOST, 'x-a': 'b%0d%0aX-Evil: 1' })
  expect(upstream.received.slice(before).join('')).not.toMatch(/^X-Evil/m)
  session.close()
})

test('a flood of resets ends the connection and not the edge', async () => {
  const socket = await openTls({ ...target(), more: { ALPNProtocols: ['h2'] } })
  const closed = new Promise((resolve) => socket.once('close', resolve))
  socket.resume()
  socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
  socket.write(frame(4, 0, 0, Buffer.alloc(0)))
  const block = Buffer.concat([Buffer.from([0x82, 0x87, 0x84, 0x01, HOST.length]), Buffer.from(HOST)]) // GET, https, /, authority
  let stream = 1
  const flood = () => {
    const frames: Buffer[] = []
    for (let i = 0; i < 200; i += 1, stream += 2) frames.push(frame(1, 5, stream, block), frame(3, 0, stream, Buffer.from([0, 0, 0, 8])))
    if (socket.writable) socket.write(Buffer.concat(frames), () => setImmediate(flood))
  }
  flood()
  await closed
  const other = await openHttp2(target())
  expect((await requestHttp2(other, { ':path': '/', ':authority': HOST })).headers[':status']).toBe(200)
  other.close()
})

/** HEADERS of a request in HTTP/2 as bytes, with `0x82` for GET and `0x83` for POST. */
function headers(method: 0x82 | 0x83, { endsHere }: { endsHere: boolean }): Buffer {
  const block = Buffer.concat([Buffer.from([method, 0x87, 0x84, 0x01, HOST.length]), Buffer.from(HOST)])
  return frame(1, endsHere ? 5 : 4, 1, block)
}

async function openRawHttp2(to: ReturnType<typeof target>, settings: Buffer = Buffer.alloc(0)) {
  const socket = await openTls({ ...to, more: { ALPNProtocols: ['h2'] } })
  socket.resume()
  socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
  socket.write(frame(4, 0, 0, settings))
  return socket
}

const RESET_WITHOUT_ERROR = Buffer.alloc(4)
const RESET_CANCEL = Buffer.from([0, 0, 0, 8])

test.each([
  ['a reset without an error', RESET_WITHOUT_ERROR],
  ['a cancellation', RESET_CANCEL],
  ['the end of the connection', undefined],
])('an upload over HTTP/2 that is given up by %s never looks whole', async (_name, reset) => {
  const { behind, to } = await startPair(() => {})
  const visitor = await openRawHttp2(to)
  visitor.write(headers(0x83, { endsHere: false }))
  visitor.write(frame(0, 0, 1, Buffer.from('half')))
  await expect.poll(() => behind.received.length).toBe(1)
  const [connection] = behind.connections
  let rest = ''
  connection!.on('data', (chunk) => (rest += chunk.toString('latin1')))
  const closed = once(connection!, 'close')
  if (reset) visitor.write(frame(3, 0, 1, reset))
  else visitor.end()
  await closed
  expect(`${behind.received[0]}${rest}`).not.toContain('\r\n0\r\n')
  visitor.destroy()
})

test('an upload over HTTP/2 that is given up while its upstream takes no more ends, and the edge goes on', async () => {
  const { front, to } = await startPair((socket) => socket.pause(), { bodyIdleMs: 2_000 })
  const session = await openHttp2(to)
  const stream = session.request({ ':path': '/', ':method': 'POST', ':authority': HOST }, { endStream: false })
  stream.on('error', () => {})
  const full = new Promise<void>((resolve) => {
    let last = 0
    const block = Buffer.alloc(60_000)
    const timer = setInterval(() => {
      while (!stream.destroyed && stream.writableLength < 1_000_000) stream.write(block)
      const { bytesWritten = 0 } = session.socket
      if (bytesWritten > 0 && bytesWritten === last) resolve(clearInterval(timer))
      last = bytesWritten
    }, 100)
  })
  await full
  stream.close(0)
  await expect.poll(async () => (await front.report()).exchanges).toBe(0)
  session.destroy()
  const other = await speak(to, `GET / HTTP/1.1\r\n${H}\r\n`)
  await expect.poll(async () => (await front.report()).exchanges).toBe(1)
  other.socket.destroy()
})

test('who asks over HTTP/2 and opens no window for the answer is let go', async () => {
  const { front, behind, to } = await startPair((socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'), {
    bodyIdleMs: 300,
  })
  const noWindow = Buffer.from([0, 4, 0, 0, 0, 0])
  const visitor = await openRawHttp2(to, noWindow)
  visitor.write(headers(0x82, { endsHere: true }))
  await expect.poll(() => behind.received.length).toBe(1)
  await expect.poll(async () => (await front.report()).exchanges).toBe(0)
  visitor.destroy()
})

test('who asks and never reads the answers is let go', async () => {
  const answer = Buffer.concat([Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 16000\r\n\r\n'), Buffer.alloc(16_000)])
  const { front, behind, to } = await startPair((socket) => socket.write(answer), { bodyIdleMs: 300 })
  const visitor = await openTls(to)
  visitor.pause()
  visitor.write(`GET / HTTP/1.1\r\n${H}\r\n`.repeat(1_500))
  await expect.poll(() => behind.received.length).toBeGreaterThan(0)
  await expect.poll(async () => (await front.report()).http1Connections).toBe(0)
  visitor.destroy()
})

test('a CONNECT behind a request is refused behind its answer, never in the middle of it', async () => {
  const { behind, to } = await startPair((socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello'))
  const reader = await speak(to, `GET / HTTP/1.1\r\n${H}\r\n`)
  await reader.until('hello')
  reader.socket.write(`CONNECT ${HOST}:443 HTTP/1.1\r\n${H}\r\n`)
  behind.connections[0]!.write('world')
  expect(await reader.closed()).toMatch(/^worldHTTP\/1\.1 405 /)
})

test.each([
  'h2c',
  'websocket, h2c',
  'h2c, websocket',
  'h2c\r\nUpgrade: websocket',
  'HTTP/2.0',
  'websocket, h3',
  'h 2c',
  '"h2c"',
  'h2c;a',
  '',
  ',',
])('no tunnel is opened for requests that nobody would look at: Upgrade: %j', async (protocols) => {
  const before = upstream.received.length
  const reader = await speak(target(), `GET / HTTP/1.1\r\n${H}Connection: Upgrade, HTTP2-Settings\r\nUpgrade: ${protocols}\r\n\r\n`)
  expect((await reader.answer()).status).toBe(200)
  expect(upstream.received.slice(before).join('')).not.toMatch(/^Upgrade|^Connection/im)
  reader.socket.destroy()
})

test('an upstream that answers for ever and says nothing is not waited for', async () => {
  const { to } = await startPair((socket) => {
    const more = () => socket.writable && socket.write('HTTP/1.1 102 Processing\r\n\r\n'.repeat(10), () => setImmediate(more))
    more()
  })
  const reader = await speak(to, `GET / HTTP/1.1\r\n${H}\r\n`)
  const answer = await reader.answer()
  expect([answer.status, answer.field('namesake-error')]).toEqual([502, 'malformed'])
  reader.socket.destroy()
})

function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.from([0, payload.length >> 8, payload.length & 255, type, flags, 0, 0, 0, 0])
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

test('a head that comes drop by drop is not waited for', async () => {
  const { to } = await startPair(() => {}, { requestHeadMs: 1_000 })
  const socket = await openTls(to)
  const reader = new RawReader(socket)
  socket.write('GET / HTTP/1.1\r\n')
  const drops = setInterval(() => socket.write('X: y\r\n'), 200)
  const text = await reader.closed()
  clearInterval(drops)
  expect(text).toMatch(/^HTTP\/1\.1 408 /)
})
