import { createHash } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestEdge, type TestEdge } from '../../test/support/edge.ts'
import { openHttp2, openTls, RawReader, requestHttp2, speak } from '../../test/support/raw-visitor.ts'
import { startUpstream, type Upstream } from '../../test/support/upstream.ts'

let edge: TestEdge
let upstream: Upstream
const HOST = 'shop.customer.com'
const FLOOD_BYTES = 200_000_000
let flooding: ((written: () => number) => void) | undefined
let opened: ((response: ServerResponse) => void) | undefined
/** What goes on without end: with events, lines, a long body, a visitor's one, and with nothing for now. */
const LASTING = ['events', 'lines', 'download', 'upload', 'poll'].map((what) => `/lasting/${what}`)
const lasting = new Set<ServerResponse>()
/** Those that have been asked for a marked body, and wait until all have. */
const waiting: (() => void)[] = []
const MARKED_BYTES = [1, 700, 1_500, 1_501, 4_096, 12_000, 16_384, 24_000, 24_577, 33_000, 56_000, 70_000]
const PIECE_BYTES = 28_000 // two of them in one read: the second waits for the first to leave

beforeAll(async () => {
  upstream = await startUpstream({
    handle(request, response) {
      if (request.url === '/flood') {
        const { bytesWritten } = request.socket // a kept connection has carried other answers
        flooding?.(() => request.socket.bytesWritten - bytesWritten)
        const block = Buffer.alloc(100_000, 'f')
        response.writeHead(200, { 'content-length': FLOOD_BYTES })
        Readable.from(Array.from({ length: FLOOD_BYTES / block.length }, () => block)).pipe(response)
        return true
      }
      if (request.url?.startsWith('/marked/')) {
        waiting.push(() => answerMarked(request.url!, response))
        if (waiting.length === 2 * MARKED_BYTES.length) for (const answer of waiting.splice(0)) answer()
        return true
      }
      if (request.url?.startsWith('/lasting/')) {
        last(request.resume(), response)
        return true
      }
      if (request.url !== '/events') return false
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.flushHeaders()
      opened?.(response)
      return true
    },
  })
  edge = await startTestEdge()
  await edge.route(HOST, upstream.url)
})
afterAll(async () => {
  await edge.stop(1_000)
  await upstream.stop()
})

function last({ url }: IncomingMessage, response: ServerResponse): void {
  lasting.add(response)
  const timer = setInterval(() => {
    if (url === '/lasting/upload' || url === '/lasting/poll') return
    if (url === '/lasting/events' && !response.headersSent) response.setHeader('content-type', 'text/event-stream')
    if (url === '/lasting/download' && !response.headersSent) response.setHeader('content-length', 1_000_000)
    response.write('data: tick\n\n')
  }, 50)
  response.once('close', () => {
    clearInterval(timer)
    lasting.delete(response)
  })
}

const target = () => ({ port: edge.httpsPort, hostname: HOST, ca: edge.ca.certPem })

/** `/marked/counted/700/a`: so many bytes of a text that no other path's body has anywhere. */
function marked(path: string): string {
  const bytes = Number(path.split('/')[3])
  return `${path};`.repeat(Math.ceil(bytes / path.length)).slice(0, bytes)
}

function unchunked(text: string): string {
  let body = ''
  for (let at = 0; ; ) {
    const lineEnd = text.indexOf('\r\n', at)
    const bytes = Number.parseInt(text.slice(at, lineEnd), 16)
    if (!(bytes > 0)) return body
    body += text.slice(lineEnd + 2, lineEnd + 2 + bytes)
    at = lineEnd + 2 + bytes + 2
  }
}

function answerMarked(path: string, response: ServerResponse): void {
  const body = marked(path)
  if (path.includes('counted')) return void response.writeHead(200, { 'content-length': body.length }).end(body)
  let chunks = ''
  for (let at = 0; at < body.length; at += PIECE_BYTES) {
    const piece = body.slice(at, at + PIECE_BYTES)
    chunks += `${piece.length.toString(16)}\r\n${piece}\r\n`
  }
  response.socket!.end(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`) // node would make one chunk of them
}

/** Resolves with how many bytes of it have been written. */
const nextFlood = () => new Promise<() => number>((resolve) => (flooding = resolve))
const nextStream = () => new Promise<ServerResponse>((resolve) => (opened = resolve))

test('the head of an event stream arrives before its first event, and every event at once', async () => {
  const stream = nextStream()
  const reader = await speak(target(), `GET /events HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
  const response = await stream
  expect(await reader.until('\r\n\r\n')).toContain('text/event-stream')
  for (const event of ['data: one\n\n', 'data: two\n\n']) {
    response.write(event)
    await reader.until(event)
  }
  response.end()
  await reader.until('0\r\n\r\n')
  reader.socket.destroy()
})

test.each(['removed', 'moved to another project'])('whatever lasts ends at both ends soon after its hostname is %s', async (change) => {
  const hostname = 'leaving.customer.com'
  const to = { ...target(), hostname }
  await edge.route(hostname, upstream.url)
  const session = await openHttp2(to)
  const overHttp1 = async (path: string) => {
    const isUpload = path === '/lasting/upload'
    const body = isUpload ? 'Transfer-Encoding: chunked\r\n' : ''
    const reader = await speak(to, `${isUpload ? 'POST' : 'GET'} ${path} HTTP/1.1\r\nHost: ${hostname}\r\n${body}\r\n`)
    const timer = setInterval(() => isUpload && reader.socket.write('4\r\nmore\r\n'), 50)
    const heard = await reader.closed().finally(() => clearInterval(timer))
    expect(heard).not.toContain('\r\n0\r\n')
  }
  const overHttp2 = async (path: string) => {
    const isUpload = path === '/lasting/upload'
    const stream = session.request(
      { ':method': isUpload ? 'POST' : 'GET', ':path': path, ':authority': hostname },
      { endStream: !isUpload },
    )
    const timer = setInterval(() => isUpload && stream.write('more'), 50)
    await once(stream.resume(), 'error').finally(() => clearInterval(timer))
  }
  const leaving = LASTING.flatMap((path) => [overHttp1(path), overHttp2(path)])
  const staying = await speak(target(), `GET /lasting/poll HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
  await expect.poll(() => lasting.size).toBe(leaving.length + 1)
  if (change === 'removed') edge.hosts.delete(hostname)
  else await edge.route(hostname, upstream.url, { projectId: '2' })
  await Promise.all(leaving)
  await expect.poll(() => lasting.size).toBe(1)
  await expect.poll(async () => (await edge.report()).exchanges).toBe(1)
  const reasons = edge.lines.splice(0).filter((line) => line.hostname === hostname && line.msg === 'request')
  expect(reasons.map(({ error }) => error)).toEqual(leaving.map(() => 'hostname-gone'))
  for (const response of lasting) response.end('after all')
  expect(await staying.answer()).toMatchObject({ status: 200 })
  staying.socket.destroy()
  session.destroy()
})

test('the host of what lasts is found again once some host has changed, and not before', async () => {
  let [finds, revision] = [0, 0]
  const own: TestEdge = await startTestEdge({
    findHost(hostname) {
      finds += 1
      return own.hosts.get(hostname) ?? { kind: 'unknown' }
    },
    hostsRevision: () => revision,
  })
  await own.route(HOST, upstream.url)
  const { socket } = await speak(
    { ...target(), port: own.httpsPort, ca: own.ca.certPem },
    `GET /lasting/poll HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`,
  )
  await pause(1_500)
  const before = finds
  await pause(1_500)
  expect(finds).toBe(before)
  revision += 1
  await expect.poll(() => finds).toBe(before + 1)
  socket.destroy()
  await own.stop(0)
})

test('a visitor that sent more behind an event stream than is read, and has gone, is let go in the end', async () => {
  const own = await startTestEdge({ timeouts: { bodyIdleMs: 1_000 } })
  await own.route(HOST, upstream.url)
  const ask = (head: string) => speak({ port: own.httpsPort, hostname: HOST, ca: own.ca.certPem }, head)
  const silent = await ask(`GET /events HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
  const ahead = await ask(`GET /events HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
  await Promise.all([silent, ahead].map((reader) => reader.until('text/event-stream')))
  silent.socket.setTimeout(0)
  ahead.socket.write('X'.repeat(70_000))
  await new Promise((resolve) => setTimeout(resolve, 300))
  ahead.socket.destroy()
  await expect.poll(async () => (await own.report()).exchanges).toBe(1)
  await new Promise((resolve) => setTimeout(resolve, 4_500)) // one that is silent has no limit
  expect((await own.report()).exchanges).toBe(1)
  silent.socket.destroy()
  await own.stop(0)
})

test('an event stream over HTTP/2 arrives at once too, and its end of silence has no limit', async () => {
  const stream = nextStream()
  const hasty = await startTestEdge({ timeouts: { bodyIdleMs: 1_000 } })
  await hasty.route(HOST, upstream.url)
  const session = await openHttp2({ port: hasty.httpsPort, hostname: HOST, ca: hasty.ca.certPem })
  const visitor = session.request({ ':path': '/events', ':authority': HOST })
  const events = new RawReader(visitor as never)
  const response = await stream
  await new Promise((resolve) => visitor.once('response', resolve))
  response.write('data: one\n\n')
  await events.until('data: one\n\n')
  // Longer than any other body may be silent here; that it passes is what is tested.
  await new Promise((resolve) => setTimeout(resolve, 2_500))
  response.write('data: two\n\n')
  await events.until('data: two\n\n')
  visitor.close()
  await new Promise((resolve) => response.once('close', resolve))
  session.close()
  await hasty.stop(0)
})

test('both directions flow at the same time', async () => {
  const reader = await speak(target(), `POST /echo-stream HTTP/1.1\r\nHost: ${HOST}\r\nTransfer-Encoding: chunked\r\n\r\n`)
  await reader.until('\r\n\r\n')
  for (const word of ['one', 'two']) {
    reader.socket.write(`3\r\n${word}\r\n`)
    await reader.until(`3\r\n${word}\r\n`)
  }
  reader.socket.write('0\r\n\r\n')
  await reader.until('0\r\n\r\n')
  reader.socket.destroy()
  const session = await openHttp2(target())
  const visitor = session.request({ ':path': '/echo-stream', ':method': 'POST', ':authority': HOST }, { endStream: false })
  const back = new RawReader(visitor as never)
  await new Promise((resolve) => visitor.once('response', resolve))
  visitor.write('three')
  await back.until('three')
  visitor.end()
  await back.closed()
  session.close()
})

const BYTES = 50_000_000

test.each(['counted', 'chunked'])('a large upload arrives whole (%s)', async (framing) => {
  const socket = await openTls(target())
  const reader = new RawReader(socket)
  const block = Buffer.alloc(100_000, 'y')
  const hash = createHash('sha256')
  socket.write(
    `POST /count-upload HTTP/1.1\r\nHost: ${HOST}\r\n${framing === 'counted' ? `Content-Length: ${BYTES}` : 'Transfer-Encoding: chunked'}\r\n\r\n`,
  )
  for (let sent = 0; sent < BYTES; sent += block.length) {
    hash.update(block)
    if (framing === 'chunked') socket.write(`${block.length.toString(16)}\r\n`)
    const more = socket.write(block)
    if (framing === 'chunked') socket.write('\r\n')
    if (!more) await new Promise((resolve) => socket.once('drain', resolve))
  }
  if (framing === 'chunked') socket.write('0\r\n\r\n')
  const { body } = await reader.answer()
  expect(body).toContain(JSON.stringify({ bytes: BYTES, sha256: hash.digest('hex') }))
  socket.destroy()
})

test.each(['', '&chunked'])('a large answer arrives whole, also over HTTP/2 and to a slow reader (%j)', async (suffix) => {
  const session = await openHttp2(target())
  const path = `/bytes?count=${BYTES}${suffix}`
  const stream = session.request({ ':path': path, ':authority': HOST })
  let bytes = 0
  for await (const chunk of stream) {
    bytes += (chunk as Buffer).length
    if (bytes % 7 === 0) await new Promise((resolve) => setImmediate(resolve))
  }
  expect(bytes).toBe(BYTES)
  session.close()
})

test('a large upload over HTTP/2 arrives whole', async () => {
  const session = await openHttp2(target())
  const { body } = await requestHttp2(session, { ':path': '/count-upload', ':method': 'POST', ':authority': HOST }, 'z'.repeat(20_000_000))
  expect(JSON.parse(body)).toMatchObject({ bytes: 20_000_000 })
  session.close()
})

test.each(['counted', 'chunked'])(
  'answers of many sizes that come at once reach each their own visitor, fast or slow (%s)',
  async (framing) => {
    const overHttp1 = async (path: string) => {
      const socket = await openTls(target())
      socket.pause()
      socket.write(`GET ${path} HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
      setTimeout(() => socket.resume(), 100)
      const reader = new RawReader(socket)
      const { body } = await reader.answer()
      socket.destroy()
      return framing === 'counted' ? body : unchunked(body)
    }
    const session = await openHttp2(target(), { initialWindowSize: 1_000 })
    const overHttp2 = async (path: string) => (await requestHttp2(session, { ':path': path, ':authority': HOST })).body
    const paths = (visitor: string) => MARKED_BYTES.map((bytes) => `/marked/${framing}/${bytes}/${visitor}`)
    const asked = [...paths('one').map((path) => ({ path, ask: overHttp1 })), ...paths('two').map((path) => ({ path, ask: overHttp2 }))]
    const bodies = await Promise.all(asked.map(({ path, ask }) => ask(path)))
    for (const [i, { path }] of asked.entries()) expect(bodies[i] === marked(path), path).toBe(true)
    session.close()
  },
)

test('the upstream is not read faster than the visitor reads', async () => {
  const started = nextFlood()
  const socket = await openTls(target())
  socket.pause()
  socket.write(`GET /flood HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
  const written = await started
  // Once no buffer on the way takes any more, the count stands still; without back-pressure it would run on to the end.
  let last = -1
  const standsStill = () => {
    const isStill = written() > 0 && written() === last
    last = written()
    return isStill
  }
  await expect.poll(standsStill, { interval: 100 }).toBe(true)
  expect(written()).toBeGreaterThan(0)
  expect(written()).toBeLessThan(FLOOD_BYTES / 4)
  socket.destroy()
})
