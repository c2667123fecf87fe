import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { startTestEdge, type TestEdge } from '../../test/support/edge.ts'
import { openHttp2, openTls, RawReader, requestHttp2, speak, speakPlain } from '../../test/support/raw-visitor.ts'
import { startUpstream, type Upstream } from '../../test/support/upstream.ts'
import type { EdgeParts } from './edge.ts'
import type { Timeouts } from './timeouts.ts'

const HOST = 'shop.customer.com'
const running: { stop(drainMs: number): Promise<void> }[] = []
afterEach(async () => {
  for (const one of running.splice(0)) await one.stop(0)
})

async function start(
  timeouts: Partial<Timeouts> = {},
  more: Pick<EdgeParts, 'proxyProtocol'> = { proxyProtocol: 'off' },
): Promise<{
  edge: TestEdge
  upstream: Upstream
  held: Promise<ServerResponse>
  target: { port: number; hostname: string; ca: string }
}> {
  const held = Promise.withResolvers<ServerResponse>()
  const upstream = await startUpstream({
    handle(request, response) {
      if (request.url === '/events') response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n')
      else if (request.url === '/held') held.resolve(response)
      else return false
      return true
    },
  })
  const edge = await startTestEdge({ timeouts, ...more })
  running.push(edge, upstream)
  await edge.route(HOST, upstream.url)
  return { edge, upstream, held: held.promise, target: { port: edge.httpsPort, hostname: HOST, ca: edge.ca.certPem } }
}

/** A WebSocket, with the application's first word read. */
async function openTunnel(target: Awaited<ReturnType<typeof start>>['target']): Promise<RawReader> {
  const upgrade = 'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x'
  const tunnel = await speak(target, `GET /ws HTTP/1.1\r\nHost: ${HOST}\r\n${upgrade}\r\n\r\n`)
  await tunnel.until('first')
  return tunnel
}

test('connections to port 80 that are kept end with their next answer, and hold up no stop', async () => {
  const { edge } = await start()
  const reader = speakPlain(edge.httpPort, `GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\nGET / HTTP/1.1\r\nHost: ${HOST}\r\n`)
  expect((await reader.answer()).status).toBe(308)
  const stopped = edge.stop(60_000)
  await expect(openTls({ port: edge.httpsPort, ca: edge.ca.certPem })).rejects.toThrow()
  reader.socket.write('\r\n')
  expect((await reader.answer()).field('connection')).toBe('close')
  await reader.closed()
  await stopped
})

test('what runs at the stop ends well, says Connection: close, and nothing new is accepted', async () => {
  const { edge, held, target } = await start()
  const reader = await speak(target, `GET /held HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
  const response = await held
  const stopped = edge.stop(10_000)
  await expect(openTls(target)).rejects.toThrow()
  response.end('done')
  const answer = await reader.answer()
  expect([answer.status, answer.field('connection')]).toEqual([200, 'close'])
  await reader.closed()
  await stopped
})

test.each([
  ['', 'off'],
  ['PROXY TCP4 192.0.2.7 10.0.0.1 4096 443\r\n', 'required'],
] as const)(
  'who has connected and says nothing behind %j holds up no stop, and loses nothing; what runs beside it ends well',
  async (header, proxyProtocol) => {
    const { edge, held, target } = await start({ handshakeMs: 600_000 }, { proxyProtocol })
    const introduced = () => {
      const socket = connect(edge.httpsPort, '127.0.0.1').on('error', () => {})
      if (header) socket.write(header)
      return socket
    }
    const gone = once(introduced(), 'close')
    const reader = await speak({ ...target, more: { socket: introduced() } }, `GET /held HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
    const response = await held
    const stopped = edge.stop(60_000)
    await gone
    response.end('done')
    expect((await reader.answer()).status).toBe(200)
    await stopped
  },
)

const HALF = `GET /half HTTP/1.1\r\nHost: ${HOST}\r\n`
const WHOLE = `GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`

test.each([
  ['half a request', '', HALF],
  ['half a request behind another', WHOLE, HALF],
])('%s holds up no stop, and what runs beside it ends well', async (_name, first, half) => {
  const { edge, held, target } = await start({ requestHeadMs: 600_000, keepAliveMs: 600_000 })
  const begun = [await speak(target, first + half), speakPlain(edge.httpPort, first + half)]
  if (first) for (const reader of begun) await reader.answer()
  const reader = await speak(target, `GET /held HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
  const response = await held
  const stopped = edge.stop(60_000)
  for (const reader of begun) expect((await reader.answer()).status).toBe(408)
  for (const reader of begun) await reader.closed()
  response.end('done')
  expect((await reader.answer()).status).toBe(200)
  await stopped
})

test('a request that is half there at the stop, or begins only then, is answered when the rest comes soon, and else holds nothing up', async () => {
  const { edge, held, target } = await start({ requestHeadMs: 600_000, keepAliveMs: 600_000 })
  const [begun, idle, blank] = [await speak(target, HALF), await speak(target, WHOLE), await speak(target, `${WHOLE}\r`)]
  for (const reader of [idle, blank]) await reader.answer()
  const reader = await speak(target, `GET /held HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
  const response = await held
  const stopped = edge.stop(60_000)
  begun.socket.write('\r\n')
  idle.socket.write(HALF)
  blank.socket.setTimeout(0).write('\n') // an empty line between requests begins none
  expect((await begun.answer()).status).toBe(200)
  expect((await idle.answer()).status).toBe(408)
  await idle.closed()
  expect(await blank.closed()).toBe('')
  response.end('done')
  expect((await reader.answer()).status).toBe(200)
  await stopped
})

test('a request that is on its way to an idle connection is still answered', async () => {
  const { edge, target } = await start()
  const reader = await speak(target, `GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
  await reader.answer()
  const stopped = edge.stop(10_000)
  reader.socket.write(`GET /late HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
  expect(await reader.answer()).toMatchObject({ status: 200 })
  await reader.closed()
  await stopped
})

test('an answer that had begun before the stop and ends long after it keeps the edge for no more than a moment', async () => {
  const { edge, held, target } = await start()
  const reader = await speak(target, `GET /held HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
  const response = await held
  response.writeHead(200, { 'content-length': 8 }).write('half')
  await reader.until('half')
  const stopped = edge.stop(30_000)
  setTimeout(() => response.end('more'), 2_500)
  await reader.until('more')
  const endedAt = performance.now()
  await reader.closed()
  await stopped
  expect(performance.now() - endedAt).toBeLessThan(6_000)
})

test('a request that follows an answer that had begun before the stop is still answered', async () => {
  const { edge, held, target } = await start()
  const reader = await speak(target, `GET /held HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
  const response = await held
  response.writeHead(200, { 'content-length': 8 }).write('half')
  await reader.until('half')
  const stopped = edge.stop(30_000)
  response.end('more')
  await reader.until('more')
  reader.socket.write(`GET /late HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
  const answer = await reader.answer()
  expect([answer.status, answer.field('connection')]).toEqual([200, 'close'])
  await reader.closed()
  await stopped
})

test('HTTP/2 connections get GOAWAY, and their streams end well', async () => {
  const { edge, held, target } = await start()
  const session = await openHttp2(target)
  const goaway = new Promise<number>((resolve) => session.once('goaway', resolve))
  const answer = requestHttp2(session, { ':path': '/held', ':authority': HOST })
  const response = await held
  const stopped = edge.stop(10_000)
  expect(await goaway).toBe(0)
  response.end('done')
  expect(await answer).toMatchObject({ body: 'done' })
  await stopped
})

test('tunnels and event streams are what is cut when the time is over', async () => {
  const { edge, held, target } = await start()
  const tunnel = await openTunnel(target)
  const events = await speak(target, `GET /held HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
  const response = await held
  response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n')
  await events.until('data: 1\n\n')
  const stopped = edge.stop(5_000)
  tunnel.socket.write('still here')
  await tunnel.until('still here')
  await stopped
  await Promise.all([tunnel.closed(), events.closed()])
  await expect.poll(() => edge.report()).toMatchObject({ http1Connections: 0, http2Connections: 0, tunnels: 0 })
})

/** A WebSocket, an event stream and what waits for its answer, over both protocols; resolves with what ends it all from the visitors' side. */
async function openLasting({ edge, held, target }: Awaited<ReturnType<typeof start>>): Promise<() => void> {
  const readers = [await openTunnel(target), await speak(target, `GET /held HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)]
  const response = await held
  response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n')
  await readers[1]!.until('data: 1\n\n')
  readers.push(await speak(target, `GET /held HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`))
  const session = await openHttp2(target)
  session.on('error', () => {})
  session.request({ ':path': '/held', ':authority': HOST }).on('error', () => {})
  await expect.poll(async () => (await edge.report()).exchanges).toBe(4)
  return () => {
    for (const { socket } of readers) socket.destroy()
    session.destroy()
  }
}

const linesOf = ({ lines }: TestEdge) =>
  lines.filter(({ msg }) => msg === 'request').map(({ path, status, error }) => `${path} ${status} ${error}`)

test('many tunnels and event streams do not end all at once but in the last third of the time; other answers have all of it', async () => {
  const { edge, held, target } = await start()
  const long = await speak(target, `GET /held HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
  ;(await held).writeHead(200, { 'content-type': 'text/html' }).write('begun')
  await long.until('begun')
  long.socket.setTimeout(0)
  let ended = 0
  const note = ({ socket }: RawReader) => socket.setTimeout(0).once('close', () => (ended += 1)) // a slow machine keeps them silent for long
  for (let i = 0; i < 20; i += 1) {
    note(await openTunnel(target))
    const events = await speak(target, `GET /events HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
    await events.until('data: 1')
    note(events)
  }
  const stopped = edge.stop(6_000)
  await new Promise((resolve) => setTimeout(resolve, 3_000))
  expect(ended).toBe(0)
  await expect.poll(() => ended, { timeout: 6_000 }).toBeGreaterThan(0)
  expect([long.socket.closed, ended < 40]).toEqual([false, true])
  await stopped
  await expect.poll(() => ended).toBe(40)
  expect(linesOf(edge).filter((line) => line.endsWith('edge-stopped')).length).toBe(41)
})

test('what is cut at the end has its line in the log once the edge has stopped, and no visitor is said to have gone', async () => {
  const started = await start()
  await openLasting(started)
  await started.edge.stop(100)
  const cut = ['/held 0 edge-stopped', '/held 0 edge-stopped', '/held 200 edge-stopped', '/ws 101 edge-stopped']
  expect(linesOf(started.edge).sort()).toEqual(cut)
})

test('whoever leaves last has its line in the log once the edge has stopped', async () => {
  const started = await start()
  const leave = await openLasting(started)
  const stopped = started.edge.stop(60_000)
  leave()
  await stopped
  const gone = ['/held 0 visitor-gone', '/held 0 visitor-gone', '/held 200 visitor-gone', '/ws 101 undefined']
  expect(linesOf(started.edge).sort()).toEqual(gone)
})

test('an idle edge stops at once, and an address in use is an error that leaves nothing open', async () => {
  const { edge } = await start()
  await expect(
    startTestEdge({ listen: { http: [{ host: '127.0.0.1', port: 0 }], https: [{ host: '127.0.0.1', port: edge.httpsPort }] } }),
  ).rejects.toMatchObject({ code: 'EADDRINUSE' })
  await edge.stop(60_000)
})

test('requests through many connections while the edge stops are all answered or never begun', async () => {
  const { edge, target } = await start()
  const readers = await Promise.all(Array.from({ length: 20 }, async () => new RawReader(await openTls(target))))
  const outcomes = readers.map(async (reader) => {
    let answered = 0
    for (;;) {
      reader.socket.write(`GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
      const answer = await reader.answer()
      expect(answer.status).toBe(200)
      answered += 1
      if (answer.field('connection') === 'close') return answered
    }
  })
  await new Promise((resolve) => setTimeout(resolve, 100))
  await edge.stop(10_000)
  for (const answered of await Promise.all(outcomes)) expect(answered).toBeGreaterThan(0)
})
