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
import type { Exchange } from '../engine.ts'
import { FieldSection } from '../field-section.ts'

const HOST = 'shop.customer.com'
const GET = requestBlock(HOST)
const POST = requestBlock(HOST, { method: 'POST' })

test('an answer that has not left when its connection ends has the time of any body, and only then a moment more', async () => {
  const pair = createHttp2Pair((exchange) => {
    exchange.answer({ status: 200, reason: '', fields: FieldSection.EMPTY, body: 'unknown' })
    exchange.body!.start({ take() {}, end: () => exchange.end() })
  })
  const soon = () => performance.now() + 10_000
  pair.send(BEGINNING, frame(HEADERS, 4, 1, POST))
  await pair.settled()
  pair.hold()
  pair.send(frame(DATA, 1, 1, Buffer.alloc(10_000)), frame(GOAWAY, 0, 0, Buffer.alloc(8)))
  await pair.settled()
  pair.connection.look(soon())
  expect(pair.isClosed()).toBe(false)
  pair.release()
  await pair.settled()
  pair.connection.look(performance.now())
  expect(pair.isClosed()).toBe(false)
  pair.connection.look(soon())
  expect(pair.isClosed()).toBe(true)
})

test('uploads that nobody takes leave to the others of their connection what the window still has', async () => {
  const bodies: NonNullable<Exchange['body']>[] = []
  const pair = createHttp2Pair((exchange) => void bodies.push(exchange.body!))
  const upload = (id: number, bytes: number) => {
    for (let at = 0; at < bytes; at += 16_384) pair.send(frame(DATA, 0, id, Buffer.alloc(Math.min(16_384, bytes - at))))
  }
  pair.send(BEGINNING, ...[1, 3, 5, 7].map((id) => frame(HEADERS, 4, id, POST)))
  await pair.settled()
  for (const id of [1, 3, 5]) upload(id, 250_000)
  bodies[3]!.start({ take() {}, end() {} })
  let sent = 3 * 250_000
  for (let round = 0; round < 50; round += 1) {
    const bytes = Math.min(65_535 + opened(pair.frames, 0) - sent, 100_000)
    expect(bytes).toBeGreaterThan(4_096)
    upload(7, bytes)
    sent += bytes
    await pair.settled()
  }
  expect(pair.frames.filter(({ type }) => type === GOAWAY || type === RST_STREAM)).toEqual([])
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
  for (let i = 0; i < 300; i += 1) pair.send(ping)
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
