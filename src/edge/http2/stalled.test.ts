import { expect, test } from 'vitest'
import { heapBytes } from '../../../test/support/heap.ts'
import {
  BEGINNING,
  bodyOf,
  DATA,
  frame,
  GOAWAY,
  HEADERS,
  literals,
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
import { TIMEOUTS } from '../timeouts.ts'
import { RAPID_MS } from './limits.ts'
import { KeptForAll } from './waiting-messages.ts'

const GET = requestBlock('shop.customer.com')
const PIECE = 96 * 1024 // what one read of an upstream brings
const BESIDE = 2_048 // what an answer that waits counts beside its bytes
const STREAMS = 200
const LARGE = 50_000
const STALLED = 50 // keep so much that no further request begins
const REFUSED_STREAM = 7
const CANCEL = 8
const SHUT = Buffer.concat([PREFACE, frame(SETTINGS, 0, 0, [0, 4, 0, 0, 0, 0])])

/** A visitor that opens no window, and applications that have a piece for every request. */
async function stall(streams: number, kept = new KeptForAll(), answerLater = (answer: () => void) => answer()) {
  const begun: Exchange[] = []
  const pair = createHttp2Pair((exchange) => {
    begun.push(exchange)
    answerLater(() => {
      exchange.answer({ status: 200, reason: '', fields: FieldSection.EMPTY, body: 'unknown' })
      exchange.write(Buffer.alloc(PIECE))
    })
  }, kept)
  pair.send(SHUT, ...Array.from({ length: streams }, (_, i) => frame(HEADERS, 5, 2 * i + 1, GET)))
  await pair.settled()
  const resets = () =>
    pair.frames.filter(({ type }) => type === RST_STREAM).map(({ streamId, payload }) => [streamId, payload.readUInt32BE()])
  const goaways = () => pair.frames.filter(({ type }) => type === GOAWAY).map(({ payload }) => payload.readUInt32BE())
  return { pair, begun, resets, goaways }
}

test('a visitor that takes nothing of an answer for as long as any body may rest loses it, and one that takes a little does not', async () => {
  const { pair, begun, resets } = await stall(2)
  const stalledAtMs = performance.now()
  await pause(100)
  pair.send(frame(WINDOW_UPDATE, 0, 3, word(1_000)))
  await pair.settled()
  pair.connection.look(stalledAtMs + TIMEOUTS.bodyIdleMs - 1_000)
  await pair.settled()
  expect(resets()).toEqual([])
  expect(begun.map(({ bytesSent }) => bytesSent)).toEqual([0, 1_000]) // and the log says no more than that
  const gone: boolean[] = []
  begun[0]!.onGone((isStalled) => void gone.push(isStalled))
  pair.connection.look(stalledAtMs + TIMEOUTS.bodyIdleMs + 50)
  await pair.settled()
  expect([resets(), gone]).toEqual([[[1, CANCEL]], [true]])
  pair.close()
})

test('a visitor that reads nothing of its connection for as long as any body may rest loses all that it waits for, as stalled', async () => {
  const gone: boolean[] = []
  const begun: Exchange[] = []
  const pair = createHttp2Pair((exchange) => {
    begun.push(exchange)
    exchange.onGone((isStalled) => void gone.push(isStalled))
  })
  pair.send(BEGINNING, frame(HEADERS, 5, 1, GET), frame(HEADERS, 5, 3, GET))
  await pair.settled()
  pair.hold()
  begun[0]!.answer({ status: 200, reason: '', fields: FieldSection.EMPTY, body: 'unknown' })
  begun[0]!.write(Buffer.alloc(1_000))
  await pair.settled()
  pair.connection.look(performance.now() + TIMEOUTS.bodyIdleMs + 50)
  await pair.settled()
  expect([pair.isClosed(), gone]).toEqual([true, [true, true]])
  pair.close()
})

test.each([
  ['is kept for who takes it, however slowly', 1_000, []],
  ['is lost by who takes a few bytes at a time', 100, [[1, CANCEL]]],
])('an answer whose application has sent all of it %s', async (_, bytes, lost) => {
  const { pair, begun, resets } = await stall(1)
  begun[0]!.end()
  const endedAtMs = performance.now()
  await pause(100)
  pair.send(frame(WINDOW_UPDATE, 0, 1, word(bytes)))
  await pair.settled()
  pair.connection.look(endedAtMs + TIMEOUTS.bodyIdleMs + 50)
  await pair.settled()
  expect([begun[0]!.bytesSent, resets()]).toEqual([bytes, lost])
  pair.connection.look(performance.now() + TIMEOUTS.bodyIdleMs)
  await pair.settled()
  expect(resets()).toEqual([[1, CANCEL]])
  pair.close()
})

test('a request that cannot begin beside answers that nobody takes is given back, to be sent elsewhere', async () => {
  const { pair, begun, resets, goaways } = await stall(STALLED)
  const waiting = Array.from({ length: STALLED - begun.length }, (_, i) => [2 * (begun.length + i) + 1, REFUSED_STREAM])
  expect(waiting.length).toBeGreaterThan(0)
  pair.connection.look(performance.now() + 9_000)
  await pair.settled()
  expect(resets()).toEqual([])
  pair.connection.look(performance.now() + 11_000)
  await pair.settled()
  expect([resets(), goaways()]).toEqual([waiting, []])
  pair.close()
})

test('a request that cannot begin beside answers that nobody takes is given back even while another is taken', async () => {
  const { pair, begun, resets } = await stall(STALLED)
  const waiting = Array.from({ length: STALLED - begun.length }, (_, i) => [2 * (begun.length + i) + 1, REFUSED_STREAM])
  pair.send(frame(WINDOW_UPDATE, 0, 0, word(0x7fff0000)), frame(WINDOW_UPDATE, 0, 1, word(0x7fff0000)))
  pair.hold()
  for (let i = 0; i < 10; i += 1) begun[0]!.write(Buffer.alloc(PIECE))
  pair.connection.look(performance.now() + 11_000)
  pair.release()
  await pair.settled()
  expect(resets()).toEqual(waiting)
  pair.close()
})

test.each([
  [1, 4],
  [60, 1],
])('a request waits on beside %i answers on a slow line, whose windows are open', async (many, pieces) => {
  const begun: Exchange[] = []
  const pair = createHttp2Pair((exchange) => void begun.push(exchange))
  pair.send(PREFACE, frame(SETTINGS, 0, 0, [0, 4, 0x7f, 0xff, 0xff, 0xff]), frame(WINDOW_UPDATE, 0, 0, word(0x7fff0000)))
  pair.send(...Array.from({ length: many }, (_, i) => frame(HEADERS, 5, 2 * i + 1, GET)))
  await pair.settled()
  pair.hold()
  for (const exchange of begun) {
    exchange.answer({ status: 200, reason: '', fields: FieldSection.EMPTY, body: 'unknown' })
    for (let i = 0; i < pieces; i += 1) exchange.write(Buffer.alloc(PIECE))
  }
  pair.send(frame(HEADERS, 5, 2 * many + 1, GET))
  await pair.settled()
  expect(begun.length).toBe(many)
  pair.connection.look(performance.now() + 60_000)
  for (let round = 0; round < 20; round += 1) {
    pair.release()
    await pair.settled()
  }
  expect(begun.length).toBe(many + 1)
  expect(pair.frames.filter(({ type }) => type === RST_STREAM)).toEqual([])
  pair.close()
})

test('a small answer that comes while a slow line is busy with large ones waits for a little of each of them', async () => {
  const many = 20
  const begun: Exchange[] = []
  const pair = createHttp2Pair((exchange) => {
    exchange.answer({ status: 200, reason: '', fields: FieldSection.EMPTY, body: 'unknown' })
    begun.push(exchange)
  })
  pair.send(PREFACE, frame(SETTINGS, 0, 0, [0, 4, 0x7f, 0xff, 0xff, 0xff]), frame(WINDOW_UPDATE, 0, 0, word(0x7fff0000)))
  pair.send(...Array.from({ length: many + 1 }, (_, i) => frame(HEADERS, 5, 2 * i + 1, GET)))
  await pair.settled()
  pair.hold()
  const [small, ...large] = begun.reverse()
  for (const exchange of large) exchange.write(Buffer.alloc(PIECE))
  small!.write(Buffer.alloc(1_000))
  small!.end()
  const bodies = () => pair.frames.filter(({ type }) => type === DATA)
  const place = () => bodies().findIndex(({ streamId }) => streamId === 2 * many + 1)
  for (let round = 0; round < 100 && place() < 0; round += 1) {
    pair.release()
    pair.hold()
    await pair.settled()
  }
  const before = bodies()
    .slice(0, place())
    .reduce((sum, { payload }) => sum + payload.length, 0)
  expect(place()).toBeGreaterThan(0)
  expect(before).toBeLessThan((many * PIECE) / 2)
  pair.close()
})

test('requests that are taken back before they begin leave nothing behind, and what comes later begins', async () => {
  const { pair, begun, goaways } = await stall(STALLED)
  const [long, lot] = [requestBlock('shop.customer.com', { path: `/${'x'.repeat(4_000)}` }), 150]
  const before = { bytes: heapBytes(), begun: begun.length }
  let id = 2 * STALLED + 1
  for (let round = 0; round < 15; round += 1, id += 2 * lot) {
    const ids = Array.from({ length: lot }, (_, i) => id + 2 * i)
    for (const one of ids) pair.send(frame(HEADERS, 5, one, long))
    await pair.settled()
    await pause(RAPID_MS + 30)
    for (const one of ids) pair.send(frame(RST_STREAM, 0, one, word(CANCEL)))
    await pair.settled()
  }
  expect(heapBytes() - before.bytes).toBeLessThan(4_000_000) // they were 15 MB
  expect([begun.length, goaways()]).toEqual([before.begun, []])
  pair.send(...Array.from({ length: STALLED }, (_, i) => frame(WINDOW_UPDATE, 0, 2 * i + 1, word(PIECE))))
  pair.send(frame(WINDOW_UPDATE, 0, 0, word(STALLED * PIECE)))
  await expect.poll(() => begun.length).toBe(STALLED)
  pair.close()
})

test('who goes says no later that more streams were taken than it said before', async () => {
  const { pair, goaways } = await stall(1)
  pair.connection.leave()
  await pair.settled()
  const ping = pair.frames.find(({ type, flags }) => type === PING && flags === 0)!
  pair.send(frame(PING, 1, 0, ping.payload), frame(HEADERS, 5, 3, GET), frame(HEADERS, 5, 2, GET))
  await pair.settled()
  expect(goaways()).toEqual([2 ** 31 - 1, 1, 1])
  pair.close()
})

test('with much kept for all connections together each keeps less, and what ends is no longer counted', async () => {
  const kept = new KeptForAll()
  kept.bytes = 256 * 1024 * 1024
  const { pair, begun } = await stall(STALLED, kept)
  expect(begun.length).toBe(3)
  pair.close()
  await pair.settled()
  expect(kept.bytes).toBe(256 * 1024 * 1024)
})

test('answers that come after all requests have begun are let go again, as far as they are more than a connection may keep', async () => {
  const kept = new KeptForAll()
  kept.bytes = 256 * 1024 * 1024
  const before = kept.bytes
  const answers: (() => void)[] = []
  const { pair, begun, resets } = await stall(STALLED, kept, (answer) => answers.push(answer))
  expect(begun.length).toBe(STALLED)
  for (const answer of answers) answer()
  await pair.settled()
  expect(kept.bytes - before).toBe(STALLED * (PIECE + BESIDE))
  pair.connection.look(performance.now() + 1_000)
  await pair.settled()
  expect(resets()).toEqual([])
  pair.connection.look(performance.now() + 2_000)
  await pair.settled()
  expect(kept.bytes - before).toBe(5 * (PIECE + BESIDE))
  expect(resets()).toEqual(begun.slice(5).map((_, i) => [2 * i + 1, CANCEL]))
  pair.close()
})

test.each([
  ['heads', 'little', 0, 8 * 1024 * 1024],
  ['heads', 'much', 256 * 1024 * 1024, 2 * 1024 * 1024],
  ['trailers', 'little', 0, 8 * 1024 * 1024],
])(
  'of the %s for a visitor that reads nothing no more wait than a connection may keep with %s kept for all',
  async (what, _, before, max) => {
    const kept = new KeptForAll()
    const begun: Exchange[] = []
    const stalled: boolean[] = []
    const pair = createHttp2Pair((exchange) => {
      exchange.onGone((isStalled) => void stalled.push(isStalled))
      begun.push(exchange)
    }, kept)
    pair.send(BEGINNING, ...Array.from({ length: STREAMS }, (_, i) => frame(HEADERS, 5, 2 * i + 1, GET)))
    await pair.settled()
    kept.bytes += before
    pair.hold()
    const fields = FieldSection.ofList(['x-large', 'x'.repeat(LARGE)])
    for (const exchange of begun) {
      exchange.answer({ status: 200, reason: '', fields: what === 'heads' ? fields : FieldSection.EMPTY, body: 'unknown' })
      exchange.end(what === 'heads' ? [] : fields.list)
    }
    await pair.settled()
    const taken = STREAMS - stalled.length
    expect(taken * LARGE).toBeGreaterThan(max * 0.9)
    expect(kept.bytes - before).toBeLessThan(max + 2 * LARGE)
    expect(kept.bytes - before).toBeGreaterThan(max * 0.9)
    expect(stalled.every(Boolean)).toBe(true)
    pair.connection.look(performance.now() + 3_000)
    await pair.settled()
    expect(pair.isClosed()).toBe(before > 0)
    pair.release()
    await pair.settled()
    expect(kept.bytes).toBe(before)
    const whole = pair.frames.filter(({ flags, type }) => type === DATA && (flags & 1) === 1)
    if (what === 'heads' && before === 0) expect(whole.length).toBe(taken)
    pair.close()
  },
)

test('a small answer that waits counts what it holds, and nothing once it has been taken', async () => {
  const kept = new KeptForAll()
  const pair = createHttp2Pair((exchange) => {
    exchange.answer({ status: 421, reason: '', fields: FieldSection.EMPTY, body: 2 })
    exchange.write(Buffer.from('no'))
    exchange.end()
  }, kept)
  pair.send(SHUT, ...Array.from({ length: STALLED }, (_, i) => frame(HEADERS, 5, 2 * i + 1, GET)))
  await pair.settled()
  expect(kept.bytes).toBe(STALLED * (2 + BESIDE))
  pair.send(frame(SETTINGS, 0, 0, [0, 4, 0, 0, 0, 1]))
  await pair.settled()
  expect(kept.bytes).toBe(STALLED * (1 + BESIDE))
  pair.send(frame(SETTINGS, 0, 0, [0, 4, 0, 0, 0, 2]))
  await pair.settled()
  expect(kept.bytes).toBe(0)
  pair.close()
})

test.each([
  ['little', 0, 0],
  ['much', 256 * 1024 * 1024, 4],
])('with %s kept for all connections together (%i bytes), of 12 bodies that nobody takes %i are given up', async (_, before, lost) => {
  const kept = new KeptForAll()
  kept.bytes = before
  const begun: Exchange[] = []
  const pair = createHttp2Pair((exchange) => begun.push(exchange), kept)
  const ids = Array.from({ length: 12 }, (_, i) => 2 * i + 1)
  pair.send(PREFACE, frame(SETTINGS, 0, 0), ...ids.map((id) => frame(HEADERS, 4, id, GET)))
  await pair.settled()
  for (const id of ids) pair.send(...Array.from({ length: 4 }, () => frame(DATA, 0, id, Buffer.alloc(15_000))))
  await pair.settled()
  expect([begun.length, kept.bytes - before]).toEqual([12, 720_000])
  pair.connection.look(performance.now() + 1_000)
  pair.connection.look(performance.now() + 2_000)
  await pair.settled()
  const resets = pair.frames.filter(({ type }) => type === RST_STREAM)
  expect(resets.map(({ streamId, payload }) => [streamId, payload.readUInt32BE()])).toEqual(ids.slice(0, lost).map((id) => [id, CANCEL]))
  expect(kept.bytes - before).toBe((12 - lost) * 60_000)
  begun.at(-1)!.body!.start({ take() {}, end() {} }) // is taken
  await pair.settled()
  expect(kept.bytes - before).toBe((11 - lost) * 60_000)
  pair.close()
})

test.each([
  ['little', 0, 16_200, STREAMS],
  ['much', 248 * 1024 * 1024, 16_200, 13],
  ['much', 248 * 1024 * 1024, 1, 111],
  ['all that may be', 256 * 1024 * 1024, 16_200, 1],
])(
  'with %s kept of open requests of all connections together (%i bytes), with %i bytes of fields %i are open on one',
  async (_, before, fieldBytes, open) => {
    const kept = new KeptForAll()
    kept.headsBytes = before
    const begun: Exchange[] = []
    const pair = createHttp2Pair((exchange) => void begun.push(exchange), kept)
    const block = requestBlock('shop.customer.com', { more: ['x-large', 'x'.repeat(fieldBytes)] })
    const ids = Array.from({ length: STREAMS }, (_, i) => 2 * i + 1)
    pair.send(BEGINNING, ...ids.map((id) => frame(HEADERS, 5, id, block)))
    await pair.settled()
    const resets = pair.frames.filter(({ type }) => type === RST_STREAM)
    expect(begun.length).toBe(open)
    expect(resets.map(({ streamId, payload }) => [streamId, payload.readUInt32BE()])).toEqual(
      ids.slice(open).map((id) => [id, REFUSED_STREAM]),
    )
    expect(kept.headsBytes - before).toBeGreaterThan(open * (fieldBytes + BESIDE))
    begun[0]!.abort()
    pair.send(frame(HEADERS, 5, 2 * STREAMS + 1, block))
    await pair.settled()
    expect(begun.length).toBe(open + 1)
    pair.close()
    await pair.settled()
    expect(kept.headsBytes).toBe(before)
  },
)

test('trailers of requests that wait count as their heads do, and what finds no room ends its stream', async () => {
  const kept = new KeptForAll()
  const pair = createHttp2Pair(() => {}, kept)
  const ids = [1, 3, 5]
  const post = requestBlock('shop.customer.com', { method: 'POST' })
  pair.send(BEGINNING, ...ids.map((id) => frame(HEADERS, 4, id, post)))
  await pair.settled()
  const heads = kept.headsBytes
  kept.headsBytes += 256 * 1024 * 1024
  for (const id of ids) pair.send(frame(HEADERS, 5, id, literals('x-large', 'x'.repeat(12_000))))
  await pair.settled()
  const resets = pair.frames.filter(({ type }) => type === RST_STREAM)
  expect(resets.map(({ streamId }) => streamId)).toEqual([5])
  kept.headsBytes -= 256 * 1024 * 1024
  expect(kept.headsBytes).toBeGreaterThan((heads / 3 + 12_000) * 2)
  pair.close()
  await pair.settled()
  expect(kept.headsBytes).toBe(0)
})

test('the head of a request that is given up within a piece of its body, which is shorter than announced, is no longer counted', async () => {
  const kept = new KeptForAll()
  const pair = createHttp2Pair((exchange) => exchange.body!.start({ take: () => exchange.abort(), end() {} }), kept)
  const post = requestBlock('shop.customer.com', { method: 'POST', more: ['content-length', '10'] })
  pair.send(BEGINNING, frame(HEADERS, 4, 1, post))
  await pair.settled()
  pair.send(frame(DATA, 1, 1, Buffer.alloc(5)))
  await pair.settled()
  expect(kept.headsBytes).toBe(0)
  pair.close()
})

test('a request that waits for what others keep begins once they have gone', async () => {
  const kept = new KeptForAll()
  kept.bytes = 256 * 1024 * 1024
  const { pair, begun } = await stall(4, kept)
  expect(begun.length).toBe(3)
  kept.bytes -= 256 * 1024 * 1024
  pair.connection.look(performance.now())
  await pair.settled()
  expect(begun.length).toBe(4)
  pair.close()
})

test('an answer whose last byte fills the window of the connection, and waits for the line, ends without a further window', async () => {
  const bytes = 266_384
  const pair = createHttp2Pair((exchange) => {
    exchange.onDrain(() => exchange.end())
    exchange.answer({ status: 200, reason: '', fields: FieldSection.EMPTY, body: 'unknown' })
    for (let left = bytes; left > 0; left -= 50_000) exchange.write(Buffer.alloc(Math.min(50_000, left)))
  })
  const wide = frame(SETTINGS, 0, 0, Buffer.concat([Buffer.from([0, 4]), word(1_000_000)]))
  pair.send(PREFACE, wide, frame(WINDOW_UPDATE, 0, 0, word(bytes - 65_535)), frame(HEADERS, 5, 1, GET))
  pair.hold()
  await pair.settled()
  const hasEnded = () => pair.frames.some(({ streamId, type, flags }) => streamId === 1 && type === DATA && (flags & 1) === 1)
  expect(hasEnded()).toBe(false)
  pair.release()
  await expect.poll(hasEnded).toBe(true)
  expect(bodyOf(pair.frames, 1)).toHaveLength(bytes)
})
