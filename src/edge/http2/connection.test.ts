import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  BEGINNING,
  bodyOf,
  CONTINUATION,
  DATA,
  frame,
  GOAWAY,
  HEADERS,
  literals,
  opened,
  PING,
  PREFACE,
  RST_STREAM,
  requestBlock,
  SETTINGS,
  WINDOW_UPDATE,
  word,
} from '../../../test/support/http2-frames.ts'
import { createHttp2Pair } from '../../../test/support/http2-pair.ts'
import type { Exchange } from '../engine.ts'
import { FieldSection } from '../field-section.ts'
import { copyOf } from '../let-go.ts'
import { CONNECTION_WINDOW_BYTES, STREAM_WINDOW_BYTES, STREAM_WINDOW_BYTES_MAX } from './settings.ts'

const HOST = 'shop.customer.com'
const GET = requestBlock(HOST)
const POST = requestBlock(HOST, { method: 'POST' })
const priority = (on: number) => [...word(on), 16]

/** Answers with what came: the head in one line, then the body, and its trailers as trailers. */
function echo(exchange: Exchange): void {
  const { method, target, authority, fields, body } = exchange
  const chunks: Buffer[] = [Buffer.from(`${method} ${target} ${authority} ${FieldSection.ofLines(fields.passing).list.join(',')}\n`)]
  const end = () => {
    exchange.answer({ status: 200, reason: '', fields: FieldSection.EMPTY, body: 'unknown' })
    exchange.write(Buffer.concat(chunks))
    exchange.end(body?.trailers())
  }
  body?.start({ take: (chunk) => void chunks.push(chunk), end })
  if (!body) end()
}

const CONVERSATION = Buffer.concat([
  BEGINNING,
  frame(SETTINGS, 0, 0, [0, 2, ...word(1)]), // SETTINGS_ENABLE_PUSH, which a visitor may say
  frame(HEADERS, 5, 1, requestBlock(HOST, { path: '/one', more: ['cookie', 'a=1', 'x-a', 'b', 'cookie', 'b=2'] })),
  frame(HEADERS, 0, 3, POST.subarray(0, 10)),
  frame(CONTINUATION, 0, 3, POST.subarray(10, 11)),
  frame(CONTINUATION, 4, 3, POST.subarray(11)),
  frame(DATA, 8, 3, [2, ...Buffer.from('padded'), 0, 0]),
  frame(PING, 0, 0, Buffer.from('12345678')),
  frame(HEADERS, 4 | 8 | 32, 5, [3, ...priority(0), ...requestBlock(HOST, { method: 'PUT', path: '/two' }), 0, 0, 0]),
  frame(DATA, 1, 5, Buffer.from('put')),
  frame(DATA, 0, 3, Buffer.from(' body')),
  frame(77, 0, 3, Buffer.from('unknown')),
  frame(HEADERS, 5, 3, literals('x-checksum', 'abc')),
])

test('a conversation is understood alike wherever its bytes are cut', async () => {
  for (let cut = 0; cut <= CONVERSATION.length; cut += 1) {
    const pair = createHttp2Pair(echo)
    if (cut === CONVERSATION.length) for (const byte of CONVERSATION) pair.send(Buffer.from([byte]))
    else {
      pair.send(CONVERSATION.subarray(0, cut))
      pair.send(CONVERSATION.subarray(cut))
    }
    const isWhole = () => pair.frames.filter(({ type, flags }) => type !== SETTINGS && type !== PING && flags & 1).length === 3
    while (!isWhole()) await pair.settled()
    expect(bodyOf(pair.frames, 1)).toBe(`GET /one ${HOST} x-a,b,cookie,a=1; b=2\n`)
    expect(bodyOf(pair.frames, 3)).toBe(`POST / ${HOST} \npadded body`)
    expect(bodyOf(pair.frames, 5)).toBe(`PUT /two ${HOST} \nput`)
    expect(pair.frames.find(({ type, flags }) => type === PING && flags === 1)?.payload.toString()).toBe('12345678')
    expect(
      pair.frames
        .filter(({ type, streamId }) => type === HEADERS && streamId === 3)
        .at(-1)
        ?.payload.toString(),
    ).toContain('x-checksum')
    expect(pair.frames.filter(({ type }) => type === RST_STREAM || type === GOAWAY)).toEqual([])
    pair.close()
  }
})

const answering = fc.record({
  answers: fc.array(fc.array(fc.nat({ max: 40_000 }), { maxLength: 4 }), { minLength: 1, maxLength: 6 }),
  isCounted: fc.boolean(),
  window: fc.nat({ max: 70_000 }),
  grants: fc.array(fc.record({ stream: fc.nat({ max: 6 }), bytes: fc.integer({ min: 1, max: 60_000 }) }), { maxLength: 20 }),
  later: fc.option(fc.nat({ max: 70_000 }), { nil: undefined }),
})

test('a large chunk that nobody else holds is let go once it was taken whole, and more is wanted at once', async () => {
  const chunk = copyOf(Buffer.alloc(40_000, 'x'))
  let wantsMore: boolean | undefined
  const pair = createHttp2Pair((exchange) => {
    exchange.answer({ status: 200, reason: '', fields: FieldSection.EMPTY, body: 'unknown' })
    wantsMore = exchange.write(chunk)
  })
  pair.send(BEGINNING, frame(HEADERS, 5, 1, GET))
  await pair.settled()
  expect(bodyOf(pair.frames, 1)).toHaveLength(40_000)
  expect(chunk).toHaveLength(0)
  expect(wantsMore).toBe(true)
  pair.close()
})

test('answers keep to the windows of the visitor, whatever it grants, and arrive whole when it grants enough', async () => {
  await fc.assert(
    fc.asyncProperty(answering, async ({ answers, isCounted, window, grants, later }) => {
      const pair = createHttp2Pair((exchange) => {
        const sizes = answers[Number(exchange.target.slice(1))]!
        const total = sizes.reduce((sum, size) => sum + size, 0)
        exchange.answer({ status: 200, reason: '', fields: FieldSection.EMPTY, body: isCounted ? total : 'unknown' })
        for (const size of sizes) exchange.write(Buffer.alloc(size, exchange.target.slice(1)))
        exchange.end()
      })
      const setting = (value: number) => frame(SETTINGS, 0, 0, [0, 4, ...word(value)])
      const ids = answers.map((_, i) => 2 * i + 1)
      const allowed = new Map([[0, 65_535], ...ids.map((id) => [id, window] as const)])
      const sent = (id: number) =>
        pair.frames
          .filter(({ type, streamId }) => type === DATA && (id === 0 || streamId === id))
          .reduce((sum, { payload }) => sum + payload.length, 0)
      const keepsTo = () => [...allowed].every(([id, bytes]) => sent(id) <= bytes)
      const grant = (id: number, bytes: number) => {
        allowed.set(id, allowed.get(id)! + bytes)
        pair.send(frame(WINDOW_UPDATE, 0, id, word(bytes)))
      }
      pair.send(PREFACE, setting(window), ...ids.map((id, i) => frame(HEADERS, 5, id, requestBlock(HOST, { path: `/${i}` }))))
      await pair.settled()
      expect(keepsTo()).toBe(true)
      for (const { stream, bytes } of grants) {
        grant(stream === 0 ? 0 : ids[stream % ids.length]!, bytes)
        await pair.settled()
        expect(keepsTo()).toBe(true)
      }
      if (later !== undefined) {
        pair.send(setting(later))
        for (const id of ids) allowed.set(id, Math.max(allowed.get(id)! + later - window, sent(id)))
        await pair.settled()
        expect(keepsTo()).toBe(true)
      }
      for (const id of [0, ...ids]) grant(id, 1_000_000)
      const areWhole = () => pair.frames.filter(({ type, flags }) => type <= HEADERS && flags & 1).length === ids.length
      for (let turns = 0; turns < 100 && !areWhole(); turns += 1) await pair.settled()
      ids.forEach((id, i) => {
        const total = answers[i]!.reduce((sum, size) => sum + size, 0)
        const ended = pair.frames.some(({ type, streamId, flags }) => type <= HEADERS && streamId === id && flags & 1)
        expect([ended, bodyOf(pair.frames, id) === String(i).repeat(total)]).toEqual([true, true])
      })
      pair.close()
    }),
    { numRuns: 60 },
  )
})

test('the visitor’s windows are opened by what was taken and by no more, so that an upload that nobody takes stands still', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat({ max: 40 }), { minLength: 5, maxLength: 40 }), fc.boolean(), async (steps, isPadded) => {
      let body: Exchange['body']
      const pair = createHttp2Pair((exchange) => (body = exchange.body))
      pair.send(BEGINNING, frame(HEADERS, 4, 1, POST))
      await pair.settled()
      let taken = 0
      const left = { stream: STREAM_WINDOW_BYTES, connection: CONNECTION_WINDOW_BYTES }
      let sent = 0
      let hasEnded = false
      body!.start({
        take(chunk) {
          taken += chunk.length
        },
        end() {
          hasEnded = true
        },
      })
      body!.pause()
      for (const step of steps) {
        if (step % 4 === 0) body!.resume()
        if (step % 4 === 1) body!.pause()
        const size = Math.min(step * 400, left.stream - sent, left.connection - sent)
        const payload = isPadded && size > 10 ? Buffer.concat([Buffer.from([9]), Buffer.alloc(size - 1)]) : Buffer.alloc(size)
        if (size > 0) pair.send(frame(DATA, isPadded && size > 10 ? 8 : 0, 1, payload))
        sent += size
        await pair.settled()
        left.stream = STREAM_WINDOW_BYTES + opened(pair.frames, 1)
        left.connection = 65_535 + opened(pair.frames, 0)
        const growth = taken > 0 ? STREAM_WINDOW_BYTES_MAX - STREAM_WINDOW_BYTES : 0
        expect(opened(pair.frames, 1)).toBeLessThanOrEqual(taken + growth + steps.length * 10)
        expect(opened(pair.frames, 0)).toBeLessThanOrEqual(CONNECTION_WINDOW_BYTES - 65_535 + taken + steps.length * 10)
        expect(sent - taken).toBeLessThanOrEqual(STREAM_WINDOW_BYTES + growth + steps.length * 10)
      }
      body!.resume()
      await pair.settled()
      pair.send(frame(DATA, 1, 1))
      await pair.settled()
      expect(pair.frames.filter(({ type }) => type === GOAWAY || type === RST_STREAM)).toEqual([])
      expect(hasEnded).toBe(true)
      pair.close()
    }),
    { numRuns: 100 },
  )
})

test('uploads whose readers are slow, stop or leave never shut the connection’s window for good', async () => {
  const bodies: NonNullable<Exchange['body']>[] = []
  const pair = createHttp2Pair((exchange) => void bodies.push(exchange.body!))
  pair.send(BEGINNING)
  const credit = () => 65_535 + opened(pair.frames, 0)
  let sent = 0
  for (let round = 0; round < 20; round += 1) {
    for (let i = 0; i < 8; i += 1) pair.send(frame(HEADERS, 4, 1 + 2 * (round * 8 + i), POST))
    await pair.settled()
    for (let i = 0; i < 8; i += 1, sent += 60_000)
      for (let part = 0; part < 6; part += 1) pair.send(frame(DATA, 0, 1 + 2 * (round * 8 + i), Buffer.alloc(10_000)))
    await pair.settled()
    bodies.splice(0).forEach((body, i) => {
      const take = () => {
        body.pause()
        body.resume()
      }
      if (i % 3 === 0) body.resume()
      else if (i % 3 === 1) body.start({ take, end() {} })
    })
    await pair.settled()
    for (let i = 0; i < 8; i += 1)
      pair.send(i % 3 === 2 ? frame(RST_STREAM, 0, 1 + 2 * (round * 8 + i), word(8)) : frame(DATA, 1, 1 + 2 * (round * 8 + i)))
    await pair.settled()
    expect(pair.frames.filter(({ type }) => type === GOAWAY)).toEqual([])
    expect(credit() - sent).toBeGreaterThanOrEqual(CONNECTION_WINDOW_BYTES / 2)
  }
  pair.close()
})

test.each([
  ['longer than announced', requestBlock(HOST, { method: 'POST', more: ['content-length', '1'] }), 1],
  ['longer than the window of its stream', POST, 5],
])('uploads that are %s never shut the connection’s window for good', async (_what, head, frames) => {
  const pair = createHttp2Pair(() => {})
  pair.send(BEGINNING)
  const credit = () => 65_535 + opened(pair.frames, 0)
  let sent = 0
  for (let id = 1; id < 2 * 150; id += 2) {
    pair.send(frame(HEADERS, 4, id, head))
    for (let i = 0; i < frames; i += 1, sent += 16_384) pair.send(frame(DATA, 0, id, Buffer.alloc(16_384)))
    await pair.settled()
    expect(credit() - sent).toBeGreaterThanOrEqual(CONNECTION_WINDOW_BYTES / 2)
  }
  expect(pair.frames.filter(({ type }) => type === RST_STREAM).length).toBe(150)
  expect(pair.frames.filter(({ type }) => type === GOAWAY)).toEqual([])
  pair.close()
})

type Violation = [name: string, frames: Buffer[], connection: number | undefined, stream: number | undefined]
const violations: Violation[] = [
  ['another protocol', [Buffer.from('GET / HTTP/1.1\r\nHost: a\r\n\r\n')], 1, undefined],
  ['no SETTINGS first', [PREFACE, frame(PING, 0, 0, Buffer.alloc(8))], 1, undefined],
  ['a frame too large', [BEGINNING, frame(DATA, 0, 1, Buffer.alloc(16_385))], 6, undefined],
  ['DATA without a stream', [BEGINNING, frame(DATA, 0, 0, [1])], 1, undefined],
  ['DATA of an idle stream', [BEGINNING, frame(DATA, 0, 1, [1])], 1, undefined],
  ['padding longer than its frame', [BEGINNING, frame(HEADERS, 4, 1, POST), frame(DATA, 8, 1, [5, 1, 2])], 1, undefined],
  ['HEADERS without a stream', [BEGINNING, frame(HEADERS, 5, 0, GET)], 1, undefined],
  ['an even stream', [BEGINNING, frame(HEADERS, 5, 2, GET)], 1, undefined],
  ['a stream id that goes back', [BEGINNING, frame(HEADERS, 5, 5, GET), frame(HEADERS, 5, 3, GET)], 5, undefined],
  ['CONTINUATION without HEADERS', [BEGINNING, frame(CONTINUATION, 4, 1, GET)], 1, undefined],
  ['CONTINUATION of another stream', [BEGINNING, frame(HEADERS, 1, 1, GET), frame(CONTINUATION, 4, 3, [])], 1, undefined],
  ['a frame between HEADERS and CONTINUATION', [BEGINNING, frame(HEADERS, 1, 1, GET), frame(PING, 0, 0, Buffer.alloc(8))], 1, undefined],
  ['RST_STREAM of an idle stream', [BEGINNING, frame(RST_STREAM, 0, 1, word(8))], 1, undefined],
  ['RST_STREAM of a wrong size', [BEGINNING, frame(HEADERS, 4, 1, POST), frame(RST_STREAM, 0, 1, [1])], 6, undefined],
  ['SETTINGS of a stream', [BEGINNING, frame(SETTINGS, 0, 1)], 1, undefined],
  ['SETTINGS of a wrong size', [BEGINNING, frame(SETTINGS, 0, 0, [1])], 6, undefined],
  ['an ACK with settings', [BEGINNING, frame(SETTINGS, 1, 0, [0, 4, 0, 0, 0, 1])], 6, undefined],
  ['ENABLE_PUSH of 2', [BEGINNING, frame(SETTINGS, 0, 0, [0, 2, 0, 0, 0, 2])], 1, undefined],
  ['a window beyond 2^31', [BEGINNING, frame(SETTINGS, 0, 0, [0, 4, 255, 0, 0, 0])], 3, undefined],
  ['MAX_FRAME_SIZE too small', [BEGINNING, frame(SETTINGS, 0, 0, [0, 5, 0, 0, 0, 1])], 1, undefined],
  ['a push by the visitor', [BEGINNING, frame(5, 4, 1, word(2))], 1, undefined],
  ['PING of a wrong size', [BEGINNING, frame(PING, 0, 0, [1])], 6, undefined],
  ['PING of a stream', [BEGINNING, frame(PING, 0, 1, Buffer.alloc(8))], 1, undefined],
  ['WINDOW_UPDATE by nothing', [BEGINNING, frame(WINDOW_UPDATE, 0, 0, word(0))], 1, undefined],
  ['a connection window beyond 2^31', [BEGINNING, frame(WINDOW_UPDATE, 0, 0, word(2 ** 31 - 1))], 3, undefined],
  ['WINDOW_UPDATE of an idle stream', [BEGINNING, frame(WINDOW_UPDATE, 0, 1, word(1))], 1, undefined],
  ['a block that is no HPACK', [BEGINNING, frame(HEADERS, 5, 1, [0x80])], 9, undefined],
  ['DATA behind the end of the connection’s window', [BEGINNING, ...flood(33)], 3, undefined],
  ['WINDOW_UPDATE of a stream by nothing', [BEGINNING, frame(HEADERS, 4, 1, POST), frame(WINDOW_UPDATE, 0, 1, word(0))], undefined, 1],
  ['a stream window beyond 2^31', [BEGINNING, frame(HEADERS, 4, 1, POST), frame(WINDOW_UPDATE, 0, 1, word(2 ** 31 - 1))], undefined, 3],
  ['DATA behind the end of the stream’s window', [BEGINNING, ...flood(1)], undefined, 3],
  ['DATA behind the end', [BEGINNING, frame(HEADERS, 5, 1, GET), frame(DATA, 1, 1, [1])], undefined, 5],
  ['HEADERS behind the end', [BEGINNING, frame(HEADERS, 5, 1, GET), frame(HEADERS, 5, 1, literals('x', 'y'))], undefined, 5],
  ['trailers that do not end', [BEGINNING, frame(HEADERS, 4, 1, POST), frame(HEADERS, 4, 1, literals('x', 'y'))], undefined, 1],
  ['pseudo fields in trailers', [BEGINNING, frame(HEADERS, 4, 1, POST), frame(HEADERS, 5, 1, literals(':path', '/'))], undefined, 1],
  ['less than the announced length', [BEGINNING, frame(HEADERS, 4, 1, withLength(3)), frame(DATA, 1, 1, [1, 2])], undefined, 1],
  ['more than the announced length', [BEGINNING, frame(HEADERS, 4, 1, withLength(3)), frame(DATA, 0, 1, [1, 2, 3, 4])], undefined, 1],
  ['a length and no body', [BEGINNING, frame(HEADERS, 5, 1, withLength(3))], undefined, 1],
  ['an upper-case name', [BEGINNING, frame(HEADERS, 5, 1, Buffer.concat([GET, literals('X-A', 'b')]))], undefined, 1],
  ['a connection field', [BEGINNING, frame(HEADERS, 5, 1, Buffer.concat([GET, literals('connection', 'x')]))], undefined, 1],
  ['te of gzip', [BEGINNING, frame(HEADERS, 5, 1, Buffer.concat([GET, literals('te', 'gzip')]))], undefined, 1],
  ['line ends in a value', [BEGINNING, frame(HEADERS, 5, 1, Buffer.concat([GET, literals('x', 'a\r\nb: c')]))], undefined, 1],
  ['a pseudo field behind a field', [BEGINNING, frame(HEADERS, 5, 1, Buffer.concat([literals('x', 'y'), GET]))], undefined, 1],
  ['a pseudo field twice', [BEGINNING, frame(HEADERS, 5, 1, Buffer.concat([GET, literals(':path', '/')]))], undefined, 1],
  ['an unknown pseudo field', [BEGINNING, frame(HEADERS, 5, 1, Buffer.concat([literals(':x', 'y'), GET]))], undefined, 1],
  ['a pseudo field of answers', [BEGINNING, frame(HEADERS, 5, 1, Buffer.concat([literals(':status', '200'), GET]))], undefined, 1],
  ['no path', [BEGINNING, frame(HEADERS, 5, 1, literals(':method', 'GET', ':scheme', 'https', ':authority', HOST))], undefined, 1],
  ['an empty path', [BEGINNING, frame(HEADERS, 5, 1, requestBlock(HOST, { path: '' }))], undefined, 1],
  [
    'an extended CONNECT',
    [BEGINNING, frame(HEADERS, 4, 1, Buffer.concat([literals(':protocol', 'websocket'), requestBlock(HOST, { method: 'CONNECT' })]))],
    undefined,
    1,
  ],
]

test.each(violations)('%s ends the connection or the stream', async (_name, frames, connectionCode, streamCode) => {
  const exchanges: Exchange[] = []
  const pair = createHttp2Pair((exchange) => void exchanges.push(exchange))
  // Frame by frame, as from a visitor who takes its time; the first one may be no frame.
  for (const bytes of frames) {
    pair.send(bytes)
    await pair.settled()
  }
  const goaway = pair.frames.find(({ type }) => type === GOAWAY)
  const reset = pair.frames.find(({ type }) => type === RST_STREAM)
  expect([goaway?.payload.readUInt32BE(4), reset?.payload.readUInt32BE(0)]).toEqual([connectionCode, streamCode])
  pair.close()
})

function withLength(length: number): Buffer {
  return Buffer.concat([POST, literals('content-length', String(length))])
}

/** More than the window of so many streams, together. */
function flood(streams: number): Buffer[] {
  return Array.from({ length: streams }, (_, i) => 2 * i + 1).flatMap((id) => [
    frame(HEADERS, 4, id, POST),
    ...Array.from({ length: streams === 1 ? 5 : 4 }, () => frame(DATA, 0, id, Buffer.alloc(16_384))),
  ])
}

test('random mutations of a conversation never do more than end it', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 })), { minLength: 1, maxLength: 8 }), async (changes) => {
      const bytes = Buffer.from(CONVERSATION)
      for (const [at, value] of changes) bytes[PREFACE.length + (at % (bytes.length - PREFACE.length))] = value
      const pair = createHttp2Pair(echo)
      pair.send(bytes)
      await pair.settled()
      pair.close()
    }),
    { numRuns: 500 },
  )
})
