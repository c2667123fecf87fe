import { expect, test } from 'vitest'
import {
  BEGINNING,
  bodyOf,
  DATA,
  frame,
  GOAWAY,
  HEADERS,
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
import { pause } from '../../lib/back-off.ts'
import type { Exchange } from '../engine.ts'
import { FieldSection } from '../field-section.ts'
import { STREAMS_PER_CONNECTION_MAX } from '../request-limits.ts'
import { TIMEOUTS } from '../timeouts.ts'
import { STREAM_WINDOW_BYTES, STREAM_WINDOW_BYTES_MAX } from './settings.ts'

const HOST = 'shop.customer.com'
const GET = requestBlock(HOST)
const POST = requestBlock(HOST, { method: 'POST' })

test('an answer that has not left when its connection ends has the time of any body, and only then a moment more', async () => {
  const pair = createHttp2Pair((exchange) => {
    exchange.answer({ status: 200, reason: '', fields: FieldSection.EMPTY, body: 'unknown' })
    exchange.body!.start({ take() {}, end: () => exchange.end() })
  })
  const soon = () => performance.now() + 10_000
  const beganMs = performance.now()
  pair.send(BEGINNING, frame(HEADERS, 4, 1, POST))
  await pair.settled()
  pair.hold()
  pair.send(frame(DATA, 1, 1, Buffer.alloc(10_000)), frame(GOAWAY, 0, 0, Buffer.alloc(8)))
  await pair.settled()
  pair.connection.look(soon())
  expect(pair.isClosed()).toBe(false)
  pair.release()
  await pair.settled()
  pair.send(frame(PING, 1, 0, pair.frames.find(({ type }) => type === PING)!.payload))
  await pair.settled()
  pair.connection.look(beganMs)
  expect(pair.isClosed()).toBe(false)
  pair.connection.look(soon())
  expect(pair.isClosed()).toBe(true)
})

test('a slow line has the time of any body for the end of an answer, and its connection rests only from then on', async () => {
  const pair = createHttp2Pair((exchange) => {
    exchange.answer({ status: 200, reason: '', fields: FieldSection.EMPTY, body: 200_000 })
    exchange.write(Buffer.alloc(200_000))
    exchange.end()
  })
  pair.send(PREFACE, frame(SETTINGS, 0, 0, [0, 4, 0x7f, 0xff, 0xff, 0xff]), frame(WINDOW_UPDATE, 0, 0, word(0x7fff0000)))
  await pair.settled()
  pair.hold()
  pair.send(frame(HEADERS, 5, 1, GET))
  await pair.settled()
  const lateMs = performance.now() + TIMEOUTS.keepAliveMs + 1_000
  const goaways = () => pair.frames.filter(({ type }) => type === GOAWAY).length
  pair.connection.look(lateMs)
  pair.release()
  await pair.settled()
  expect([goaways(), bodyOf(pair.frames, 1).length]).toEqual([0, 200_000])
  pair.connection.look(lateMs + TIMEOUTS.keepAliveMs - 1_000)
  await pair.settled()
  expect(goaways()).toBe(0)
  pair.connection.look(lateMs + TIMEOUTS.keepAliveMs)
  await pair.settled()
  expect(goaways()).toBe(1)
  pair.close()
})

test('uploads that nobody takes leave to the others of their connection what the window still has', async () => {
  const bodies: NonNullable<Exchange['body']>[] = []
  const pair = createHttp2Pair((exchange) => void bodies.push(exchange.body!))
  const upload = (id: number, bytes: number) => {
    for (let at = 0; at < bytes; at += 16_384) pair.send(frame(DATA, 0, id, Buffer.alloc(Math.min(16_384, bytes - at))))
  }
  const stuck = Array.from({ length: 30 }, (_, i) => 2 * i + 3)
  pair.send(BEGINNING, ...[1, ...stuck].map((id) => frame(HEADERS, 4, id, POST)))
  await pair.settled()
  for (const id of stuck) upload(id, STREAM_WINDOW_BYTES)
  bodies[0]!.start({ take() {}, end() {} })
  let sent = stuck.length * STREAM_WINDOW_BYTES
  for (let round = 0; round < 50; round += 1) {
    const bytes = Math.min(65_535 + opened(pair.frames, 0) - sent, 60_000)
    expect(bytes).toBeGreaterThan(4_096)
    upload(1, bytes)
    sent += bytes
    await pair.settled()
  }
  expect(pair.frames.filter(({ type }) => type === GOAWAY || type === RST_STREAM)).toEqual([])
  pair.close()
})

test('uploads that were taken as fast as they came, and then are not, leave room to the others of their connection, and to who comes after them', async () => {
  const bodies: NonNullable<Exchange['body']>[] = []
  const pair = createHttp2Pair((exchange) => void bodies.push(exchange.body!))
  const ids = Array.from({ length: 9 }, (_, i) => 2 * i + 1)
  const sent = new Map<number, number>(ids.map((id) => [id, 0]))
  const roomOf = (id: number) => STREAM_WINDOW_BYTES + opened(pair.frames, id) - sent.get(id)!
  const room = () => 65_535 + opened(pair.frames, 0) - [...sent.values()].reduce((sum, bytes) => sum + bytes, 0)
  const upload = async (id: number) => {
    for (let bytes = 1; bytes > 0; ) {
      bytes = Math.min(roomOf(id), room(), 16_384)
      if (bytes > 0) pair.send(frame(DATA, 0, id, Buffer.alloc(bytes)))
      sent.set(id, sent.get(id)! + bytes)
    }
    await pair.settled()
  }
  const fast = ids.slice(0, 8)
  const late = ids[8]!
  pair.send(BEGINNING, ...fast.map((id) => frame(HEADERS, 4, id, POST)))
  await pair.settled()
  for (const body of bodies) body.start({ take() {}, end() {} })
  for (let round = 0; round < 10; round += 1) for (const id of fast) await upload(id)
  const sizes = fast.map(roomOf)
  expect(Math.max(...sizes)).toBe(STREAM_WINDOW_BYTES_MAX)
  for (const body of bodies) body.pause()
  for (const id of fast) await upload(id)
  pair.send(frame(HEADERS, 4, late, POST))
  await pair.settled()
  bodies[8]!.start({ take() {}, end() {} })
  for (let round = 0; round < 10; round += 1) await upload(late)
  expect(sent.get(late)).toBeGreaterThan(8 * STREAM_WINDOW_BYTES)
  pair.send(...fast.map((id) => frame(RST_STREAM, 0, id, word(8))))
  await pair.settled()
  for (let round = 0; round < 10; round += 1) await upload(late)
  expect(roomOf(late)).toBe(STREAM_WINDOW_BYTES_MAX)
  pair.close()
})

test('a request begins in time beside answers that always have more to send', async () => {
  const many = 8
  const begun: Exchange[] = []
  const pair = createHttp2Pair((exchange) => {
    begun.push(exchange)
    if (begun.length > many) return
    exchange.answer({ status: 200, reason: '', fields: FieldSection.EMPTY, body: 'unknown' })
    const fill = () => void exchange.write(Buffer.alloc(96 * 1024)) // what one read of an upstream brings
    exchange.onDrain(() => setImmediate(fill))
    fill()
  })
  pair.send(PREFACE, frame(SETTINGS, 0, 0, [0, 4, 0x7f, 0xff, 0xff, 0xff]), frame(WINDOW_UPDATE, 0, 0, word(0x7fff0000)))
  pair.hold()
  pair.send(...Array.from({ length: many }, (_, i) => frame(HEADERS, 5, 2 * i + 1, GET)))
  await pair.settled()
  pair.send(frame(HEADERS, 5, 2 * many + 1, GET))
  await pair.settled()
  for (let round = 0; round < 100 && begun.length <= many; round += 1) {
    pair.release()
    pair.hold()
    await pair.settled()
  }
  expect(begun.length).toBe(many + 1)
  pair.close()
})

test('who cancels all that it may have open at once keeps its connection', async () => {
  const pair = createHttp2Pair(() => {})
  pair.send(BEGINNING)
  const ids = Array.from({ length: STREAMS_PER_CONNECTION_MAX }, (_, i) => 2 * i + 1)
  for (const from of [0, 2 * ids.length]) {
    for (const id of ids) pair.send(frame(HEADERS, 5, from + id, GET))
    await pair.settled()
    for (const id of ids) pair.send(frame(RST_STREAM, 0, from + id, word(8)))
    await pair.settled()
  }
  expect(pair.frames.filter(({ type }) => type === GOAWAY)).toEqual([])
  pair.close()
})

test('who waits for a while before it gives up, as calls of gRPC with a deadline do, may do so without end', async () => {
  const pair = createHttp2Pair(() => {})
  pair.send(BEGINNING)
  const ids = Array.from({ length: STREAMS_PER_CONNECTION_MAX }, (_, i) => 2 * i + 1)
  for (let round = 0; round < 6; round += 1) {
    const from = 2 * ids.length * round
    for (const id of ids) pair.send(frame(HEADERS, 5, from + id, GET))
    await pair.settled()
    await pause(60)
    for (const id of ids) pair.send(frame(RST_STREAM, 0, from + id, word(8)))
    await pair.settled()
  }
  expect(pair.frames.filter(({ type }) => type === GOAWAY)).toEqual([])
  pair.close()
})

test('who is answered before it has sent all is told so after a while, or when it ends, and may send on until then', async () => {
  const pair = createHttp2Pair((exchange) => {
    exchange.answer({ status: 413, reason: '', fields: FieldSection.EMPTY, body: 'none' })
    exchange.end()
  })
  const resets = () =>
    pair.frames.filter(({ type }) => type === RST_STREAM).map(({ streamId, payload }) => [streamId, payload.readUInt32BE()])
  const beganMs = performance.now()
  pair.send(BEGINNING, ...[1, 3, 5].map((id) => frame(HEADERS, 4, id, POST)))
  await pair.settled()
  pair.send(frame(DATA, 0, 1, Buffer.alloc(16_384)), frame(DATA, 1, 3, Buffer.alloc(16_384)), frame(RST_STREAM, 0, 5, word(8)))
  await pair.settled()
  for (let n = 0; n < 20; n += 1) pair.send(frame(DATA, 0, 1, Buffer.alloc(16_384)))
  await pair.settled()
  expect(opened(pair.frames, 1)).toBeGreaterThan(10 * 16_384)
  pair.connection.look(beganMs)
  expect(resets()).toEqual([[3, 0]])
  pair.connection.look(performance.now() + 1_000)
  pair.connection.look(performance.now() + 2_000)
  await pair.settled()
  expect(resets()).toEqual([
    [3, 0],
    [1, 0],
  ])
  expect(pair.frames.filter(({ type }) => type === GOAWAY)).toEqual([])
  pair.close()
})

test('who measures its way by PING as often as something comes, as clients of gRPC do, is not taken for an attacker', async () => {
  const exchanges: Exchange[] = []
  const pair = createHttp2Pair((exchange) => void exchanges.push(exchange))
  const ping = frame(PING, 0, 0, Buffer.alloc(8))
  const goaways = () => pair.frames.filter(({ type }) => type === GOAWAY).map(({ payload }) => payload.readUInt32BE(4))
  pair.send(BEGINNING, frame(HEADERS, 5, 1, GET))
  await pair.settled()
  exchanges[0]!.answer({ status: 200, reason: '', fields: FieldSection.EMPTY, body: 'unknown' })
  for (let i = 0; i < 1_000; i += 1) {
    exchanges[0]!.write(Buffer.from('x'))
    await pair.settled()
    pair.send(frame(WINDOW_UPDATE, 0, 0, word(1)), ping)
  }
  await pair.settled()
  expect(goaways()).toEqual([])
  for (let i = 0; i < 2_000; i += 1) pair.send(ping)
  await pair.settled()
  expect(goaways()).toEqual([11])
  pair.close()
})

test('to reset what has ended already, as clients do that were answered early, is no rapid reset', async () => {
  const pair = createHttp2Pair((exchange) => {
    exchange.answer({ status: 200, reason: '', fields: FieldSection.EMPTY, body: 'none' })
    exchange.end()
  })
  pair.send(BEGINNING)
  for (let id = 1; id < 1_000; id += 2) {
    pair.send(frame(HEADERS, 4, id, POST))
    await pair.settled()
    pair.send(frame(RST_STREAM, 0, id, word(0)))
  }
  await pair.settled()
  expect(pair.frames.filter(({ type }) => type === GOAWAY)).toEqual([])
  pair.close()
})

test('an answer that comes in single bytes to a visitor without a window waits in few pieces', async () => {
  let exchange: Exchange | undefined
  const pair = createHttp2Pair((one) => (exchange = one))
  pair.send(PREFACE, frame(SETTINGS, 0, 0, [0, 4, 0, 0, 0, 0]), frame(HEADERS, 5, 1, GET))
  await pair.settled()
  exchange!.answer({ status: 200, reason: '', fields: FieldSection.EMPTY, body: 'unknown' })
  for (let i = 0; i < 10_000; i += 1) exchange!.write(Buffer.from(String(i % 10)))
  pair.send(frame(WINDOW_UPDATE, 0, 1, word(3)))
  await pair.settled()
  expect(bodyOf(pair.frames, 1)).toBe('012')
  for (let i = 0; i < 10; i += 1) exchange!.write(Buffer.from(String(i)))
  exchange!.end()
  pair.send(frame(WINDOW_UPDATE, 0, 1, word(20_000)))
  await pair.settled()
  expect(bodyOf(pair.frames, 1)).toBe('0123456789'.repeat(1_001))
  expect(pair.frames.filter(({ type }) => type === DATA).length).toBeLessThan(8)
  pair.close()
})
