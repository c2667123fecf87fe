import { expect, test } from 'vitest'
import { Random } from '../../../test/fuzz/random.ts'
import {
  DATA,
  frame,
  GOAWAY,
  HEADERS,
  PING,
  PREFACE,
  RST_STREAM,
  requestBlock,
  SETTINGS,
  WINDOW_UPDATE,
  word,
} from '../../../test/support/http2-frames.ts'
import { createHttp2Pair } from '../../../test/support/http2-pair.ts'
import { seedsToTry, upTo } from '../../../test/support/seeds.ts'
import { chunkOf, tellingBytes } from '../../../test/support/telling-bytes.ts'
import type { Exchange, Fields } from '../engine.ts'
import { FieldSection } from '../field-section.ts'
import type { Http2Exchange } from './exchange.ts'
import { KeptForAll } from './waiting-messages.ts'

const GET = requestBlock('shop.customer.com')
const STEPS = 150
const STREAMS_MAX = 40
const CANCEL = 8
/** Of a body no more than this is asked for by a visitor that opens its windows by chance. */
const BODY_BYTES_MAX = 300_000
const ENDS_STREAM = 1
const FEW_BYTES = [1, 300, 4_096, 16_383, 16_384, 16_385, 65_535, 120_000, 400_000]
const MANY_BYTES = [65_535, 400_000, 4_000_000]
const PIECES = [1, 100, 255, 4_095, 4_096, 16_384, 16_385, 32_768, 98_304, 140_000]
const BYTES = tellingBytes(2 * BODY_BYTES_MAX)

/** An application that answers with pieces by chance, each as soon as it may write it or a little later. */
class Answer {
  readonly exchange: Http2Exchange
  readonly #random: Random
  readonly #onDrain: () => void
  readonly #from: number
  readonly #length: number
  readonly #trailers: Fields
  #written = 0
  /** Whether the next move is its own. */
  isAtWork = false
  isAborted = false

  constructor(exchange: Exchange, random: Random, onDrain: () => void) {
    this.exchange = exchange as Http2Exchange
    this.#random = random
    this.#onDrain = onDrain
    this.#from = this.exchange.streamId * 997
    this.#length = Math.min(BODY_BYTES_MAX, random.pick([0, ...PIECES]) + random.pick(PIECES) + random.pick(PIECES))
    this.#trailers = random.chance(0.3) ? ['grpc-status', '0'] : []
    const body = random.chance(0.5) ? 'unknown' : this.#length
    exchange.onDrain(() => this.#drained())
    exchange.answer({ status: 200, reason: '', fields: FieldSection.EMPTY, body, mayHaveTrailers: this.#trailers.length > 0 })
    this.#writeOn()
  }

  get expected(): Buffer {
    return BYTES.subarray(this.#from, this.#from + this.#length)
  }

  abort(): void {
    this.isAborted = true
    this.exchange.abort()
  }

  #drained(): void {
    this.#onDrain()
    this.#writeOn()
  }

  #writeOn(): void {
    this.isAtWork = true
    if (this.#random.chance(0.3)) setImmediate(this.#write)
    else this.#write()
  }

  readonly #write = (): void => {
    this.isAtWork = false
    while (this.#written < this.#length) {
      const size = Math.min(this.#random.pick(PIECES), this.#length - this.#written)
      const chunk = chunkOf(this.expected.subarray(this.#written, this.#written + size))
      this.#written += size
      if (this.exchange.write(chunk)) continue
      this.#endSometimes()
      return
    }
    this.exchange.end(this.#trailers)
  }

  /** Who knows that it was the last piece need not wait to say so. */
  #endSometimes(): void {
    if (this.#written === this.#length && this.#random.chance(0.5)) this.exchange.end(this.#trailers)
  }
}

/** A visitor that does what it may by chance, and knows what it may expect. */
function createVisitor(random: Random) {
  const kept = new KeptForAll()
  const answers = new Map<number, Answer>()
  const takenBack = new Set<number>()
  const pair = createHttp2Pair((exchange) => {
    const answer = new Answer(exchange, random, () => {
      if (random.chance(0.02)) random.pick([...answers.values()]).abort()
    })
    answers.set(answer.exchange.streamId, answer)
  }, kept)
  const { connection, frames } = pair
  const someBytes = random.pick([FEW_BYTES, MANY_BYTES])
  let opened = 0
  let granted = 65_535
  const bytesOf = (id: number) =>
    Buffer.concat(frames.filter(({ type, streamId }) => type === DATA && streamId === id).map(({ payload }) => payload))
  const endsOf = (id: number) =>
    frames.filter(({ type, flags, streamId }) => type <= HEADERS && streamId === id && (flags & ENDS_STREAM) !== 0).length
  const isOver = (id: number) => takenBack.has(id) || answers.get(id)?.isAborted === true || endsOf(id) > 0

  const initialWindow = (bytes: number) => pair.send(frame(SETTINGS, 0, 0, Buffer.concat([Buffer.from([0, 4]), word(bytes)])))
  const openConnection = (bytes: number) => {
    granted += bytes
    pair.send(frame(WINDOW_UPDATE, 0, 0, word(bytes)))
  }
  const ids = () => Array.from({ length: opened }, (_, i) => 2 * i + 1)
  const openOne = (bytes: number) => opened > 0 && pair.send(frame(WINDOW_UPDATE, 0, random.pick(ids()), word(bytes)))
  const ask = () => {
    if (opened === STREAMS_MAX) return
    opened += 1
    pair.send(frame(HEADERS, 5, 2 * opened - 1, GET))
  }
  const takeBack = () => {
    const open = ids().filter((id) => !isOver(id))
    const unanswered = open.filter((id) => !answers.has(id))
    const id = random.pick(unanswered.length > 0 ? unanswered : open)
    if (id === undefined) return
    takenBack.add(id)
    pair.send(frame(RST_STREAM, 0, id, word(CANCEL)))
  }
  const holdAgain = () => {
    pair.release()
    pair.hold()
  }
  const moves = [
    ...[ask, ask, ask, ask, pair.hold, pair.release, pair.release, holdAgain, takeBack],
    ...[() => openConnection(random.pick(someBytes)), () => openConnection(random.pick(someBytes))],
    ...[() => openOne(random.pick(someBytes)), () => openOne(random.pick(someBytes)), () => openOne(random.pick(someBytes))],
    () => initialWindow(random.pick([0, ...someBytes])),
    () => pair.send(frame(PING, 0, 0, Buffer.alloc(8))),
  ]

  return {
    pair,
    move: () => void random.pick(moves)(),
    /** Until nothing moves any more: what waits then has no room. */
    async rest() {
      pair.release()
      for (let before = -1; before !== frames.length || [...answers.values()].some(({ isAtWork }) => isAtWork); ) {
        before = frames.length
        await pair.settled()
      }
      const idle = ids().filter((id) => !isOver(id) && !answers.has(id))
      const waiting = [...answers.values()].filter(({ exchange }) => !isOver(exchange.streamId))
      const withRoom = waiting.filter(({ exchange }) => Math.min(exchange.sendWindow.available, connection.sendWindow.available) > 0)
      expect({ idle, withRoom: withRoom.map(({ exchange }) => exchange.streamId) }).toEqual({ idle: [], withRoom: [] })
    },
    async finish() {
      initialWindow(4 * BODY_BYTES_MAX)
      openConnection(STREAMS_MAX * BODY_BYTES_MAX)
      await this.rest()
      expect(frames.filter(({ type }) => type === GOAWAY)).toEqual([])
      const sent = frames.filter(({ type }) => type === DATA).reduce((sum, { payload }) => sum + payload.length, 0)
      expect([connection.sendWindow.available, kept.bytes]).toEqual([granted - sent, 0])
      for (const { exchange, expected, isAborted } of answers.values()) {
        const { streamId, bytesSent } = exchange
        const bytes = bytesOf(streamId)
        expect(bytesSent).toBe(bytes.length)
        const isCut = takenBack.has(streamId) || isAborted
        if (!isCut) expect([streamId, bytes.length, endsOf(streamId)]).toEqual([streamId, expected.length, 1])
        expect(bytes.equals(expected.subarray(0, bytes.length))).toBe(true)
      }
      pair.close()
    },
  }
}

/** In the last four a request is taken back just when the line has become free. */
const SEEDS = seedsToTry([...upTo(8), 129, 355, 1_849, 5_353])

test.each(SEEDS)(
  'whatever a visitor does, every answer that was not given up arrives whole, and nothing waits that has room (seed %i)',
  async (seed) => {
    const random = new Random(seed)
    const visitor = createVisitor(random)
    visitor.pair.send(PREFACE, frame(SETTINGS, 0, 0))
    for (let step = 0; step < STEPS; step += 1) {
      visitor.move()
      if (random.chance(0.3)) await new Promise((resolve) => setImmediate(resolve))
      if (random.chance(0.05)) await visitor.rest()
    }
    await visitor.finish()
  },
)
