import type { Random } from '../../fuzz/random.ts'
import { BEGINNING } from '../http2-frames.ts'
import { Http2Peer } from '../http2-peer.ts'
import type { Line } from '../line.ts'
import { PIECES } from '../telling-bytes.ts'
import { arrive } from './arrive.ts'
import type { Asked } from './asked.ts'
import { createVisitorLine, type VisitorConnection, type VisitorParts } from './visitor-connection.ts'

const EMPTY = Buffer.alloc(0)
const STREAMS_MAX = 30
const CANCEL = 8

type Stream = {
  asked: Asked
  unsent: Buffer
  hasBegun: boolean
  isSent: boolean
  head: ReadonlyMap<string, string> | undefined
  body: Buffer[]
}

/** Over HTTP/2. */
export class Http2Visits implements VisitorConnection {
  readonly protocol = 'HTTP/2'
  readonly isToEnd = false // it ends with the last answer, whenever that is
  readonly line: Line = createVisitorLine({ taken: (chunk) => this.#peer.receive(chunk), closed: () => this.#closed() })
  readonly #parts: VisitorParts
  readonly #streams = new Map<number, Stream>()
  readonly #peer: Http2Peer
  #nextId = 1
  /** The edge takes no more requests here. */
  #isLeft = false

  constructor(parts: VisitorParts) {
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
    const { method, path, hostname, upload = EMPTY, isUploadMeasured, expectsContinue } = asked
    const id = this.#nextId
    this.#nextId += 2
    const isSent = asked.upload === undefined
    this.#streams.set(id, { asked, unsent: upload, hasBegun: false, isSent, head: undefined, body: [] })
    const length = !isSent && isUploadMeasured ? ['content-length', String(upload.length)] : []
    const expect = expectsContinue ? ['expect', '100-continue'] : []
    const fields = [':method', method, ':scheme', 'https', ':path', path, ':authority', hostname, 'te', 'trailers', ...length, ...expect]
    this.#peer.head(id, fields, isSent)
  }

  sendOn(bytes: number): boolean {
    if (this.line.isOver()) return false
    for (const [id, stream] of this.#streams) {
      const size = Math.min(bytes, stream.unsent.length, this.#peer.roomOn(id))
      if (stream.isSent || (size <= 0 && stream.unsent.length > 0) || this.#keepsBack(stream)) continue
      const piece = stream.unsent.subarray(0, size)
      stream.hasBegun = true
      stream.unsent = stream.unsent.subarray(size)
      stream.isSent = stream.unsent.length === 0
      this.#peer.data(id, piece, stream.isSent)
      return true
    }
    return false
  }

  /** Also for good, once it is answered without having been told to go on. */
  #keepsBack({ asked, hasBegun, head }: Stream): boolean {
    return !hasBegun && ((asked.isUploadUnwanted && head !== undefined) || asked.keepsBack())
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
    if (Number(status) < 200) this.#inform(stream, Number(status))
    else stream.head ??= fields
    if (endsStream) this.#whole(id, stream, status === undefined ? fields.get('x-sum') : undefined)
  }

  #inform({ asked, head }: Stream, status: number): void {
    this.#parts.fault(head ? `${asked.name} was told ${status} behind its answer’s head` : asked.informed(status))
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
