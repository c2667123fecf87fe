import { expect, onTestFinished, test } from 'vitest'
import { startTestEdge } from '../../../test/support/edge.ts'
import {
  BEGINNING,
  bodyOf,
  DATA,
  frame,
  GOAWAY,
  HEADERS,
  PING,
  RawHttp2,
  RST_STREAM,
  requestBlock,
  WINDOW_UPDATE,
  word,
} from '../../../test/support/http2-frames.ts'
import { createHttp2Pair } from '../../../test/support/http2-pair.ts'
import { startUpstream } from '../../../test/support/upstream.ts'
import { pause } from '../../lib/back-off.ts'
import type { Exchange } from '../engine.ts'
import { FieldSection } from '../field-section.ts'
import { HEARD_MS_MAX } from './limits.ts'

const HOST = 'shop.customer.com'
const GET = requestBlock(HOST)
const POST = requestBlock(HOST, { method: 'POST' })
const GOODBYE = frame(GOAWAY, 0, 0, Buffer.alloc(8))
const LINGER = 2_000

function begin(status = 200) {
  const pair = createHttp2Pair((exchange: Exchange) => {
    exchange.answer({ status, reason: '', fields: FieldSection.EMPTY, body: 'none' })
    exchange.end()
  })
  const seen = (wanted: number) => pair.frames.filter(({ type, flags }) => type === wanted && (type !== PING || flags === 0))
  return {
    pair,
    seen,
    async send(...frames: Buffer[]) {
      pair.send(...frames)
      await pair.settled()
    },
    /** As if so much time had passed. */
    async lookIn(ms: number) {
      pair.connection.look(performance.now() + ms)
      await pair.settled()
    },
    answerTo: ({ payload }: { payload: Buffer }) => frame(PING, 1, 0, payload),
  }
}

test('a visitor that goes is closed only once it has answered that it has the last answer', async () => {
  const { pair, seen, send, lookIn, answerTo } = begin()
  await send(BEGINNING, frame(HEADERS, 5, 1, GET), GOODBYE)
  await lookIn(HEARD_MS_MAX / 2)
  await lookIn(HEARD_MS_MAX / 2)
  expect([seen(PING).length, pair.isClosed()]).toEqual([1, false])
  await send(frame(HEADERS, 5, 3, GET))
  expect(seen(RST_STREAM).map(({ streamId, payload }) => [streamId, payload.readUInt32BE()])).toEqual([[3, 7]]) // may be sent elsewhere
  await send(answerTo(seen(PING)[0]!))
  await lookIn(LINGER)
  expect(pair.isClosed()).toBe(true)
})

test('one that does not answer has ten seconds', async () => {
  const { pair, send, lookIn } = begin()
  await send(BEGINNING, frame(HEADERS, 5, 1, GET), GOODBYE)
  await lookIn(HEARD_MS_MAX)
  await lookIn(HEARD_MS_MAX + LINGER)
  expect(pair.isClosed()).toBe(true)
})

test('one that has rested for longer is asked for nothing more, and one that rested when it was told to go has answered already', async () => {
  for (const [restedMs, answers] of [
    [HEARD_MS_MAX + 1_000, false],
    [0, true],
  ] as const) {
    const { pair, seen, send, lookIn, answerTo } = begin()
    await send(BEGINNING, frame(HEADERS, 5, 1, GET))
    await pause(10)
    pair.connection.leave()
    await pair.settled()
    if (answers) await send(answerTo(seen(PING)[0]!))
    else await lookIn(restedMs)
    await lookIn(restedMs + LINGER)
    expect([seen(PING).length, pair.isClosed()]).toEqual([1, true])
  }
})

test('one that never asked for anything is asked for nothing either', async () => {
  const { pair, seen, send, lookIn } = begin()
  await send(BEGINNING)
  pair.connection.leave()
  await lookIn(LINGER)
  await lookIn(2 * LINGER)
  expect([seen(PING).length, pair.isClosed()]).toEqual([1, true])
})

test('an answer that ends in the very turn in which its visitor is told to go is asked about', async () => {
  const { pair, seen, send, answerTo } = begin()
  await send(BEGINNING)
  pair.send(frame(HEADERS, 5, 1, GET))
  await new Promise((resolve) => process.nextTick(resolve)) // its exchange begins when the turn ends
  pair.connection.leave()
  await pair.settled()
  await send(answerTo(seen(PING)[0]!))
  expect([seen(PING).length, pair.isClosed()]).toEqual([2, false])
  pair.close()
})

test('an answer to a PING that was not sent is none', async () => {
  const { pair, seen, send, lookIn } = begin()
  await send(BEGINNING, ...['namesake', 'goodbye.'].map((text) => frame(PING, 1, 0, Buffer.from(text))), frame(HEADERS, 5, 1, GET))
  await lookIn(0)
  expect([seen(GOAWAY).length, pair.isClosed()]).toEqual([0, false])
  pair.close()
})

test('one that is answered before it has sent all hears that before the end of its connection', async () => {
  const { pair, seen, send, lookIn, answerTo } = begin(413)
  await send(BEGINNING, frame(HEADERS, 4, 1, POST), GOODBYE)
  await send(frame(DATA, 0, 1, Buffer.alloc(16_384)))
  expect([seen(PING).length, seen(RST_STREAM).length]).toEqual([0, 0])
  await lookIn(1_000)
  expect(seen(RST_STREAM).map(({ streamId, payload }) => [streamId, payload.readUInt32BE()])).toEqual([[1, 0]])
  await send(answerTo(seen(PING)[0]!))
  await lookIn(LINGER)
  expect(pair.isClosed()).toBe(true)
})

test('what the system has not sent yet reaches a visitor that goes, reads late and sends meanwhile', async () => {
  const bytes = 300_000
  const upstream = await startUpstream({ handle: (_, response) => Boolean(response.end(Buffer.alloc(bytes, 'x'))) })
  onTestFinished(() => upstream.stop())
  const edge = await startTestEdge({ http2Engine: 'own' })
  onTestFinished(() => edge.stop(0))
  await edge.route(HOST, upstream.url)
  const target = { port: edge.httpsPort, hostname: HOST, ca: edge.ca.certPem }
  const visitor = await RawHttp2.open(target, [0, 4, 0x7f, 0xff, 0xff, 0xff])
  visitor.socket.pause()
  visitor.send(frame(WINDOW_UPDATE, 0, 0, word(0x7fff0000)), frame(HEADERS, 5, 1, GET))
  await expect.poll(async () => (await edge.report()).exchanges).toBe(0)
  await expect.poll(() => edge.lines.some(({ msg }) => msg === 'request')).toBe(true)
  visitor.send(GOODBYE)
  for (let i = 0; i < 25; i += 1) {
    await pause(100)
    visitor.send(frame(WINDOW_UPDATE, 0, 0, word(1)))
  }
  visitor.socket.on('error', () => {}).resume()
  await Promise.race([visitor.until(({ type, flags }) => type === DATA && flags === 1), visitor.closed()])
  expect(bodyOf(visitor.frames, 1).length).toBe(bytes)
  visitor.socket.destroy()
})
