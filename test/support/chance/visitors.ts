import type { Random } from '../../fuzz/random.ts'
import { inChunks, readBody, readHead } from '../http1-bytes.ts'
import { BEGINNING } from '../http2-frames.ts'
import { Http2Peer } from '../http2-peer.ts'
import { createLine, type Line } from '../line.ts'
import { PIECES } from '../telling-bytes.ts'
import { arrive } from './arrive.ts'
import type { Asked } from './asked.ts'

const EMPTY = Buffer.alloc(0)
const PIPELINED_MAX = 4
const STREAMS_MAX = 30
const CANCEL = 8

/** One connection of a visitor, who asks, reads and goes when somebody says so. What it finds wrong is told to `fault`. */
export interface VisitorConnection {
  readonly line: Line
  /** It takes another request. */
  readonly hasRoom: boolean
  ask(asked: Asked): void
  /** Sends so many more bytes of its requests. False: all have been sent, or it may not send any now. */
  sendOn(bytes: number): boolean
  /** Opens a window, where it has some. */
  open(random: Random): void
  /** Has room for all from now on. */
  openWide(): void
  /** Gives up something that it asked for, or all. */
  leave(random: Random): void
}

type Parts = { random: Random; fault(what: string | undefined): void }

function createVisitorLine(on: { taken(chunk: Buffer): void; closed(): void }): Line {
  const line = createLine({ onTaken: on.taken, endsToo: true })
  line.socket.once('close', on.closed)
  return line
}

/** Over HTTP/1.1, requests one behind the other. */
export class Http1Visits implements VisitorConnection {
  readonly line: Line = createVisitorLine({ taken: (chunk) => this.#receive(chunk), closed: () => this.#closed() })
  readonly #parts: Parts
  readonly #asked: Asked[] = []
  #unsent: Buffer = EMPTY
  #received: Buffer = EMPTY
  #isLastAnswered = false

  constructor(parts: Parts) {
    this.#parts = parts
  }

  get hasRoom(): boolean {
    return !this.line.isOver() && !this.#isLastAnswered && this.#asked.length < PIPELINED_MAX
  }

  ask(asked: Asked): void {
    const { method, path, hostname, upload, isUploadMeasured } = asked
    const head = `${method} ${path} HTTP/1.1\r\nHost: ${hostname}\r\nTE: trailers\r\nConnection: TE\r\n`
    this.#asked.push(asked)
    this.#unsent = Buffer.concat([this.#unsent, ...this.#partsOf(head, upload, isUploadMeasured)])
  }

  #partsOf(head: string, upload: Buffer | undefined, isMeasured: boolean): Buffer[] {
    if (!upload) return [Buffer.from(`${head}\r\n`)]
    if (isMeasured) return [Buffer.from(`${head}Content-Length: ${upload.length}\r\n\r\n`), upload]
    return [Buffer.from(`${head}Transfer-Encoding: chunked\r\n\r\n`), inChunks(upload, () => this.#parts.random.pick(PIECES))]
  }

  sendOn(bytes: number): boolean {
    const piece = this.#unsent.subarray(0, bytes)
    if (piece.length === 0 || this.line.isOver()) return false
    this.#unsent = this.#unsent.subarray(piece.length)
    arrive(this.line.socket, piece)
    return true
  }

  open(): void {}

  openWide(): void {}

  leave(): void {
    for (const asked of this.#asked.splice(0)) asked.outcome = 'left'
    this.line.socket.destroy()
  }

  #receive(chunk: Buffer): void {
    this.#received = Buffer.concat([this.#received, chunk])
    while (this.#readOne());
  }

  #readOne(): boolean {
    const head = readHead(this.#received)
    if (!head) return false
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(head.text)?.[1])
    const asked = this.#asked[0]
    if (!asked) {
      this.#parts.fault(`an answer that nobody asked for: ${head.text}`)
      return false
    }
    const hasBody = status >= 200 && status !== 204 && asked.method !== 'HEAD'
    const answer = hasBody ? readBody(this.#received, head) : { body: EMPTY, trailers: '', end: head.end }
    if (!answer) return false
    this.#received = this.#received.subarray(answer.end)
    if (status < 200) return true
    this.#asked.shift()
    const number = /^x-number: (\d+)\r$/im.exec(head.text)?.[1]
    this.#parts.fault(asked.answered(status, number, answer.body, answer.trailers || undefined))
    if (/^connection: close\r$/im.test(head.text)) {
      this.#isLastAnswered = true
      for (const other of this.#asked.splice(0)) other.outcome = 'left' // to be asked elsewhere
    }
    return true
  }

  #closed(): void {
    const [first, ...others] = this.#asked.splice(0)
    this.#parts.fault(first?.ended())
    for (const asked of others) asked.outcome = 'left'
  }
}

type Stream = { asked: Asked; unsent: Buffer; isSent: boolean; head: ReadonlyMap<string, string> | undefined; body: Buffer[] }

/** Over HTTP/2. */
export class Http2Visits implements VisitorConnection {
  readonly line: Line = createVisitorLine({ taken: (chunk) => this.#peer.receive(chunk), closed: () => this.#closed() })
  readonly #parts: Parts
  readonly #streams = new Map<number, Stream>()
  readonly #peer: Http2Peer
  #nextId = 1
  /** The edge takes no more requests here. */
  #isLeft = false

  constructor(parts: Parts) {
    this.#parts = parts
    this.#peer = new Http2Peer((bytes) => arrive(this.line.socket, bytes), {
      onHead: (id, fields, endsStream) => this.#head(id, fields, endsStream),
      onData: (id, bytes, endsStream) => this.#data(id, bytes, endsStream),
      onReset: (id) => this.#end(id),
      onGoaway: (lastStreamId) => this.#goaway(lastStreamId),
    })
  }

  /** To be called once the edge serves it. */
  begin(): void {
    this.#peer.say(BEGINNING)
    if (this.#parts.random.chance(0.5)) this.#peer.openWide()
  }

  get hasRoom(): boolean {
    return !this.line.isOver() && !this.#isLeft && this.#streams.size < STREAMS_MAX
  }

  ask(asked: Asked): void {
    const { method, path, hostname, upload = EMPTY, isUploadMeasured } = asked
    const id = this.#nextId
    this.#nextId += 2
    const isSent = asked.upload === undefined
    this.#streams.set(id, { asked, unsent: upload, isSent, head: undefined, body: [] })
    const length = !isSent && isUploadMeasured ? ['content-length', String(upload.length)] : []
    const fields = [':method', method, ':scheme', 'https', ':path', path, ':authority', hostname, 'te', 'trailers', ...length]
    this.#peer.head(id, fields, isSent)
  }

  sendOn(bytes: number): boolean {
    if (this.line.isOver()) return false
    for (const [id, stream] of this.#streams) {
      const size = Math.min(bytes, stream.unsent.length, this.#peer.roomOn(id))
      if (stream.isSent || (size <= 0 && stream.unsent.length > 0)) continue
      const piece = stream.unsent.subarray(0, size)
      stream.unsent = stream.unsent.subarray(size)
      stream.isSent = stream.unsent.length === 0
      this.#peer.data(id, piece, stream.isSent)
      return true
    }
    return false
  }

  open(random: Random): void {
    if (this.line.isOver()) return
    this.#peer.open(random.pick([0, ...this.#streams.keys()]), random.pick(PIECES))
    if (random.chance(0.1)) this.#peer.setInitialWindow(random.pick([1, ...PIECES]))
  }

  openWide(): void {
    if (!this.line.isOver()) this.#peer.openWide()
  }

  leave(random: Random): void {
    const [id, stream] = random.pick([...this.#streams]) ?? []
    if (id !== undefined && random.chance(0.8)) {
      stream!.asked.outcome = 'left'
      this.#streams.delete(id)
      this.#peer.reset(id, CANCEL)
      return
    }
    for (const { asked } of this.#streams.values()) asked.outcome = 'left'
    this.#streams.clear()
    this.line.socket.destroy()
  }

  /** Nothing is on its way that it has not heard of: it asks us whether all has arrived before it says which request is its last. */
  #goaway(lastStreamId: number): void {
    this.#isLeft = true
    for (const [id, { asked }] of this.#streams) if (id > lastStreamId) this.#parts.fault(`${asked.name} was turned away`)
  }

  #head(id: number, fields: ReadonlyMap<string, string>, endsStream: boolean): void {
    const stream = this.#streams.get(id)
    if (!stream) return
    const status = fields.get(':status')
    if (status === undefined || Number(status) >= 200) stream.head ??= fields
    if (endsStream) this.#whole(id, stream, status === undefined ? fields.get('x-sum') : undefined)
  }

  #data(id: number, bytes: Buffer, endsStream: boolean): void {
    const stream = this.#streams.get(id)
    stream?.body.push(bytes)
    if (stream && endsStream) this.#whole(id, stream, undefined)
  }

  #whole(id: number, { asked, head, body }: Stream, trailer: string | undefined): void {
    this.#streams.delete(id)
    this.#parts.fault(asked.answered(Number(head?.get(':status')), head?.get('x-number'), Buffer.concat(body), trailer))
  }

  #end(id: number): void {
    const stream = this.#streams.get(id)
    this.#streams.delete(id)
    this.#parts.fault(stream?.asked.ended())
  }

  #closed(): void {
    for (const { asked } of this.#streams.values()) this.#parts.fault(asked.ended())
    this.#streams.clear()
  }
}
