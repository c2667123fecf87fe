import type { TLSSocket } from 'node:tls'
import { expect, test } from 'vitest'
import { Random } from '../../../test/fuzz/random.ts'
import { type BodyRead, inChunks, readBody, readHead } from '../../../test/support/http1-bytes.ts'
import { createLine, settled } from '../../../test/support/line.ts'
import { seedsToTry, upTo } from '../../../test/support/seeds.ts'
import { chunkOf, tellingBodies } from '../../../test/support/telling-bytes.ts'
import type { Exchange } from '../engine.ts'
import { FieldSection } from '../field-section.ts'
import { TIMEOUTS } from '../timeouts.ts'
import { createTurn } from '../turn.ts'
import { Http1Connection } from './connection.ts'

const SEEDS = seedsToTry(upTo(40))
const REQUESTS = 12
const STEPS = 150
const PIECES = [1, 100, 4_096, 16_384, 16_385, 30_000, 98_304]
const BODY_BYTES_MAX = 250_000
const bodyOf = tellingBodies(REQUESTS, BODY_BYTES_MAX)

/** An application that takes a body and writes its answer in pieces by chance, and ends it when the body has been whole. */
class Application {
  readonly taken: Buffer[] = []
  readonly #exchange: Exchange
  readonly #random: Random
  readonly #number: number
  readonly #length: number
  readonly #trailers: string[]
  #written = 0
  #isRead: boolean
  #isWaiting = false
  hasClosed = false
  isPaused = false

  constructor(exchange: Exchange, number: number, random: Random) {
    this.#exchange = exchange
    this.#random = random
    this.#number = number
    this.#isRead = !exchange.body
    this.#length = random.pick([0, ...PIECES]) + random.pick(PIECES)
    const isMeasured = random.chance(0.5)
    this.#trailers = isMeasured ? [] : random.pick([[], ['x-sum', '7']])
    exchange.onClose(() => {
      this.hasClosed = true
      return 'id'
    })
    exchange.onDrain(() => {
      this.#isWaiting = false
      this.writeOn()
    })
    exchange.answer({ status: 200, reason: 'OK', fields: FieldSection.EMPTY, body: isMeasured ? this.#length : 'unknown' })
    exchange.body?.start({
      take: (chunk) => void this.taken.push(Buffer.from(chunk)),
      end: () => {
        this.#isRead = true
        this.writeOn()
      },
    })
    this.writeOn()
  }

  get expected(): { body: Buffer; trailers: string } {
    return { body: bodyOf(this.#number, this.#length), trailers: this.#trailers.join(': ') }
  }

  /** Whether it is the engine's turn to do something. */
  get isOwed(): boolean {
    return this.#isWaiting || (!this.isPaused && !this.hasClosed)
  }

  pause(): void {
    this.isPaused = true
    this.#exchange.body?.pause()
  }

  resume(): void {
    this.isPaused = false
    this.#exchange.body?.resume()
  }

  writeOn(): void {
    while (!this.#isWaiting && !this.hasClosed && this.#written < this.#length) {
      const size = Math.min(this.#random.pick(PIECES), this.#length - this.#written)
      const chunk = chunkOf(this.expected.body.subarray(this.#written, this.#written + size))
      this.#written += size
      this.#isWaiting = !this.#exchange.write(chunk)
    }
    if (this.#written === this.#length && this.#isRead && !this.#isWaiting) this.#exchange.end(this.#trailers)
  }
}

/** Requests one behind the other as bytes, some with a body, chunked or with its length. */
function requestsOf(random: Random) {
  const bodies = Array.from({ length: REQUESTS }, (_, number) =>
    bodyOf(number, random.pick([0, 0, ...PIECES]) + random.pick([0, ...PIECES])),
  )
  const parts = bodies.map((body) => {
    if (body.length === 0) return Buffer.from('GET / HTTP/1.1\r\nHost: shop.customer.com\r\n\r\n')
    const head = 'POST / HTTP/1.1\r\nHost: shop.customer.com\r\n'
    if (random.chance(0.5)) return Buffer.concat([Buffer.from(`${head}Content-Length: ${body.length}\r\n\r\n`), body])
    return Buffer.concat([Buffer.from(`${head}Transfer-Encoding: chunked\r\n\r\n`), inChunks(body, () => random.pick(PIECES))])
  })
  return { bodies, bytes: Buffer.concat(parts) }
}

/** The answers in these bytes. */
function* answersIn(bytes: Buffer): Generator<BodyRead> {
  for (let at = 0; at < bytes.length; ) {
    const head = readHead(bytes, at)
    const answer = head && readBody(bytes, head)
    if (!answer) throw new Error('an answer is not whole')
    at = answer.end
    yield answer
  }
}

test.each(SEEDS)(
  'whatever comes when, requests and answers arrive whole and in order, and nothing is left waiting (seed %i)',
  async (seed) => {
    const random = new Random(seed)
    const { bodies, bytes } = requestsOf(random)
    const written: Buffer[] = []
    const { socket, hold, release } = createLine({ onTaken: (chunk) => void written.push(chunk) })
    const applications: Application[] = []
    const onExchange = (exchange: Exchange) => void applications.push(new Application(exchange, applications.length, random))
    const connection = { servername: undefined, peer: '192.0.2.1', covers: () => true }
    const parts = { timeouts: TIMEOUTS, turn: createTurn(), isDraining: () => false, onExchange, http2ErrorSent() {} }
    new Http1Connection(socket as unknown as TLSSocket, connection, parts)
    let sent = 0
    const send = () => {
      const piece = bytes.subarray(sent, sent + random.pick(PIECES))
      sent += piece.length
      if (piece.length > 0) socket.push(piece)
    }
    const last = () => applications.at(-1)
    const moves = [send, send, send, send, release, release, hold, () => last()?.pause(), () => last()?.resume(), () => last()?.resume()]
    const rest = async () => {
      release()
      for (let before = -1; before !== written.length + applications.length; ) {
        before = written.length + applications.length
        for (let i = 0; i < 3; i += 1) await settled()
      }
    }
    for (let step = 0; step < STEPS; step += 1) {
      random.pick(moves)()
      if (random.chance(0.3)) await new Promise((resolve) => setImmediate(resolve))
      if (random.chance(0.1)) await rest()
    }
    while (sent < bytes.length) send()
    for (let i = 0; i < REQUESTS; i += 1) {
      last()?.resume()
      await rest()
    }
    expect(applications.map(({ taken, isOwed }) => [Buffer.concat(taken).length, isOwed])).toEqual(
      bodies.map(({ length }) => [length, false]),
    )
    expect(applications.every(({ taken }, i) => Buffer.concat(taken).equals(bodies[i]!))).toBe(true)
    const answers = [...answersIn(Buffer.concat(written))]
    expect(answers.map(({ body, trailers }) => [body.length, trailers])).toEqual(
      applications.map(({ expected: { body, trailers } }) => [body.length, trailers]),
    )
    expect(answers.every(({ body }, i) => body.equals(applications[i]!.expected.body))).toBe(true)
    socket.destroy()
  },
)
