import { once } from 'node:events'
import { createServer, type Http2Server, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2'
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net'
import { PassThrough } from 'node:stream'
import fc from 'fast-check'
import { afterEach, expect, test, vi } from 'vitest'
import {
  CONTINUATION,
  DATA,
  frame,
  GOAWAY,
  HEADERS,
  literals,
  PING,
  RST_STREAM,
  SETTINGS,
  WINDOW_UPDATE,
  word,
} from '../../test/support/http2-frames.ts'
import type { InterimHead, ParsedHead } from './answer-parser.ts'
import type { Fields, RequestBody } from './engine.ts'
import { STREAM_WINDOW_BYTES, STREAM_WINDOW_BYTES_MAX } from './http2/settings.ts'
import { bodyOfStream } from './stream-body.ts'
import { TIMEOUTS, type Timeouts } from './timeouts.ts'
import { createTurn } from './turn.ts'
import { readUpstream, type UpstreamFailure } from './upstream.ts'
import { createUpstreamHttp2Pools } from './upstream-http2-pools.ts'
import type { UpstreamHttp2Request } from './upstream-http2-request.ts'
import type { Broken, UpstreamListener } from './upstream-listener.ts'
import type { UpstreamRequest } from './upstream-request.ts'
import { createUpstreamRoom } from './upstream-room.ts'
import type { Asking } from './upstream-share.ts'

const ends: (() => void)[] = []
afterEach(() => {
  for (const end of ends.splice(0)) end()
})

type Answer = {
  status: number
  body: string
  trailers: Fields
  interim: number[]
  failure: UpstreamFailure | undefined
  kind?: Broken['kind']
}

/** What becomes of one request, as its visitor would see it. */
class Visit implements UpstreamListener {
  readonly answer: Answer = { status: 0, body: '', trailers: [], interim: [], failure: undefined }
  readonly chunks: Buffer[] = []
  head: ParsedHead | undefined
  bytes = 0
  readonly #done = Promise.withResolvers<Answer>()
  readonly headCame = Promise.withResolvers<ParsedHead>()
  onChunk: (() => void) | undefined

  get done(): Promise<Answer> {
    return this.#done.promise
  }
  onInterim({ status }: InterimHead) {
    this.answer.interim.push(status)
  }
  onHead(head: ParsedHead) {
    this.head = head
    this.answer.status = head.status
    this.headCame.resolve(head)
  }
  onData(chunk: Buffer) {
    this.chunks.push(chunk)
    this.bytes += chunk.length
    this.onChunk?.()
  }
  onEnd(trailers: Fields) {
    this.#done.resolve({ ...this.answer, body: Buffer.concat(this.chunks).toString(), trailers })
  }
  onUpgrade() {}
  onBroken(broken: Broken) {
    this.#done.resolve({ ...this.answer, ...broken })
  }
}

/** An upstream of node:http2 in plain text, and a way to it. */
async function startUpstream(
  onStream: (stream: ServerHttp2Stream, headers: Record<string, string>) => void,
  more: { settings?: { maxConcurrentStreams?: number }; timeouts?: Partial<Timeouts> } = {},
) {
  const server = createServer({ settings: more.settings ?? {} })
  const sessions: ServerHttp2Session[] = []
  server.on('session', (session) => sessions.push(session))
  server.on('stream', (stream, headers) =>
    onStream(
      stream.on('error', () => {}),
      headers as Record<string, string>,
    ),
  )
  return { server, sessions, ...(await waysTo(server, more.timeouts)) }
}

async function waysTo(server: Http2Server | ReturnType<typeof createTcpServer>, timeouts: Partial<Timeouts> = {}) {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const upstream = readUpstream(`http://127.0.0.1:${port}`, 'h2c', '1')
  const pools = createUpstreamHttp2Pools({
    room: createUpstreamRoom(),
    turn: createTurn(),
    timeouts: { ...TIMEOUTS, ...timeouts },
    async connect() {
      const socket = connect(port, '127.0.0.1')
      await once(socket, 'connect')
      return socket
    },
  })
  ends.push(() => pools.destroy())
  ends.push(() => server.close())
  type Begun = { visit: Visit; channel: UpstreamHttp2Request }
  const begin = async (request: Partial<UpstreamRequest> = {}, load?: Asking['load']): Promise<Begun> => {
    const channel = await pools.acquire(upstream, { load, hasBody: request.body !== undefined })
    const visit = new Visit()
    channel.send(requestOf(request), visit)
    return { visit, channel }
  }
  const ask = async (request: Partial<UpstreamRequest> = {}, load?: Asking['load']) => (await begin(request, load)).visit.done
  return { pools, upstream, begin, ask, port }
}

function answerOk(stream: ServerHttp2Stream): void {
  stream.respond({ ':status': 200 })
  stream.end('ok')
}

function fieldsOf(list: Fields): UpstreamRequest['fields'] {
  return { list, addTo: () => {} }
}

function requestOf(more: Partial<UpstreamRequest>): UpstreamRequest {
  const plain = { method: 'GET', target: '/', authority: 'shop.customer.com', fields: fieldsOf([]), body: undefined }
  return { ...plain, expectsContinue: false, upgrade: undefined, said: { acceptsTrailers: false, authenticatesConnection: false }, ...more }
}

function bodyOf(stream: PassThrough, trailers: Fields = [], length?: number): RequestBody {
  return bodyOfStream(stream, length, () => trailers)
}

test('a request crosses with its fields and body, and its answer with body and trailers', async () => {
  let seen: Record<string, string> = {}
  let trailersSeen: unknown
  const { ask } = await startUpstream((stream, headers) => {
    seen = headers
    stream.on('trailers', (trailers) => (trailersSeen = { ...trailers }))
    stream.respond({ ':status': 201, 'x-answer': 'a' }, { waitForTrailers: true })
    stream.on('wantTrailers', () => stream.sendTrailers({ 'x-sum': '7' }))
    stream.pipe(stream)
  })
  const stream = new PassThrough()
  const answering = ask({
    method: 'POST',
    target: '/a?b',
    fields: fieldsOf(['X-One', '1', 'cookie', 'a=b']),
    said: { acceptsTrailers: true, authenticatesConnection: false },
    body: bodyOf(stream, ['x-end', 'e']),
  })
  stream.write('first ')
  stream.end('last')
  const answer = await answering
  expect(seen).toMatchObject({
    ':method': 'POST',
    ':path': '/a?b',
    ':authority': 'shop.customer.com',
    ':scheme': 'http',
    'x-one': '1',
    te: 'trailers',
    cookie: 'a=b',
  })
  expect(trailersSeen).toMatchObject({ 'x-end': 'e' })
  expect(answer).toMatchObject({ status: 201, body: 'first last', trailers: ['x-sum', '7'], failure: undefined })
})

test('an answer begins before its request has ended, and both go on', async () => {
  const { begin } = await startUpstream((stream) => {
    stream.respond({ ':status': 200 })
    stream.on('data', (chunk) => stream.write(`<${chunk}>`))
    stream.on('end', () => stream.end('!'))
  })
  const stream = new PassThrough()
  const { visit } = await begin({ method: 'POST', body: bodyOf(stream) })
  await visit.headCame.promise
  for (const word of ['one', 'two', 'three']) {
    const echoed = new Promise<void>((resolve) => (visit.onChunk = resolve))
    stream.write(word)
    await echoed
    expect(visit.chunks.at(-1)!.toString()).toBe(`<${word}>`)
  }
  stream.end()
  expect((await visit.done).body).toBe('<one><two><three>!')
})

test('an answer that is complete with its head has neither body nor trailers', async () => {
  const { ask, begin } = await startUpstream((stream, headers) => {
    stream.respond({ ':status': headers[':method'] === 'HEAD' ? 200 : 204, 'content-length': '5' }, { endStream: true })
  })
  expect(await ask({ method: 'HEAD' })).toMatchObject({ status: 200, body: '', trailers: [] })
  const { visit } = await begin()
  await visit.done
  expect(visit.head).toMatchObject({ status: 204, body: 'none' })
})

test('interim answers are told, and the answer follows', async () => {
  const { ask } = await startUpstream((stream) => {
    stream.additionalHeaders({ ':status': 103, link: '</a.css>' })
    answerOk(stream)
  })
  expect(await ask()).toMatchObject({ status: 200, body: 'ok', interim: [103] })
})

test('requests share one connection up to what the upstream allows, and a further one is opened then', async () => {
  const held: ServerHttp2Stream[] = []
  const { begin, pools, sessions } = await startUpstream((stream) => void held.push(stream), { settings: { maxConcurrentStreams: 3 } })
  const visits = await Promise.all(Array.from({ length: 3 }, () => begin()))
  expect(pools.counts()).toEqual({ pools: 1, connections: 1, idle: 0 })
  visits.push(await begin())
  expect(pools.counts().connections).toBe(2)
  await expect.poll(() => held.length).toBe(4)
  expect(sessions.length).toBe(2)
  for (const stream of held) {
    stream.respond({ ':status': 200 })
    stream.end('ok')
  }
  for (const { visit } of visits) expect((await visit.done).body).toBe('ok')
  expect(pools.counts().idle).toBe(2)
})

test('a visitor that takes nothing stops its own answer after one window, all of which lies with the visitor, and no other', async () => {
  let written = 0
  const { begin, ask } = await startUpstream((stream, headers) => {
    stream.respond({ ':status': 200 })
    if (headers[':path'] === '/small') return void stream.end('small')
    const chunk = Buffer.alloc(16_384, 'x')
    const more = () => {
      while (!stream.destroyed && written < 64 * 1024 * 1024) {
        written += chunk.length
        if (!stream.write(chunk)) return
      }
      stream.end()
    }
    stream.on('drain', more)
    more()
  })
  const { visit, channel } = await begin()
  await visit.headCame.promise
  channel.pause({ bytesSent: 0 })
  const before = visit.bytes
  for (let i = 0; i < 20; i += 1) expect((await ask({ target: '/small' })).body).toBe('small')
  expect(visit.bytes - before).toBeGreaterThanOrEqual(STREAM_WINDOW_BYTES / 2)
  expect(visit.bytes - before).toBeLessThanOrEqual(STREAM_WINDOW_BYTES_MAX)
  expect(written).toBeLessThan(1024 * 1024)
  channel.resume()
  await expect.poll(() => visit.bytes).toBeGreaterThan(1024 * 1024)
  channel.destroy()
})

test('an upstream that reads nothing of a body is sent one window of it, and the visitor is held back', async () => {
  const { begin } = await startUpstream((stream) => void stream.pause())
  const stream = new PassThrough({ highWaterMark: 16_384 })
  const { channel } = await begin({ method: 'POST', body: bodyOf(stream) })
  let taken = 0
  while (stream.write(Buffer.alloc(16_384))) {
    taken += 16_384
    await new Promise((resolve) => setImmediate(resolve))
  }
  expect(taken).toBeLessThan(1024 * 1024)
  channel.destroy()
})

test('an upload that its application does not read stops neither those that come later nor what has no body', async () => {
  const { begin, ask, pools } = await startRaw((type, id, payload, socket, nth) => {
    if (type === HEADERS && payload.includes('GET')) socket.write(frame(HEADERS, 5, id, OK))
    if (type !== DATA || (nth === 0 && id === 1)) return
    if (payload.length === 0) socket.write(frame(HEADERS, 5, id, OK))
    else socket.write(Buffer.concat([frame(WINDOW_UPDATE, 0, 0, word(payload.length)), frame(WINDOW_UPDATE, 0, id, word(payload.length))]))
  })
  const upload = (bytes: number) => {
    const body = new PassThrough()
    body.end(Buffer.alloc(bytes))
    return begin({ method: 'POST', body: bodyOf(body) })
  }
  await upload(100_000)
  let answered = 0
  const uploadOne = async () => {
    const { visit } = await upload(5)
    if ((await visit.done).status === 200) answered += 1
  }
  const uploadsAnswered = () => {
    void uploadOne()
    return answered
  }
  await expect.poll(uploadsAnswered, { interval: 250 }).toBeGreaterThan(0)
  expect(pools.counts().connections).toBe(2)
  expect(await ask()).toMatchObject({ status: 200 })
})

test('where no further connection is to be had, an upload waits behind the one that its application does not read', async () => {
  let first: Socket | undefined
  const { begin, server } = await startRaw(
    (type, id, payload, socket) => {
      first = socket
      if (type === DATA && payload.length === 0) socket.write(frame(HEADERS, 5, id, OK))
    },
    { connectMs: 1_000 },
  )
  const upload = (bytes: number) => {
    const body = new PassThrough()
    body.end(Buffer.alloc(bytes))
    return begin({ method: 'POST', body: bodyOf(body) })
  }
  await upload(100_000)
  server.close()
  await new Promise((resolve) => setTimeout(resolve, 1_500))
  const { visit } = await upload(5)
  first!.write(frame(WINDOW_UPDATE, 0, 0, word(2 ** 20)))
  expect(await visit.done).toMatchObject({ status: 200 })
})

test('a large body crosses whole both ways', async () => {
  const { ask } = await startUpstream((stream) => {
    stream.respond({ ':status': 200 })
    stream.pipe(stream)
  })
  const bytes = Buffer.alloc(4 * 1024 * 1024, 'namesake')
  const stream = new PassThrough()
  stream.end(bytes)
  const answer = await ask({ method: 'POST', body: bodyOf(stream, [], bytes.length) })
  expect(answer.body === bytes.toString()).toBe(true)
})

test('a visitor that leaves cancels its stream, and the connection serves on', async () => {
  const codes: number[] = []
  const { begin, ask, pools } = await startUpstream((stream, headers) => {
    if (headers[':path'] === '/ok') return answerOk(stream)
    stream.on('close', () => codes.push(stream.rstCode))
  })
  const { channel } = await begin()
  expect((await ask({ target: '/ok' })).body).toBe('ok')
  channel.destroy()
  await expect.poll(() => codes).toEqual([8])
  expect((await ask({ target: '/ok' })).body).toBe('ok')
  expect(pools.counts().connections).toBe(1)
})

test('a connection on which much was cancelled is replaced before its upstream minds', async () => {
  const { begin, ask, sessions } = await startUpstream((stream, headers) => {
    if (headers[':path'] === '/ok') return answerOk(stream)
  })
  for (let i = 0; i < 350; i += 1) (await begin()).channel.destroy()
  expect((await ask({ target: '/ok' })).body).toBe('ok')
  expect(sessions.length).toBeGreaterThanOrEqual(4)
})

test('an upstream that goes away takes no new requests, and answers those that it has', async () => {
  const held: ServerHttp2Stream[] = []
  const { begin, ask, sessions } = await startUpstream((stream, headers) => {
    if (headers[':path'] === '/held') held.push(stream)
    else answerOk(stream)
  })
  const { visit, channel } = await begin({ target: '/held' })
  await expect.poll(() => held.length).toBe(1)
  sessions[0]!.goaway(0, 1)
  await expect.poll(() => channel.isUsable).toBe(false)
  expect((await ask()).body).toBe('ok')
  expect(sessions.length).toBe(2)
  held[0]!.respond({ ':status': 200 })
  held[0]!.end('held')
  expect((await visit.done).body).toBe('held')
})

test('an upstream that dies fails what it had, and the next request gets a new connection', async () => {
  const { begin, ask, sessions } = await startUpstream((stream, headers) => {
    if (headers[':path'] === '/die') return sessions[0]!.destroy()
    answerOk(stream)
  })
  const { visit } = await begin({ target: '/die' })
  expect((await visit.done).failure?.reason).toBe('reset')
  expect((await ask()).body).toBe('ok')
})

/** An upstream of bare frames: `onFrame` gets each but the preface. */
async function startRaw(
  onFrame: (type: number, streamId: number, payload: Buffer, socket: Socket, nth: number) => void,
  timeouts?: Partial<Timeouts>,
) {
  let count = 0
  const server = createTcpServer((socket) => {
    const nth = count++
    let bytes = Buffer.alloc(0)
    let isGreeted = false
    socket.on('error', () => {})
    socket.on('data', (chunk) => {
      bytes = Buffer.concat([bytes, chunk])
      if (!isGreeted && bytes.length >= 24) {
        isGreeted = true
        bytes = bytes.subarray(24)
        socket.write(frame(SETTINGS, 0, 0))
      }
      while (isGreeted && bytes.length >= 9 && bytes.length >= 9 + bytes.readUIntBE(0, 3)) {
        const end = 9 + bytes.readUIntBE(0, 3)
        onFrame(bytes[3]!, bytes.readUInt32BE(5), bytes.subarray(9, end), socket, nth)
        bytes = bytes.subarray(end)
      }
    })
    ends.push(() => socket.destroy())
  })
  return { server, ...(await waysTo(server, timeouts)) }
}

const OK = [0x88] // :status 200

test.each<[string, (socket: Socket, id: number) => void]>([
  ['it refuses the stream', (socket, id) => socket.write(frame(RST_STREAM, 0, id, word(7)))],
  ['it goes away below the stream', (socket) => socket.write(frame(GOAWAY, 0, 0, [...word(0), ...word(0)]))],
])('a request that the upstream has not looked at is sent again with its body: %s', async (_, refuse) => {
  let heads = 0
  let body = ''
  const { ask } = await startRaw((type, id, payload, socket) => {
    if (type === HEADERS) {
      heads += 1
      body = ''
    }
    if (type !== DATA) return
    body += payload.toString()
    if (body !== 'body') return
    if (heads === 1) refuse(socket, id)
    else socket.write(frame(HEADERS, 5, id, OK))
  })
  const stream = new PassThrough()
  const answering = ask({ method: 'POST', body: bodyOf(stream) })
  stream.end('body')
  expect(await answering).toMatchObject({ status: 200, failure: undefined })
  expect(heads).toBe(2)
})

test('what an upstream said before it closed is heard, also where a write to it fails first', async () => {
  let first: Socket | undefined
  const { ask } = await startRaw((type, id, _payload, socket) => {
    first ??= socket
    if (type === HEADERS) socket.write(frame(HEADERS, 5, id, OK))
  })
  await ask() // the answer has just been read: the next look at the kernel comes behind what is sent now
  first!.setNoDelay().write(frame(GOAWAY, 0, 0, [...word(1), ...word(0)]))
  first!.resetAndDestroy()
  expect(await ask({ method: 'POST' })).toMatchObject({ status: 200, failure: undefined })
})

test('why an upstream ended its connection is told', async () => {
  const { ask } = await startRaw((type, _id, _payload, socket) => {
    if (type === HEADERS) socket.end(frame(GOAWAY, 0, 0, [...word(1), ...word(11)]))
  })
  expect((await ask()).failure?.message).toBe('the upstream closed the connection with ENHANCE_YOUR_CALM')
})

test('a request whose answer has begun is not sent again, whatever its upstream says of it', async () => {
  let heads = 0
  const { ask } = await startRaw((type, id, _payload, socket) => {
    if (type !== HEADERS) return
    heads += 1
    socket.write(Buffer.concat([frame(HEADERS, 4, id, OK), frame(GOAWAY, 0, 0, [...word(0), ...word(0)])]))
  })
  expect((await ask({ method: 'POST' })).failure?.reason).toBe('reset')
  expect(heads).toBe(1)
})

test('an upstream whose connections go away with long answers on them is served on further ones', async () => {
  const { begin, ask, pools } = await startRaw((type, id, _payload, socket, nth) => {
    if (type !== HEADERS) return
    const last = nth >= 250
    socket.write(
      last ? frame(HEADERS, 5, id, OK) : Buffer.concat([frame(HEADERS, 4, id, OK), frame(GOAWAY, 0, 0, [...word(id), ...word(0)])]),
    )
  })
  const visits: Visit[] = []
  for (let n = 0; n < 250; n += 1) {
    const { visit } = await begin()
    visits.push(visit)
    await visit.headCame.promise
  }
  expect((await ask()).status).toBe(200)
  // There is an end to it: the first ones are cut.
  expect((await visits[0]!.done).failure?.reason).toBe('reset')
  expect(pools.counts().connections).toBeLessThan(250)
})

test('a connection that is old takes no new requests, and answers those that it has', async () => {
  const held: ServerHttp2Stream[] = []
  const hold = (stream: ServerHttp2Stream) => (held.length === 0 ? void held.push(stream) : answerOk(stream))
  const { begin, ask, sessions } = await startUpstream(hold, { timeouts: { upstreamAgeMs: 0 } })
  const { visit } = await begin()
  await expect.poll(() => held.length).toBe(1)
  await expect.poll(async () => (await ask()).status && sessions.length).toBeGreaterThan(1)
  answerOk(held[0]!)
  expect(await visit.done).toMatchObject({ status: 200, body: 'ok' })
})

test('an upstream that allows no request at the moment is not connected to again and again', async () => {
  const sockets = new Set<Socket>()
  const { ask, pools } = await startRaw((type, id, _payload, socket) => {
    if (type === SETTINGS && !sockets.has(socket)) socket.write(frame(SETTINGS, 0, 0, [0, 3, 0, 0, 0, 0]))
    if (type === SETTINGS) sockets.add(socket)
    if (type === HEADERS) socket.write(frame(HEADERS, 5, id, OK))
  })
  expect((await ask()).status).toBe(200)
  await expect.poll(() => pools.counts().connections).toBe(1)
  // One client's, which has others already: its share is none of nothing.
  const waiting = [ask(), ask({}, { exchanges: 2, connections: 1, waiting: 0, held: 0 }), ask()]
  await new Promise((resolve) => setTimeout(resolve, 300))
  expect(sockets.size).toBe(1)
  for (const socket of sockets) socket.write(frame(SETTINGS, 0, 0, [0, 3, 0, 0, 0, 9]))
  for (const answer of await Promise.all(waiting)) expect(answer.status).toBe(200)
})

test('an upstream whose connections go away before they serve is not connected to again and again', async () => {
  let connections = 0
  const server = createTcpServer((socket) => {
    connections += 1
    socket.on('error', () => {})
    socket.end(Buffer.concat([frame(SETTINGS, 0, 0, [0, 3, 0, 0, 0, 0]), frame(GOAWAY, 0, 0, Buffer.alloc(8))]))
  })
  const { ask } = await waysTo(server)
  await expect(ask()).rejects.toMatchObject({ reason: 'reset' })
  expect(connections).toBeLessThan(5)
})

test('nor is one that turns connections away, while all it has are full', async () => {
  let connections = 0
  const http2 = createServer({ settings: { maxConcurrentStreams: 1 } })
  const held: ServerHttp2Stream[] = []
  http2.on('stream', (stream) => void held.push(stream.on('error', () => {})))
  const server = createTcpServer((socket) => {
    connections += 1
    if (connections === 1) http2.emit('connection', socket)
    else socket.on('error', () => {}).destroy()
  })
  const { begin, ask } = await waysTo(server)
  await begin()
  const waiting = ask()
  await new Promise((resolve) => setTimeout(resolve, 300))
  expect(connections).toBeLessThan(10)
  await expect.poll(() => connections).toBeGreaterThan(3) // it is tried again, though
  await expect.poll(() => held.length).toBe(1)
  answerOk(held[0]!)
  await expect.poll(() => held.length).toBe(2)
  answerOk(held[1]!)
  expect(await waiting).toMatchObject({ status: 200 })
})

test('a request that is refused again and again fails in the end', async () => {
  let heads = 0
  const { ask } = await startRaw((type, id, _payload, socket) => {
    if (type !== HEADERS) return
    heads += 1
    socket.write(frame(RST_STREAM, 0, id, word(7)))
  })
  expect((await ask()).failure?.reason).toBe('reset')
  expect(heads).toBe(3)
})

test.each<[string, (id: number) => Buffer]>([
  [
    'a body longer than announced',
    (id) => Buffer.concat([frame(HEADERS, 4, id, [0x88, 0x0f, 0x0d, 1, 0x31]), frame(0, 1, id, Buffer.from('22'))]),
  ],
  [
    'a body shorter than announced',
    (id) => Buffer.concat([frame(HEADERS, 4, id, [0x88, 0x0f, 0x0d, 1, 0x33]), frame(0, 1, id, Buffer.from('22'))]),
  ],
  ['a body before its head', (id) => frame(0, 1, id, Buffer.from('22'))],
  ['a head without a status', (id) => frame(HEADERS, 5, id, [0x0f, 0x0d, 1, 0x31])],
  ['a field of HTTP/1.1’s framing', (id) => frame(HEADERS, 5, id, [0x88, 0x0f, 0x2a, 7, ...Buffer.from('chunked')])],
  ['a 101', (id) => frame(HEADERS, 4, id, [0x08, 3, ...Buffer.from('101')])],
  ['a window opened too far', (id) => Buffer.concat([frame(8, 0, id, word(0x7fffffff)), frame(8, 0, id, word(0x7fffffff))])],
  ['an empty upper-case name', (id) => frame(HEADERS, 5, id, [0x88, 0x00, 1, 0x41, 1, 0x42])],
])('%s is a failed exchange of its stream alone', async (_, said) => {
  const { ask } = await startRaw((type, id, _payload, socket) => {
    if (type === HEADERS) socket.write(id === 1 ? said(id) : frame(HEADERS, 5, id, OK))
  })
  expect((await ask()).failure?.reason).toBe('malformed')
  expect((await ask()).status).toBe(200)
})

test('what a head says that is too large is known to the heads behind it', async () => {
  const remembered = [0x48, 3, ...Buffer.from('299')] // :status 299, which the next may say as the newest entry of the table
  const large = Buffer.concat([Buffer.from(OK), literals('x-large', 'x'.repeat(150_000)), Buffer.from(remembered)])
  const pieces = Array.from({ length: Math.ceil(large.length / 16_384) }, (_, n) => large.subarray(n * 16_384, (n + 1) * 16_384))
  const { ask } = await startRaw((type, id, _payload, socket) => {
    if (type !== HEADERS) return
    if (id > 1) return void socket.write(frame(HEADERS, 5, id, [0xbe]))
    pieces.forEach((piece, n) => {
      socket.write(frame(n === 0 ? HEADERS : CONTINUATION, (n === 0 ? 1 : 0) + (n === pieces.length - 1 ? 4 : 0), id, piece))
    })
  })
  expect((await ask()).failure).toMatchObject({ reason: 'malformed', message: expect.stringContaining('too large') })
  expect(await ask()).toMatchObject({ status: 299, failure: undefined })
})

const HONEST = (id: number) =>
  Buffer.concat([
    frame(PING, 0, 0, Buffer.from('12345678')),
    frame(HEADERS, 4, id, [0x88, 0x0f, 0x0d, 1, 0x32]),
    frame(DATA, 0, id, [1]),
    frame(DATA, 1, id, [2]),
  ])

test('whatever an upstream makes of its frames, every request has an end, and the next connection serves', async () => {
  let mutate = (bytes: Buffer) => bytes
  const { ask } = await startRaw((type, id, _payload, socket) => {
    if (type === HEADERS && !socket.writableEnded) socket.end(mutate(HONEST(id)))
  })
  const mutation = fc.tuple(fc.nat(60), fc.nat(255), fc.nat(60))
  await fc.assert(
    fc.asyncProperty(mutation, async ([place, value, cut]) => {
      mutate = (bytes) => {
        bytes[place % bytes.length] = value
        return bytes.subarray(0, cut % 3 === 0 ? cut : bytes.length)
      }
      const { status, failure, body } = await ask()
      if (failure === undefined && status === 200) expect(body.length).toBeLessThanOrEqual(2)
    }),
    { numRuns: 300 },
  )
  mutate = (bytes) => bytes
  // The last mutation's connection may still be closing.
  await vi.waitFor(async () => expect(await ask()).toMatchObject({ status: 200, failure: undefined }), { timeout: 30_000 })
})

test('an upstream that speaks something else is told apart', async () => {
  const server = createTcpServer((socket) => {
    socket.on('error', () => {})
    socket.end('HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n')
  })
  const { begin } = await waysTo(server as never)
  await expect(begin()).rejects.toMatchObject({ reason: 'malformed', message: 'the upstream does not speak HTTP/2' })
})

test('an upstream that never greets is given up in time', async () => {
  const server = createTcpServer((socket) => void socket.on('error', () => {}).resume())
  const { begin, pools } = await waysTo(server as never, { connectMs: 1_000 })
  await expect(begin()).rejects.toMatchObject({ reason: 'timeout' })
  await expect.poll(() => pools.counts().pools).toBe(0)
})

test('a silent answer ends at its deadline, and its stream is cancelled', async () => {
  let code = 0
  const { ask } = await startUpstream((stream) => void stream.on('close', () => (code = stream.rstCode)), {
    timeouts: { answerHeadMs: 100 },
  })
  expect((await ask()).failure?.reason).toBe('timeout')
  await expect.poll(() => code).toBe(8)
})

test('an upstream that has vanished is asked by PING, and its connection given up', async () => {
  let isGone = false
  let pings = 0
  const { ask, pools } = await startRaw(
    (type, id, _payload, socket) => {
      if (isGone && type === PING) pings += 1
      if (!isGone && type === HEADERS) socket.write(frame(HEADERS, 5, id, OK))
    },
    { pingMs: 500 },
  )
  expect((await ask()).status).toBe(200)
  isGone = true
  expect((await ask()).failure).toMatchObject({ reason: 'timeout' })
  expect(pings).toBe(1)
  isGone = false
  expect((await ask()).status).toBe(200)
  await expect.poll(() => pools.counts().connections).toBe(1)
})

test('who comes while an upstream is asked whether it is still there goes to it on another connection', async () => {
  let asked = 0
  const { begin, ask, pools } = await startRaw(
    (type, id, _payload, socket, nth) => {
      if (nth === 0 && type === PING) asked += 1
      if (nth > 0 && type === HEADERS) socket.write(frame(HEADERS, 5, id, OK))
    },
    { pingMs: 1_000 },
  )
  const { visit } = await begin()
  await expect.poll(() => asked).toBe(1)
  expect(await ask()).toMatchObject({ status: 200 })
  expect((await visit.done).failure).toMatchObject({ reason: 'timeout' })
  await expect.poll(() => pools.counts().connections).toBe(1)
})

test('an upstream that vanishes while a visitor has more to say, or takes its time, is not the fault of the visitor', async () => {
  let isGone = false
  const { begin } = await startRaw(
    (type, id, payload, socket) => {
      if (isGone) return
      if (type === HEADERS) socket.write(frame(HEADERS, 4, id, OK))
      if (type === PING) socket.write(frame(PING, 1, 0, payload))
    },
    { pingMs: 500 },
  )
  const talking = new PassThrough()
  const [chat, download] = [await begin({ method: 'POST', body: bodyOf(talking) }), await begin()]
  await Promise.all([chat.visit.headCame.promise, download.visit.headCame.promise])
  download.channel.pause({ bytesSent: 0 })
  isGone = true
  talking.write('still there?')
  for (const { visit } of [chat, download])
    expect(await visit.done).toMatchObject({ kind: 'half-answered', failure: { reason: 'timeout' } })
})

test('a question behind megabytes on a slow line is given their time', async () => {
  const [slowBytes, pieceBytes, pieceMs] = [20 * 2 ** 20, 2 ** 19, 150]
  let received = 0
  const { ask } = await startRaw(
    (type, id, payload, socket) => {
      if (type === SETTINGS && payload.length > 0) {
        socket.write(frame(SETTINGS, 0, 0, [0, 4, ...word(2 ** 30)])) // SETTINGS_INITIAL_WINDOW_SIZE
        socket.write(frame(WINDOW_UPDATE, 0, 0, word(2 ** 30)))
      }
      if (type === PING) socket.write(frame(PING, 1, 0, payload))
      if (type !== DATA) return
      const before = received
      received += payload.length
      if (payload.length === 0) return void socket.write(frame(HEADERS, 5, id, OK))
      if (received > slowBytes || Math.floor(before / pieceBytes) === Math.floor(received / pieceBytes)) return
      socket.pause()
      setTimeout(() => socket.resume(), pieceMs)
    },
    { pingMs: 10 * pieceMs }, // also for a machine that stands still for a second
  )
  const body = new PassThrough()
  const answer = ask({ method: 'POST', body: bodyOf(body) })
  const piece = Buffer.alloc(pieceBytes)
  for (let sent = 0; sent < 2 * slowBytes; sent += pieceBytes) if (!body.write(piece)) await once(body, 'drain')
  body.end()
  expect(await answer).toMatchObject({ status: 200 })
  expect(received).toBe(2 * slowBytes)
})

test('an upstream that answers PING may take its time', async () => {
  const { ask } = await startRaw(
    (type, _id, payload, socket) => {
      if (type === PING) socket.write(frame(PING, 1, 0, payload))
      if (type === PING) setTimeout(() => socket.write(frame(HEADERS, 5, 1, OK)), 3_500)
    },
    { pingMs: 1_500 },
  )
  expect((await ask()).status).toBe(200)
})

test('an idle connection closes when its time is over', async () => {
  const { ask, pools } = await startUpstream(answerOk, {
    timeouts: { keepAliveMs: 100 },
  })
  expect((await ask()).status).toBe(200)
  await expect.poll(() => pools.counts()).toEqual({ pools: 0, connections: 0, idle: 0 })
})

test('an upstream that would be pushed to, as no server may, is told so and let go', async () => {
  let told: number | undefined
  const { ask } = await startRaw((type, _id, payload, socket) => {
    if (type === HEADERS) socket.write(frame(SETTINGS, 0, 0, [0, 2, ...word(1)]))
    if (type === GOAWAY) told = payload.readUInt32BE(4)
  })
  expect((await ask()).failure).toMatchObject({ reason: 'malformed', message: expect.stringContaining('ENABLE_PUSH') })
  await expect.poll(() => told).toBe(1)
})

test('an upstream may say that it is not pushed to', async () => {
  const { ask } = await startRaw((type, id, _payload, socket) => {
    if (type === HEADERS) socket.write(Buffer.concat([frame(SETTINGS, 0, 0, [0, 2, ...word(0)]), frame(HEADERS, 5, id, OK)]))
  })
  expect(await ask()).toMatchObject({ status: 200, failure: undefined })
})

test('who asks by PING without end and reads no answer is let go', async () => {
  const { ask } = await startRaw((type, _id, _payload, socket) => {
    if (type !== HEADERS) return
    socket.pause()
    for (let i = 0; i < 50_000; i += 1) socket.write(frame(PING, 0, 0, Buffer.from('12345678')))
  })
  expect((await ask()).failure?.reason).toBe('malformed')
})

test('an upstream that answers and reads nothing is sent no more than a few heads, and is served again once it reads', async () => {
  const bytes = 60_000
  let application: Socket | undefined
  const { begin, ask } = await startRaw(
    (type, id, _payload, socket) => {
      application = socket
      if (type === HEADERS && id === 1) socket.pause().write(frame(HEADERS, 5, id, OK))
      else if (type === HEADERS) socket.write(frame(HEADERS, 5, id, OK))
    },
    { connectMs: 250 },
  )
  await ask()
  const fields = fieldsOf(['x-large', 'x'.repeat(bytes)])
  let sent = 0
  const refused = await vi.waitUntil(
    async () => {
      const begun = await begin({ fields }).catch((failure: UpstreamFailure) => failure)
      if (begun instanceof Error) return begun
      sent += bytes
      application!.write(frame(HEADERS, 5, begun.channel.streamId, OK))
      await begun.visit.done
      return sent > 64 * 1024 * 1024
    },
    { timeout: 60_000, interval: 0 },
  )
  expect(refused).toMatchObject({ reason: 'busy' })
  application!.resume()
  await expect.poll(() => ask().then(({ status }) => status, String)).toBe(200)
})

test('an upstream that has gone with heads unread, whose visitors went as well, is done without', async () => {
  const { begin, ask } = await startRaw(
    (type, id, _payload, socket, nth) => {
      if (nth === 0) socket.pause()
      else if (type === HEADERS) socket.write(frame(HEADERS, 5, id, OK))
    },
    { pingMs: 500, connectMs: 2_000 },
  )
  const fields = fieldsOf(['x-large', 'x'.repeat(150_000)])
  const begun = [await begin(), ...(await Promise.all(Array.from({ length: 34 }, () => begin({ fields }))))]
  for (const { channel } of begun) channel.destroy()
  await expect.poll(() => ask().then(({ status }) => status, String), { timeout: 20_000 }).toBe(200)
})

test('a change of protocol is refused with its reason', async () => {
  const { ask } = await startUpstream((stream) => stream.respond({ ':status': 200 }, { endStream: true }))
  expect((await ask({ upgrade: 'websocket' })).failure?.reason).toBe('no-upgrade')
})
