import type { TLSSocket } from 'node:tls'
import type { AnswerHead, EngineParts, Exchange, Fields, InterimAnswer, RequestBody, VisitorConnection } from '../engine.ts'
import { RequestFields } from '../forwarded-request.ts'
import { KeptChunks } from '../kept-chunks.ts'
import { letGo } from '../let-go.ts'
import type { FrameWriter } from './frame-writer.ts'
import { FLAG, FRAME, FRAME_BYTES_MAX } from './protocol.ts'
import type { Http2Head } from './request-head.ts'
import type { WaitingMessages } from './waiting-messages.ts'
import type { ReceiveWindow, SendWindow } from './windows.ts'

/** Shorter pieces of a longer answer, one after the other, are what a visitor gets that opens its windows by a few bytes only. A single one is what a window had left. */
const DRIBBLE_BYTES = 256
/** What an answer that waits holds beside its bytes, and counts as much: of small ones it is nearly all. */
const WAITING_BYTES = 2_048
const NOTHING = Buffer.alloc(0)

/** The connection, as an answer sees it. */
export type ExchangeHost = {
  readonly connection: VisitorConnection
  readonly writer: FrameWriter
  readonly sendWindow: SendWindow
  /** Of all bodies of the connection together. */
  readonly receiveWindow: ReceiveWindow
  /** Of those in it `goOn` is called whenever more could be sent. */
  readonly waiting: WaitingMessages
  /** So many bytes more are kept, of an answer or a request's body, until somebody takes them; negative: fewer. */
  kept(bytes: number): void
  dribbled(): void
  /** The whole answer is on its way. */
  answered(exchange: Http2Exchange): void
  /** `isStalled`: since the visitor takes nothing of what waits for it. */
  aborted(exchange: Http2Exchange, isStalled?: boolean): void
}

export type ExchangeParts = {
  streamId: number
  head: Http2Head
  body: RequestBody | undefined
  sendWindow: SendWindow
  host: ExchangeHost
}

/** A visitor's request over HTTP/2, and its answer as frames of one stream. */
export class Http2Exchange implements Exchange {
  readonly protocol = 'HTTP/2'
  readonly connection: VisitorConnection
  readonly method: string
  readonly target: string
  readonly authority: string
  readonly fields: RequestFields
  readonly body: RequestBody | undefined
  readonly expectsContinue: boolean
  readonly upgrade = undefined
  readonly streamId: number
  readonly sendWindow: SendWindow
  bytesSent = 0
  /** Whether it ends because its visitor takes no more. */
  isStalled = false
  readonly #host: ExchangeHost
  readonly #head: Http2Head
  /** What no window had room for yet. */
  #queue = new KeptChunks()
  #queuedBytes = 0
  #sentOfFirst = 0
  /** When something of it was sent last, or it began; once the answer is complete, when more was sent than a few bytes: with those its end would never come. */
  #movedAtMs = 0
  /** Bytes of a counted answer that are still to be written. */
  #left: number | undefined
  #trailers: Fields = []
  #hasBegun = false
  #hasEnded = false
  #hasSentEnd = false
  #hasDribbled = false
  /** The last byte of a counted answer is not its end then. */
  #mayHaveTrailers = false
  #isClosed = false
  #onDrain: (() => void) | undefined
  #onGone: ((isStalled: boolean) => void) | undefined
  #onClose: (() => void) | undefined

  constructor({ streamId, head, body, sendWindow, host }: ExchangeParts) {
    const read = head.kind === 'head' ? head : undefined
    this.#host = host
    this.#head = head
    this.streamId = streamId
    this.sendWindow = sendWindow
    this.connection = host.connection
    this.method = head.method
    this.target = head.target
    this.authority = read?.authority ?? ''
    this.fields = read?.fields ?? new RequestFields()
    this.expectsContinue = read?.expectsContinue ?? false
    this.body = body
  }

  /** Hands the exchange on to be served. */
  begin(onExchange: EngineParts['onExchange']): void {
    onExchange(this, this.#head.kind === 'refused' ? this.#head.status : undefined)
  }

  sendContinue(): void {
    if (!this.#hasBegun && !this.#isClosed) this.#host.writer.head(this.streamId, 100, [], { endsStream: false })
  }

  sendInterim({ status, fields }: InterimAnswer): void {
    if (this.#hasBegun || this.#isClosed || this.#host.writer.isBusy) return
    this.#host.writer.head(this.streamId, status, fields.list, { endsStream: false })
  }

  answer({ status, fields, body, mayHaveTrailers = false }: AnswerHead): void {
    if (this.#isClosed || this.#hasBegun) return
    if (!this.#host.waiting.haveRoomForHead) return void this.#host.aborted(this, true)
    this.#hasBegun = true
    this.#left = typeof body === 'number' ? body : undefined
    this.#mayHaveTrailers = mayHaveTrailers
    this.#hasSentEnd = body === 'none' || (body === 0 && !mayHaveTrailers)
    this.#host.writer.answer(this.streamId, status, fields, { length: this.#left, endsStream: this.#hasSentEnd })
  }

  write(chunk: Buffer): boolean {
    if (this.#isClosed || this.#hasEnded || chunk.length === 0) return true
    if (this.#left !== undefined) this.#left -= chunk.length
    if (this.#hasSentEnd || (this.#left ?? 0) < 0) {
      this.abort()
      return true
    }
    const sent = this.#queue.isEmpty ? this.#send(chunk, 0, chunk.length, this.#mayEndWithData) : 0
    if (sent < chunk.length) {
      this.#keep(chunk, sent)
    } else {
      letGo(chunk)
      if (!this.#host.writer.isBusy) return true
    }
    this.#host.waiting.add(this)
    return false
  }

  end(trailers: Fields = []) {
    if (this.#isClosed || this.#hasEnded) return
    if (!this.#hasBegun || (this.#left ?? 0) > 0) return this.abort()
    this.#hasEnded = true
    this.#trailers = trailers
    if (this.#queue.isEmpty) this.#sendEnd()
  }

  abort(): void {
    if (!this.#isClosed) this.#host.aborted(this)
  }

  onDrain(listener: () => void): void {
    this.#onDrain = listener
  }

  onGone(listener: (isStalled: boolean) => void): void {
    if (this.#isClosed && !this.#isComplete) return void listener(this.isStalled)
    this.#onGone = listener
  }

  onClose(listener: () => void): void {
    this.#onClose = listener
  }

  takeOver(): { socket: TLSSocket; head: Buffer } {
    throw new Error('an HTTP/2 stream does not change protocols')
  }

  /** Sends what waits, as far as there is room, and at most a frame more than `bytes`. False: it has to wait on. */
  goOn(bytes: number): boolean {
    let left = bytes
    for (let chunk = this.#queue.first; chunk; chunk = this.#queue.first) {
      if (left <= 0) return false
      const end = Math.min(chunk.length, this.#sentOfFirst + Math.max(left, FRAME_BYTES_MAX))
      const sent = this.#send(chunk, this.#sentOfFirst, end, this.#queue.size === 1 && this.#mayEndWithData)
      left -= sent
      this.#queued(-sent)
      this.#sentOfFirst += sent
      if (sent >= (this.#hasEnded ? DRIBBLE_BYTES : 1)) this.#movedAtMs = performance.now()
      if (this.#sentOfFirst < chunk.length) return false
      this.#queue.shift()
      this.#sentOfFirst = 0
      letGo(chunk)
    }
    this.#queued(-this.#queuedBytes)
    if (this.#hasEnded) this.#sendEnd()
    else if (this.#host.writer.isBusy) return false
    else this.#onDrain?.()
    return true
  }

  /** Whether something waits for the visitor to take it. */
  get isWaiting(): boolean {
    return !this.#queue.isEmpty
  }

  /** Whether the visitor has taken nothing of what waits for it for `ms`, or of a complete answer next to nothing. */
  isStuck(nowMs: number, ms: number): boolean {
    return this.isWaiting && nowMs - this.#movedAtMs >= ms
  }

  /** What waits and has not moved for `ms`, where that is by a shut window: with open ones it waits for the line, or for its turn. */
  heldBytes(nowMs: number, ms: number): number {
    const isShut = Math.min(this.sendWindow.available, this.#host.sendWindow.available) <= 0
    return isShut && this.isStuck(nowMs, ms) ? this.#queuedBytes : 0
  }

  /** The stream is over, however it ended. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#queued(-this.#queuedBytes)
    this.#queue = new KeptChunks()
    this.#sentOfFirst = 0
    if (!this.#isComplete) this.#onGone?.(this.isStalled)
    this.#onClose?.()
  }

  get #isComplete(): boolean {
    return this.#hasEnded && this.#hasSentEnd
  }

  get #mayEndWithData(): boolean {
    return this.#hasEnded ? this.#trailers.length === 0 : this.#left === 0 && !this.#mayHaveTrailers
  }

  /** Sends of the chunk, from `from` to `end`, what both windows allow and returns how much that was. Its last frame ends the stream when `isLast`. */
  #send(chunk: Buffer, from: number, end: number, isLast: boolean): number {
    const { writer, sendWindow } = this.#host
    const room = Math.min(this.sendWindow.available, sendWindow.available)
    writer.expect(Math.min(room, end - from), Math.min(room, chunk.length - from))
    let at = from
    while (at < end && !writer.isBusy) {
      const allowed = Math.min(this.sendWindow.available, sendWindow.available, FRAME_BYTES_MAX)
      const size = Math.min(allowed, end - at)
      if (size <= 0) break
      const endsStream = isLast && at + size === chunk.length
      writer.frame(FRAME.data, endsStream ? FLAG.endStream : FLAG.none, this.streamId, chunk, at, at + size)
      this.sendWindow.available -= size
      sendWindow.available -= size
      this.bytesSent += size
      at += size
      if (endsStream) this.#hasSentEnd = true
      const isDribble = size < DRIBBLE_BYTES && at < chunk.length
      if (isDribble && this.#hasDribbled) this.#host.dribbled()
      this.#hasDribbled = isDribble
    }
    return at - from
  }

  #sendEnd(): void {
    const { writer, waiting } = this.#host
    if (this.#hasSentEnd) {
      // With the last piece of the body, or with the head.
    } else if (this.#trailers.length > 0) {
      if (!waiting.haveRoomForHead) return void this.#host.aborted(this, true)
      writer.head(this.streamId, undefined, this.#trailers, { endsStream: true })
    } else {
      writer.frame(FRAME.data, FLAG.endStream, this.streamId, NOTHING)
    }
    this.#hasSentEnd = true
    this.#host.answered(this)
  }

  #keep(chunk: Buffer, sent: number): void {
    const isFirst = this.#queue.isEmpty
    if (isFirst) this.#movedAtMs = performance.now()
    if (sent > 0) this.#sentOfFirst = sent
    this.#queued(chunk.length - sent + (isFirst ? WAITING_BYTES : 0))
    this.#queue.push(chunk)
  }

  #queued(bytes: number): void {
    if (bytes === 0) return
    this.#queuedBytes += bytes
    this.#host.kept(bytes)
  }
}
