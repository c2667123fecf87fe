import type { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { Random } from '../../test/fuzz/random.ts'
import { inChunks, readBody, readHead } from '../../test/support/http1-bytes.ts'
import { createLine, settled } from '../../test/support/line.ts'
import { PLAIN } from '../../test/support/plain-request.ts'
import { seedsToTry, upTo } from '../../test/support/seeds.ts'
import { chunkOf, PIECES, tellingBodies } from '../../test/support/telling-bytes.ts'
import { ArrivingBody } from './arriving-body.ts'
import { TIMEOUTS } from './timeouts.ts'
import { createTurn } from './turn.ts'
import { readUpstream } from './upstream.ts'
import type { UpstreamConnection } from './upstream-connection.ts'
import { createUpstreamPools } from './upstream-pools.ts'
import { createUpstreamRoom } from './upstream-room.ts'

const SEEDS = seedsToTry(upTo(40))
const REQUESTS = 25
const STEPS = 200
const BODY_BYTES_MAX = 300_000
const bodyOf = tellingBodies(REQUESTS, BODY_BYTES_MAX)

/** An application behind a connection in memory: it answers each request that is whole, with pieces by chance. */
class Application {
  readonly uploads = new Map<number, Buffer>()
  readonly #random: Random
  readonly #answerOf: (number: number) => Buffer
  #received: Buffer = Buffer.alloc(0)
  #owed: Buffer = Buffer.alloc(0)
  readonly line = createLine({ onTaken: (chunk) => this.#take(chunk) })

  constructor(random: Random, answerOf: (number: number) => Buffer) {
    this.#random = random
    this.#answerOf = answerOf
  }

  /** Sends the next piece of what it owes. False: there is none. */
  answerOn(bytes = this.#random.pick(PIECES)): boolean {
    const piece = this.#owed.subarray(0, bytes)
    this.#owed = this.#owed.subarray(piece.length)
    if (piece.length > 0) this.line.socket.push(Buffer.from(piece))
    return piece.length > 0
  }

  #take(chunk: Buffer): void {
    this.#received = Buffer.concat([this.#received, chunk])
    const head = readHead(this.#received)
    const upload = head && readBody(this.#received, head)
    if (!upload) return
    const number = Number(/^POST \/(\d+) /.exec(head.text)![1])
    this.uploads.set(number, upload.body)
    this.#received = this.#received.subarray(upload.end)
    this.#owed = this.#answerOf(number)
  }
}

/** A request whose body comes in pieces, and what came back. */
class Visit {
  readonly body: ArrivingBody
  readonly taken: Buffer[] = []
  readonly number: number
  readonly #length: number
  readonly #reader = { bytesSent: 0 }
  #pushed = 0
  connection: UpstreamConnection | undefined
  outcome = 'open'

  constructor(number: number, length: number, isMeasured: boolean) {
    this.number = number
    this.#length = length
    this.body = new ArrivingBody(isMeasured ? length : undefined, () => {})
  }

  get expected(): Buffer {
    return bodyOf(this.number, this.#length)
  }

  /** False: it is whole. */
  push(bytes: number): boolean {
    const size = Math.min(bytes, this.#length - this.#pushed)
    if (size === 0) {
      this.body.end([])
      return false
    }
    const chunk = chunkOf(this.expected.subarray(this.#pushed, this.#pushed + size))
    this.#pushed += size
    this.body.push(chunk)
    if (this.#pushed === this.body.length) this.body.end([]) // with its last byte, as whoever reads it by its length knows
    return true
  }

  pause(): void {
    if (this.outcome === 'open') this.connection?.pause(this.#reader)
  }

  resume(): void {
    if (this.outcome === 'open') this.connection?.resume()
  }
}

test.each(SEEDS)('whatever comes when, uploads and answers arrive whole, and their connections are free again (seed %i)', async (seed) => {
  const random = new Random(seed)
  const answers = Array.from({ length: REQUESTS }, (_, i) => bodyOf(i, random.pick([0, ...PIECES]) + random.pick(PIECES)))
  const answerOf = (number: number) => {
    const body = answers[number]!
    if (random.chance(0.5)) return Buffer.concat([Buffer.from(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n`), body])
    return Buffer.concat([Buffer.from('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'), inChunks(body, () => random.pick(PIECES))])
  }
  const applications: Application[] = []
  const connect = async () => {
    const application = new Application(random, answerOf)
    applications.push(application)
    return application.line.socket as unknown as Socket
  }
  const pools = createUpstreamPools({ turn: createTurn(), room: createUpstreamRoom(), timeouts: TIMEOUTS, connect, visitorsMax: 100 })
  const upstream = readUpstream('http://127.0.0.1:1', 'http1', '1')
  const visits: Visit[] = []
  const begin = async () => {
    if (visits.length === REQUESTS) return
    const visit = new Visit(visits.length, random.pick([0, ...PIECES]) + random.pick(PIECES), random.chance(0.5))
    visits.push(visit)
    const request = { ...PLAIN, target: `/${visit.number}`, body: visit.body }
    visit.connection = await pools.acquire(upstream)
    visit.connection.send(request, {
      onInterim() {},
      onHead() {},
      onData: (chunk) => void visit.taken.push(Buffer.from(chunk)),
      onEnd() {
        visit.outcome = 'whole'
      },
      onUpgrade() {},
      onBroken(broken) {
        visit.outcome = broken.kind === 'visitor-stalled' ? broken.kind : broken.failure.message
      },
    })
  }
  const ofVisit = (act: (visit: Visit) => void) => () => void (visits.length > 0 && act(random.pick(visits)))
  const ofApplication = (act: (application: Application) => void) => () => void (applications.length > 0 && act(random.pick(applications)))
  const push = ofVisit((visit) => visit.push(random.pick(PIECES)))
  const answer = ofApplication((application) => application.answerOn())
  const release = ofApplication((application) => application.line.release())
  const moves = [
    begin,
    push,
    push,
    push,
    push,
    answer,
    answer,
    answer,
    release,
    release,
    ofApplication((application) => application.line.hold()),
  ]
  const all = [...moves, ofVisit((visit) => visit.pause()), ofVisit((visit) => visit.resume()), ofVisit((visit) => visit.resume())]
  for (let step = 0; step < STEPS; step += 1) {
    void random.pick(all)()
    if (random.chance(0.4)) await new Promise((resolve) => setImmediate(resolve))
  }
  for (const visit of visits) {
    while (visit.push(BODY_BYTES_MAX));
    visit.resume()
  }
  for (let round = 0; round < 10; round += 1) {
    for (const application of applications) application.line.release()
    await settled()
    for (const application of applications) while (application.answerOn());
    await settled()
  }
  expect(visits.map(({ outcome }) => outcome)).toEqual(visits.map(() => 'whole'))
  const uploads = new Map(applications.flatMap((application) => [...application.uploads]))
  expect(visits.filter(({ number, expected }) => !uploads.get(number)?.equals(expected))).toEqual([])
  expect(visits.filter(({ number, taken }) => !Buffer.concat(taken).equals(answers[number]!))).toEqual([])
  const { connections, idle } = pools.counts()
  expect(idle).toBe(connections) // one whose application answered before we knew that its upload had left is closed
  pools.destroy()
})
