import { createHash } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
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
      if (request.url !== '/events') return false
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.flushHeaders()
      opened?.(response)
      return true
    },
  })
  edge = await startTestEdge({ timeouts: { bodyIdleMs: 400 } })
  await edge.route(HOST, upstream.url)
})
afterAll(async () => {
  await edge.stop(1_000)
  await upstream.stop()
})
const target = () => ({ port: edge.httpsPort, hostname: HOST, ca: edge.ca.certPem })
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

test('an event stream over HTTP/2 arrives at once too, and its end of silence has no limit', async () => {
  const stream = nextStream()
  const session = await openHttp2(target())
  const visitor = session.request({ ':path': '/events', ':authority': HOST })
  const events = new RawReader(visitor as never)
  const response = await stream
  await new Promise((resolve) => visitor.once('response', resolve))
  response.write('data: one\n\n')
  await events.until('data: one\n\n')
  // Longer than any other body may be silent here; that it passes is what is tested.
  await new Promise((resolve) => setTimeout(resolve, 600))
  response.write('data: two\n\n')
  await events.until('data: two\n\n')
  visitor.close()
  await new Promise((resolve) => response.once('close', resolve))
  session.close()
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
  await expect.poll(standsStill, { interval: 100, timeout: 5_000 }).toBe(true)
  expect(written()).toBeGreaterThan(0)
  expect(written()).toBeLessThan(FLOOD_BYTES / 4)
  socket.destroy()
})
