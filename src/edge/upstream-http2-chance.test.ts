import type { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { Random } from '../../test/fuzz/random.ts'
import {
  DATA,
  FrameCollector,
  frame,
  GOAWAY,
  HEADERS,
  literals,
  PING,
  PREFACE,
  RST_STREAM,
  SETTINGS,
  WINDOW_UPDATE,
  word,
} from '../../test/support/http2-frames.ts'
import { createLine, settled } from '../../test/support/line.ts'
import { PLAIN } from '../../test/support/plain-request.ts'
import { seedsToTry, upTo } from '../../test/support/seeds.ts'
import { chunkOf, PIECES, tellingBytes } from '../../test/support/telling-bytes.ts'
import { ArrivingBody } from './arriving-body.ts'
import { TIMEOUTS } from './timeouts.ts'
import { createTurn } from './turn.ts'
import { readUpstream } from './upstream.ts'
import { createUpstreamHttp2Pools } from './upstream-http2-pools.ts'
import type { UpstreamHttp2Request } from './upstream-http2-request.ts'
import { createUpstreamRoom } from './upstream-room.ts'

const STEPS = 200
const UPLOADS_MAX = 30
const UPLOAD_BYTES_MAX = 300_000
const ENDS_STREAM = 1
const FEW_BYTES = [1, 300, 16_383, 16_384, 16_385, 65_535, 120_000]
const MANY_BYTES = [65_535, 400_000, 4_000_000]
const BYTES = tellingBytes(2 * UPLOAD_BYTES_MAX)

/** An upload whose pieces come when somebody says so, and what its visitor is answered. */
class Upload {
  readonly body = new ArrivingBody(undefined, () => {})
  readonly answered: Buffer[] = []
  readonly from: number
  readonly #trailers: string[]
  #pushed = 0
  isWhole = false
  outcome: 'open' | 'answered' | 'failed' = 'open'
  channel: UpstreamHttp2Request | undefined

  constructor(number: number, trailers: string[]) {
    this.from = number * 997
    this.#trailers = trailers
  }

  get expected(): Buffer {
    return BYTES.subarray(this.from, this.from + this.#pushed)
  }

  push(bytes: number): void {
    const size = Math.min(bytes, UPLOAD_BYTES_MAX - this.#pushed)
    if (this.isWhole || size === 0) return
    const from = this.from + this.#pushed
    this.#pushed += size
    this.body.push(chunkOf(BYTES.subarray(from, from + size)))
  }

  end(): void {
    if (!this.isWhole) this.body.end(this.#trailers)
    this.isWhole = true
  }
}

/** An upstream in memory that opens its windows by chance, and uploads that are sent to it. */
function createScene(random: Random) {
  const collector = new FrameCollector()
  const { frames } = collector
  let isGreeted = false
  const { socket, hold, release } = createLine({
    onTaken(chunk) {
      collector.add(isGreeted ? chunk : chunk.subarray(PREFACE.length))
      isGreeted = true
    },
  })
  const pools = createUpstreamHttp2Pools({
    turn: createTurn(),
    room: createUpstreamRoom(),
    timeouts: TIMEOUTS,
    connect: async () => socket as unknown as Socket,
  })
  const upstream = readUpstream('http://127.0.0.1:1', 'h2c', '1')
  const uploads: Upload[] = []
  const grants = new Map<number, number>()
  const someBytes = random.pick([FEW_BYTES, MANY_BYTES])
  let window = 65_535
  let connectionGrants = 65_535

  const send = (...all: Buffer[]) => void socket.push(Buffer.concat(all))
  const idOf = ({ channel }: Upload) => channel?.streamId ?? 0
  const begun = () => uploads.filter((upload) => idOf(upload) > 0 && upload.outcome === 'open')
  const ofStream = (id: number) => frames.filter(({ streamId }) => streamId === id)
  const bytesOf = (id: number) => Buffer.concat(ofStream(id).flatMap(({ type, payload }) => (type === DATA ? [payload] : [])))
  const endsOf = (id: number) => ofStream(id).filter(({ type, flags }) => type <= HEADERS && (flags & ENDS_STREAM) !== 0).length
  const dataBytes = () => frames.reduce((sum, { type, payload }) => sum + (type === DATA ? payload.length : 0), 0)

  const begin = async () => {
    if (uploads.length === UPLOADS_MAX) return
    const upload = new Upload(uploads.length, random.chance(0.3) ? ['x-sum', '7'] : [])
    uploads.push(upload)
    const { body, answered } = upload
    upload.channel = await pools.acquire(upstream)
    upload.channel.send(
      { ...PLAIN, body },
      {
        onInterim() {},
        onHead() {},
        onData: (chunk: Buffer) => void answered.push(Buffer.from(chunk)),
        onEnd() {
          upload.outcome = 'answered'
        },
        onUpgrade() {},
        onBroken() {
          upload.outcome = 'failed'
        },
      },
    )
  }
  const one = () => random.pick(uploads.length > 0 ? uploads : [new Upload(0, [])])
  const open = (upload: Upload | undefined, bytes: number) => {
    if (!upload) return
    grants.set(idOf(upload), (grants.get(idOf(upload)) ?? 0) + bytes)
    send(frame(WINDOW_UPDATE, 0, idOf(upload), word(bytes)))
  }
  const openConnection = (bytes: number) => {
    connectionGrants += bytes
    send(frame(WINDOW_UPDATE, 0, 0, word(bytes)))
  }
  const setWindow = (bytes: number) => {
    window = bytes
    send(frame(SETTINGS, 0, 0, Buffer.concat([Buffer.from([0, 4]), word(bytes)])))
  }
  const answer = (upload: Upload) => {
    const id = idOf(upload)
    const body = frame(DATA, 0, id, upload.expected.subarray(0, 100))
    const end = random.chance(0.5) ? frame(DATA, ENDS_STREAM, id) : frame(HEADERS, 4 | ENDS_STREAM, id, literals('x-sum', '7'))
    send(frame(HEADERS, 4, id, literals(':status', '200')), body, end)
  }
  const moves = [
    ...[begin, begin, hold, release, release],
    ...[
      () => one().push(random.pick(PIECES)),
      () => one().push(random.pick(PIECES)),
      () => one().push(random.pick(PIECES)),
      () => one().end(),
    ],
    ...[() => openConnection(random.pick(someBytes)), () => openConnection(random.pick(someBytes))],
    ...[() => open(random.pick(begun()), random.pick(someBytes)), () => open(random.pick(begun()), random.pick(someBytes))],
    ...[() => open(random.pick(begun()), random.pick(someBytes)), () => setWindow(random.pick([0, 0, ...someBytes]))],
    () => send(frame(PING, 0, 0, Buffer.alloc(8))),
    () => random.pick(begun())?.channel?.destroy(),
  ]
  send(frame(SETTINGS, 0, 0))

  /** Until nothing moves any more: what waits then has no room. */
  const rest = async () => {
    release()
    for (let before = -1; before !== frames.length; ) {
      before = frames.length
      await settled()
    }
    const cut = new Set(frames.flatMap(({ type, streamId }) => (type === RST_STREAM ? [streamId] : [])))
    const connectionRoom = connectionGrants - dataBytes()
    const withRoom = begun().filter((upload) => {
      const id = idOf(upload)
      const sent = bytesOf(id).length
      const streamRoom = window + (grants.get(id) ?? 0) - sent
      const isOwed = sent < upload.expected.length ? Math.min(streamRoom, connectionRoom) > 0 : upload.isWhole && endsOf(id) === 0
      return !cut.has(id) && isOwed
    })
    expect(withRoom.map(idOf)).toEqual([])
    return cut
  }
  return {
    rest,
    move: () => void random.pick(moves)(),
    async finish() {
      setWindow(4 * UPLOAD_BYTES_MAX)
      openConnection(UPLOADS_MAX * UPLOAD_BYTES_MAX)
      for (const upload of uploads) upload.end()
      const cut = await rest()
      for (const upload of begun()) if (!cut.has(idOf(upload))) answer(upload)
      await rest()
      expect(frames.filter(({ type }) => type === GOAWAY)).toEqual([])
      for (const upload of uploads) {
        const [id, bytes] = [idOf(upload), bytesOf(idOf(upload))]
        expect(bytes.equals(upload.expected.subarray(0, bytes.length))).toBe(true)
        if (cut.has(id)) continue
        expect([id, bytes.length, endsOf(id), upload.outcome]).toEqual([id, upload.expected.length, 1, 'answered'])
        expect(Buffer.concat(upload.answered).equals(upload.expected.subarray(0, 100))).toBe(true)
      }
      pools.destroy()
    },
  }
}

const SEEDS = seedsToTry(upTo(40))

test.each(SEEDS)('whatever windows an upstream opens, every upload arrives whole, and none waits that has room (seed %i)', async (seed) => {
  const random = new Random(seed)
  const scene = createScene(random)
  for (let step = 0; step < STEPS; step += 1) {
    scene.move()
    if (random.chance(0.3)) await new Promise((resolve) => setImmediate(resolve))
    if (random.chance(0.15)) await scene.rest()
  }
  await scene.finish()
})
