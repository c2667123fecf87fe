import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { startTestEdge, type TestEdge } from '../../../test/support/edge.ts'
import {
  CONTINUATION,
  DATA,
  frame,
  GOAWAY,
  HEADERS,
  literals,
  PING,
  PRIORITY,
  RawHttp2,
  RST_STREAM,
  requestBlock,
  SETTINGS,
  WINDOW_UPDATE,
  word,
} from '../../../test/support/http2-frames.ts'
import { openHttp2, openTls, requestHttp2 } from '../../../test/support/raw-visitor.ts'
import { startUpstream, type Upstream } from '../../../test/support/upstream.ts'
import type { Timeouts } from '../timeouts.ts'

const HOST = 'shop.customer.com'
const ENHANCE_YOUR_CALM = 11
const COMPRESSION_ERROR = 9
const CPU_MS_MAX = 1_500 // prototypes spent 1 to 82; this machine and this process do other things too

let edge: TestEdge
let upstream: Upstream
const sessions: { destroy(): void }[] = []

beforeAll(async () => {
  upstream = await startUpstream()
  edge = await startTestEdge({ http2Engine: 'own' })
  await edge.route(HOST, upstream.url)
})
afterEach(() => {
  for (const session of sessions.splice(0)) session.destroy()
})
afterAll(async () => {
  await edge.stop(1_000)
  await upstream.stop()
})
const targetOf = (to: TestEdge) => ({ port: to.httpsPort, hostname: HOST, ca: to.ca.certPem })
async function open(settings?: number[], to = edge): Promise<RawHttp2> {
  const visitor = await RawHttp2.open(targetOf(to), settings)
  sessions.push(visitor.socket)
  return visitor
}
async function ask(path = '/') {
  const session = await openHttp2(targetOf(edge))
  sessions.push(session)
  return requestHttp2(session, { ':path': path, ':authority': HOST })
}
async function startWith(timeouts: Partial<Timeouts>): Promise<TestEdge> {
  const impatient = await startTestEdge({ http2Engine: 'own', timeouts })
  sessions.push({ destroy: () => void impatient.stop(0) })
  await impatient.route(HOST, upstream.url)
  return impatient
}

const GET = requestBlock(HOST)
const POST = requestBlock(HOST, { method: 'POST', path: '/never' })
const id = (i: number) => 2 * i + 1

/** What the i-th write of each attack is. */
const ATTACKS: [name: string, code: number, attack: (i: number) => Buffer[]][] = [
  ['requests that are taken back', ENHANCE_YOUR_CALM, (i) => [frame(HEADERS, 5, id(i), GET), frame(RST_STREAM, 0, id(i), word(8))]],
  ['SETTINGS', ENHANCE_YOUR_CALM, () => [frame(SETTINGS, 0, 0)]],
  ['SETTINGS of a thousand entries', ENHANCE_YOUR_CALM, () => [frame(SETTINGS, 0, 0, Buffer.alloc(6_000))]],
  ['PING', ENHANCE_YOUR_CALM, () => [frame(PING, 0, 0, Buffer.alloc(8))]],
  ['answers to a PING that nobody sent', ENHANCE_YOUR_CALM, () => [frame(PING, 1, 0, Buffer.alloc(8))]],
  ['PRIORITY', ENHANCE_YOUR_CALM, (i) => [frame(PRIORITY, 0, id(i), Buffer.alloc(5))]],
  ['frames of an unknown kind', ENHANCE_YOUR_CALM, () => [frame(99, 0, 0)]],
  ['empty DATA', ENHANCE_YOUR_CALM, (i) => [i === 0 ? frame(HEADERS, 4, 1, POST) : frame(DATA, 0, 1)]],
  ['DATA of padding alone', ENHANCE_YOUR_CALM, (i) => [i === 0 ? frame(HEADERS, 4, 1, POST) : frame(DATA, 8, 1, [3, 0, 0, 0])]],
  ['malformed requests', ENHANCE_YOUR_CALM, (i) => [frame(HEADERS, 5, id(i), literals(':method', 'GET'))]],
  ['more streams than allowed', ENHANCE_YOUR_CALM, (i) => [frame(HEADERS, 4, id(i), POST)]],
  [
    'CONTINUATION without end',
    ENHANCE_YOUR_CALM,
    (i) => [i === 0 ? frame(HEADERS, 1, 1, GET) : frame(CONTINUATION, 0, 1, Buffer.alloc(16_000, 0x82))],
  ],
  ['empty CONTINUATION without end', ENHANCE_YOUR_CALM, (i) => [i === 0 ? frame(HEADERS, 1, 1, GET) : frame(CONTINUATION, 0, 1)]],
  [
    'WINDOW_UPDATE of streams by nothing',
    ENHANCE_YOUR_CALM,
    (i) => [frame(HEADERS, 4, id(i), POST), frame(WINDOW_UPDATE, 0, id(i), word(0))],
  ],
  [
    'changes of the table within a block',
    COMPRESSION_ERROR,
    (i) => [frame(HEADERS, 5, id(i), Buffer.concat([GET, Buffer.alloc(10, 0x20)]))],
  ],
]

test.each(ATTACKS)('a flood of %s ends the connection, costs little, and others are served meanwhile', async (_name, code, attack) => {
  const connectionsBefore = upstream.connections()
  const visitor = await open()
  const before = process.cpuUsage()
  const other = ask()
  for (let i = 0, open = true; open && i < 100_000; i += 50) {
    const frames = Array.from({ length: 50 }, (_, k) => attack(i + k)).flat()
    if (!visitor.send(...frames)) await visitor.drained()
    await new Promise((resolve) => setImmediate(resolve))
    open = visitor.socket.writable && !visitor.frames.some(({ type }) => type === GOAWAY)
  }
  expect(await visitor.goaway()).toBe(code)
  const { user, system } = process.cpuUsage(before)
  expect((user + system) / 1_000).toBeLessThan(CPU_MS_MAX)
  expect((await other).headers[':status']).toBe(200)
  expect((await ask()).headers[':status']).toBe(200)
  expect(upstream.connections() - connectionsBefore).toBeLessThan(270)
  await visitor.closed()
})

test('who opens the connection’s window again and again, while all its streams wait for theirs, costs little', async () => {
  const visitor = await open([0, 4, 0, 0, 0, 0])
  visitor.send(...Array.from({ length: 200 }, (_, i) => frame(HEADERS, 5, id(i), requestBlock(HOST, { path: '/bytes?count=100' }))))
  const heads = () => visitor.frames.filter(({ type }) => type === HEADERS).length
  await expect.poll(heads).toBe(200)
  const before = process.cpuUsage()
  const updates = Buffer.concat(Array.from({ length: 1_000 }, () => frame(WINDOW_UPDATE, 0, 0, word(1))))
  for (let i = 0; i < 200; i += 1) {
    if (!visitor.send(updates)) await visitor.drained()
    await new Promise((resolve) => setImmediate(resolve))
  }
  expect((await ask()).headers[':status']).toBe(200)
  visitor.send(frame(PING, 0, 0, Buffer.alloc(8)))
  await visitor.until(({ type, flags }) => type === PING && flags === 1) // by then it has read them all
  const { user, system } = process.cpuUsage(before)
  expect((user + system) / 1_000).toBeLessThan(CPU_MS_MAX)
})

test('requests that are taken back in the same breath reach no upstream', async () => {
  const untouched = await startUpstream()
  sessions.push({ destroy: () => void untouched.stop() })
  const front = await startWith({})
  await front.route(HOST, untouched.url)
  const visitor = await open(undefined, front)
  visitor.send(...Array.from({ length: 190 }, (_, i) => [frame(HEADERS, 5, id(i), GET), frame(RST_STREAM, 0, id(i), word(8))]).flat())
  visitor.send(frame(HEADERS, 5, id(200), GET))
  await visitor.until(({ type, streamId }) => type === DATA && streamId === id(200))
  expect(untouched.connections()).toBeLessThan(5) // one, and one more for each place where the network has cut the breath in two
})

test('a list of fields that unpacks to megabytes is 431, and the connection goes on', async () => {
  const visitor = await open()
  const large = Buffer.concat([Buffer.from([0x40, 1, 0x78, 0x7f, 0x81, 0x1e]), Buffer.alloc(127 + 0x81 - 128 + 0x1e * 128, 'v')])
  visitor.send(frame(HEADERS, 5, 1, Buffer.concat([GET, large.subarray(0, 6), Buffer.alloc(large.length - 6, 'v')])))
  visitor.send(frame(HEADERS, 5, 3, Buffer.concat([GET, Buffer.alloc(15_000, 0xbe)])))
  const answer = await visitor.until(({ type, streamId }) => type === HEADERS && streamId === 3)
  expect(answer.payload.subarray(0, 5).toString('latin1')).toContain('431')
  visitor.send(frame(HEADERS, 5, 5, GET))
  expect((await visitor.until(({ type, streamId }) => type === HEADERS && streamId === 5)).payload[0]).toBe(0x88)
})

test('an answer that is asked for byte by byte is not given', async () => {
  const visitor = await open([0, 4, 0, 0, 0, 0])
  visitor.send(frame(HEADERS, 5, 1, requestBlock(HOST, { path: '/bytes?count=100000' })))
  await visitor.until(({ type }) => type === HEADERS)
  for (let i = 0; visitor.socket.writable && i < 20_000; i += 1) {
    visitor.send(frame(WINDOW_UPDATE, 0, 1, word(1)))
    if (i % 100 === 0) await new Promise((resolve) => setImmediate(resolve))
  }
  expect(await visitor.goaway()).toBe(ENHANCE_YOUR_CALM)
})

test('who asks for large answers and never reads costs a bounded pile, and is let go', async () => {
  const impatient = await startWith({ bodyIdleMs: 1_000 })
  const visitor = await open([0, 4, 0x7f, 0xff, 0xff, 0xff], impatient)
  visitor.socket.pause()
  const before = upstream.connections()
  const memoryBefore = process.memoryUsage().rss
  visitor.send(frame(WINDOW_UPDATE, 0, 0, word(2 ** 30)))
  for (let i = 0; i < 250; i += 1) visitor.send(frame(HEADERS, 5, id(i), requestBlock(HOST, { path: '/bytes?count=10000000' })))
  await expect.poll(() => upstream.connections()).toBeGreaterThan(before)
  await expect.poll(async () => (await impatient.report()).http2Connections).toBe(0)
  expect(process.memoryUsage().rss - memoryBefore).toBeLessThan(300_000_000) // the upstreams are in this process too
})

test.each([
  ['nothing at all', []],
  ['half a preface', [Buffer.from('PRI * HTT')]],
] as const)('who says %s within the time for a head is let go', async (_name, bytes) => {
  const impatient = await startWith({ requestHeadMs: 300, keepAliveMs: 60_000 })
  const socket = await openTls({ ...targetOf(impatient), more: { ALPNProtocols: ['h2'] } })
  socket.resume()
  for (const part of bytes) socket.write(part)
  await once(socket, 'close')
})

test.each([
  ['a head that waits for its CONTINUATION', frame(HEADERS, 1, 3, GET)],
  ['half of a frame', frame(HEADERS, 5, 3, GET).subarray(0, 20)],
])('%s has the time for a head, even while another stream runs', async (_name, bytes) => {
  const impatient = await startWith({ requestHeadMs: 300, keepAliveMs: 60_000 })
  const visitor = await open(undefined, impatient)
  visitor.send(frame(HEADERS, 5, 1, requestBlock(HOST, { path: '/never' })), bytes)
  expect(await visitor.goaway()).toBe(0)
  await visitor.closed()
})

test('an idle connection ends with GOAWAY, whatever PINGs come', async () => {
  const impatient = await startWith({ keepAliveMs: 2_000 })
  const visitor = await open(undefined, impatient)
  visitor.send(frame(HEADERS, 5, 1, GET))
  await visitor.until(({ type, streamId }) => type === DATA && streamId === 1)
  const pings = setInterval(() => visitor.send(frame(PING, 0, 0, Buffer.alloc(8))), 100)
  expect(await visitor.goaway()).toBe(0)
  clearInterval(pings)
  await visitor.closed()
})

test('a draining edge says so twice: no more streams soon, and the last one that it takes', async () => {
  const leaving = await startWith({})
  const visitor = await open(undefined, leaving)
  visitor.send(frame(HEADERS, 4, 1, requestBlock(HOST, { method: 'POST' })))
  await expect.poll(async () => (await leaving.report()).exchanges).toBe(1)
  const stopped = leaving.stop(10_000)
  const ping = await visitor.until(({ type, flags }) => type === PING && flags === 0)
  visitor.send(frame(HEADERS, 5, 3, GET), frame(PING, 1, 0, ping.payload))
  await visitor.until(({ type, payload }) => type === GOAWAY && payload.readUInt32BE() === 3)
  visitor.send(frame(HEADERS, 5, 5, GET))
  expect((await visitor.until(({ type, streamId }) => type === RST_STREAM && streamId === 5)).payload.readUInt32BE()).toBe(7)
  visitor.send(frame(DATA, 1, 1, Buffer.from('late')))
  for (const stream of [1, 3]) await visitor.until(({ type, flags, streamId }) => type === DATA && streamId === stream && flags === 1)
  await stopped
  expect(visitor.frames.filter(({ type }) => type === GOAWAY).map(({ payload }) => payload.readUInt32BE())).toEqual([2 ** 31 - 1, 3])
})

test('a visitor that shrinks its table hears that ours is empty', async () => {
  const visitor = await open([0, 1, 0, 0, 0, 0])
  visitor.send(frame(HEADERS, 5, 1, GET))
  expect((await visitor.until(({ type }) => type === HEADERS)).payload.subarray(0, 2)).toEqual(Buffer.from([0x20, 0x88]))
})

test('an upload that was answered early may send on what was on its way', async () => {
  const visitor = await open()
  const unknown = requestBlock('other.example.com', { method: 'POST' })
  visitor.send(frame(HEADERS, 4, 1, unknown), ...Array.from({ length: 60 }, () => frame(DATA, 0, 1, Buffer.alloc(1_000))))
  expect((await visitor.until(({ type }) => type === RST_STREAM)).payload.readUInt32BE()).toBe(0)
  visitor.send(frame(DATA, 1, 1, Buffer.alloc(1_000)), frame(HEADERS, 5, 3, GET))
  await visitor.until(({ type, streamId }) => type === DATA && streamId === 3)
  expect(visitor.frames.filter(({ type }) => type === GOAWAY)).toEqual([])
})

test('curl gets answers, uploads and trailers over HTTP/2', async () => {
  const url = (path: string) => [
    `https://${HOST}:${edge.httpsPort}${path}`,
    '--connect-to',
    `${HOST}:${edge.httpsPort}:127.0.0.1:${edge.httpsPort}`,
  ]
  const curl = async (...args: string[]) => (await promisify(execFile)('curl', ['-sk', '--http2', '--max-time', '10', ...args])).stdout
  expect(await curl('-w', '%{http_version} %{http_code}', '-o', '/dev/null', ...url('/bytes?count=1000000'))).toBe('2 200')
  expect(JSON.parse(await curl('-d', 'x=1', ...url('/x')))).toMatchObject({ method: 'POST', body: 'x=1' })
  expect(JSON.parse(await curl('-H', 'Expect: 100-continue', '-d', 'y'.repeat(100_000), ...url('/x'))).body).toHaveLength(100_000)
  expect(await curl('-D', '-', '-o', '/dev/null', ...url('/trailers'))).toContain('x-checksum')
})

test('what a stream or a connection ends for is counted by its error code', async () => {
  const counted = async (kind: string, code: string) =>
    Number(
      new RegExp(`^namesake_edge_http2_errors_total\\{frame="${kind}",code="${code}"\\} (\\d+)$`, 'm').exec(await edge.metrics())?.[1] ?? 0,
    )
  const streams = await counted('RST_STREAM', 'PROTOCOL_ERROR')
  const connections = await counted('GOAWAY', 'FRAME_SIZE_ERROR')
  const visitor = await open()
  visitor.send(frame(HEADERS, 0x5, 1, literals(':method', 'GET', ':scheme', 'https', ':authority', HOST)))
  await visitor.until(({ type, streamId }) => type === RST_STREAM && streamId === 1)
  visitor.send(frame(PING, 0, 0, word(1)))
  await visitor.until(({ type }) => type === GOAWAY)
  expect(await counted('RST_STREAM', 'PROTOCOL_ERROR')).toBe(streams + 1)
  expect(await counted('GOAWAY', 'FRAME_SIZE_ERROR')).toBe(connections + 1)
})

test('h2load is answered without a failure', async () => {
  const { stdout } = await promisify(execFile)('h2load', [
    '-n',
    '2000',
    '-c',
    '8',
    '-m',
    '16',
    '--connect-to',
    `127.0.0.1:${edge.httpsPort}`,
    `https://${HOST}:${edge.httpsPort}/`,
  ])
  expect(stdout).toContain('2000 succeeded, 0 failed, 0 errored, 0 timeout')
})
