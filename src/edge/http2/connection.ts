import type { TLSSocket } from 'node:tls'
import type { EngineParts, VisitorConnection } from '../engine.ts'
import { REQUEST_HEAD_BYTES_MAX, STREAMS_PER_CONNECTION_MAX } from '../request-limits.ts'
import type { TurnMember } from '../turn.ts'
import { borrowVisitorBytes } from '../visitor-reads.ts'
import { Budget, COST, WITH_VISITOR } from './budget.ts'
import type { ExchangeHost, Http2Exchange } from './exchange.ts'
import { Farewell } from './farewell.ts'
import type { FrameBuffers } from './frame-buffers.ts'
import { type FrameListener, FrameReceiver } from './frame-receiver.ts'
import { FrameWriter } from './frame-writer.ts'
import { listOf } from './header-field.ts'
import type { DecodedHead } from './hpack-decoder.ts'
import type { HpackEncoder } from './hpack-encoder.ts'
import { BEGIN_MS_MAX, EARLY_ANSWER_MS, LINGER_MS, RAPID_MS, VISITOR_RULES } from './limits.ts'
import { OpenHeads, REQUEST_BYTES } from './open-heads.ts'
import { OpenStreams } from './open-streams.ts'
import { ConnectionError, ERROR_CODE, FLAG, FRAME, violation } from './protocol.ts'
import { areWellFormedTrailers, type Http2Head, LastHttp2Head, readRequest } from './request-head.ts'
import { ResetStreams } from './reset-streams.ts'
import { CONNECTION_WINDOW_BYTES, OUR_SETTINGS, type PeerSettings, STREAM_WINDOW_BYTES } from './settings.ts'
import { Stream } from './stream.ts'
import { type KeptForAll, WaitingMessages } from './waiting-messages.ts'
import { INITIAL_WINDOW_BYTES, ReceiveWindow, SendWindow, tooMuch } from './windows.ts'

export type ConnectionParts = EngineParts & { buffers: FrameBuffers; encoder: HpackEncoder; kept: KeptForAll }

/** `leaving`: the visitor knows that it should open no more streams; `last`: none is taken any more; `closed`: nothing is said or heard. */
type State = 'open' | 'leaving' | 'last' | 'closed'

/** One connection of HTTP/2 (RFC 9113): its streams, its windows, its deadlines, and an end to it when it costs more than it brings. */
export class Http2Connection implements ExchangeHost, FrameListener, TurnMember {
  readonly connection: VisitorConnection
  readonly writer: FrameWriter
  readonly sendWindow = new SendWindow(INITIAL_WINDOW_BYTES)
  readonly receiveWindow = new ReceiveWindow(CONNECTION_WINDOW_BYTES)
  readonly #socket: TLSSocket
  readonly #parts: ConnectionParts
  readonly #receiver: FrameReceiver
  readonly #budget = new Budget(WITH_VISITOR)
  readonly #streams = new OpenStreams<Stream>()
  readonly #resetStreams = new ResetStreams()
  readonly #lastHead = new LastHttp2Head()
  readonly #heads: OpenHeads
  /** Whose exchanges have not begun. */
  #arrived: Stream[] = []
  readonly waiting: WaitingMessages
  readonly #farewell: Farewell
  #state: State = 'open'
  #isMarked = false
  #lineIsFree = false
  #lastStreamId = 0
  #peerWindow = INITIAL_WINDOW_BYTES
  #dribbles = 0
  #waitedFor: object | undefined
  #headDeadlineAt: number
  #idleDeadlineAt: number
  #closeDeadlineAt = Number.POSITIVE_INFINITY

  constructor(socket: TLSSocket, connection: VisitorConnection, parts: ConnectionParts) {
    this.connection = connection
    this.#socket = socket
    this.#parts = parts
    this.writer = new FrameWriter(socket, parts, {
      dirty: () => this.#mark(),
      sent: () => (this.#arrived.length > 0 ? this.#mark(true) : this.waiting.goOn()),
      told: parts.http2ErrorSent,
    })
    this.#farewell = new Farewell(this.writer)
    this.waiting = new WaitingMessages(this.sendWindow, this.writer, parts.kept)
    this.#heads = new OpenHeads(parts.kept)
    this.#receiver = new FrameReceiver(this, this.#budget, { ...VISITOR_RULES, takePingDue: () => this.writer.takeNews() })
    this.#waitedFor = this.#receiver.unfinished
    this.#headDeadlineAt = performance.now() + parts.timeouts.requestHeadMs
    this.#idleDeadlineAt = performance.now() + parts.timeouts.keepAliveMs
    borrowVisitorBytes(socket, this.#receive)
    socket.once('end', () => socket.destroy())
    socket.once('close', () => this.#end())
    this.writer.frame(FRAME.settings, FLAG.none, 0, OUR_SETTINGS)
    this.writer.windowUpdate(0, CONNECTION_WINDOW_BYTES - INITIAL_WINDOW_BYTES)
  }

  /** Says that we go; the connection ends with the last answer that is on its way. */
  leave(): void {
    if (this.#state !== 'open') return
    this.#state = 'leaving'
    this.#farewell.say(this.#parts.turn.nowMs())
  }

  destroy(isStalled = false): void {
    for (const { exchange } of this.#streams.all()) exchange.isStalled = isStalled
    this.#socket.destroy()
  }

  /** To be asked several times a second: ends what has waited for too long. */
  look(nowMs: number) {
    const isStalled = this.writer.stalledMs(nowMs) >= this.waiting.patienceMs(this.#parts.timeouts.bodyIdleMs)
    if (isStalled || nowMs >= this.#closeDeadlineAt) return this.destroy(isStalled)
    if (this.writer.unsentBytes > 0) this.#idleDeadlineAt = nowMs + this.#parts.timeouts.keepAliveMs // an answer is over before its last bytes have left
    if (nowMs >= this.#headDeadlineAt || (this.#streams.size === 0 && nowMs >= this.#idleDeadlineAt)) return this.#fail(ERROR_CODE.none)
    if (this.#state === 'closed') return
    if (this.#state === 'leaving' && this.#farewell.isOver(nowMs)) this.#takeNoMore(nowMs)
    for (const id of this.#resetStreams.due(nowMs)) this.writer.reset(id, ERROR_CODE.none)
    this.#closeIfDone(nowMs)
    if (this.#arrived.length > 0 && !this.waiting.areTooMany) this.#mark() // other connections may have made the room
    if (this.waiting.isEmpty) return
    if (this.waiting.areHeldBack(this.#streams.all(), nowMs, BEGIN_MS_MAX))
      for (const stream of [...this.#arrived]) if (nowMs - stream.begunAtMs >= BEGIN_MS_MAX) this.#reset(stream, ERROR_CODE.refusedStream)
    for (const stream of this.#streams.all())
      if (this.waiting.isLost(stream, nowMs, this.#parts.timeouts.bodyIdleMs))
        this.#reset(stream, this.#arrived.includes(stream) ? ERROR_CODE.refusedStream : ERROR_CODE.cancel, stream.exchange.isWaiting)
  }

  endTurn(): void {
    if (this.#state !== 'closed' && (this.#arrived.length > 0 || this.#lineIsFree)) this.#beginArrived()
    this.#isMarked = this.#lineIsFree = false
    if (this.#state !== 'closed') this.writer.flush()
  }

  kept(bytes: number): void {
    this.waiting.kept(bytes)
    if (bytes < 0 && this.#arrived.length > 0) this.#mark()
  }

  dribbled(): void {
    this.#dribbles += 1
  }

  answered(exchange: Http2Exchange): void {
    const stream = this.#streams.get(exchange.streamId)
    // RFC 9113 §8.1: a complete answer may come before the request has ended; the visitor is told not to send the rest.
    if (stream) this.#forget(stream, this.#parts.turn.nowMs() + EARLY_ANSWER_MS)
  }

  aborted(exchange: Http2Exchange, isStalled = false): void {
    const stream = this.#streams.get(exchange.streamId)
    if (stream) this.#reset(stream, isStalled ? ERROR_CODE.cancel : ERROR_CODE.internal, isStalled)
  }

  readonly #receive = (chunk: Buffer) => {
    if (this.#state === 'closed') return
    try {
      this.#receiver.feed(chunk)
      if (this.#dribbles > 0) this.#budget.charge(COST.dribble * this.#dribbles)
      this.#dribbles = 0
    } catch (error) {
      if (!(error instanceof ConnectionError)) throw error
      return this.#fail(error.code)
    }
    const waitedFor = this.#receiver.unfinished
    if (waitedFor === this.#waitedFor) return
    this.#waitedFor = waitedFor
    this.#headDeadlineAt = waitedFor ? performance.now() + this.#parts.timeouts.requestHeadMs : Number.POSITIVE_INFINITY
  }

  onData(streamId: number, endsStream: boolean, content: Buffer, size: number) {
    if (this.#state === 'closed') return
    if (this.#isIdle(streamId)) throw violation('DATA of a stream that was never opened')
    if (!this.receiveWindow.receive(size)) throw tooMuch()
    const stream = this.#streams.get(streamId)
    if (!stream || stream.isRequestComplete) return this.#onLateData(streamId, stream, size, endsStream)
    if (!stream.receiveWindow.receive(size)) return this.#onUnfitData(stream, size, ERROR_CODE.flowControl)
    if (size > content.length) this.#taken(stream, size - content.length)
    if (!stream.receive(content)) return this.#onUnfitData(stream, content.length, ERROR_CODE.protocol)
    if (endsStream && !stream.complete([])) this.#offend(stream, ERROR_CODE.protocol)
  }

  /** The bytes go nowhere: the connection's window opens again for them, whatever becomes of the stream. */
  #onUnfitData(stream: Stream, bytes: number, code: number): void {
    this.#reopen(bytes)
    this.#offend(stream, code)
  }

  #onLateData(streamId: number, stream: Stream | undefined, size: number, endsStream: boolean) {
    this.#reopen(size)
    if (stream) return this.#offend(stream, ERROR_CODE.streamClosed)
    const late = this.#resetStreams.receive(streamId, size, endsStream)
    if (late.kind === 'refused') this.#refuse(streamId, true, ERROR_CODE.streamClosed)
    else if (late.kind === 'window') this.writer.windowUpdate(streamId, late.opened)
    else if (late.kind === 'end') this.writer.reset(streamId, ERROR_CODE.none)
  }

  onHead(streamId: number, endsStream: boolean, decoded: DecodedHead) {
    if (this.#state === 'closed') return
    const stream = this.#streams.get(streamId)
    if (stream) return this.#onTrailers(stream, endsStream, decoded)
    if (streamId <= this.#lastStreamId && this.#resetStreams.has(streamId)) return
    if (streamId <= this.#lastStreamId) throw new ConnectionError(ERROR_CODE.streamClosed, 'HEADERS of a stream that has ended')
    this.#lastStreamId = streamId
    const head = readRequest(decoded, endsStream, this.#lastHead)
    if (!head) return this.#refuse(streamId, endsStream, ERROR_CODE.protocol)
    const headBytes = REQUEST_BYTES + Math.min(decoded.bytes, REQUEST_HEAD_BYTES_MAX) // what was more has been thrown away
    const hasRoom = this.#streams.size < STREAMS_PER_CONNECTION_MAX && this.#heads.hasRoomFor(headBytes)
    if (this.#state === 'last' || !hasRoom) return this.#refuse(streamId, endsStream, ERROR_CODE.refusedStream)
    this.#open(streamId, endsStream, head, headBytes)
  }

  #open(id: number, endsStream: boolean, head: Http2Head, headBytes: number): void {
    const begunAtMs = this.#parts.turn.nowMs()
    const peerWindow = this.#peerWindow
    const stream = new Stream({ id, head, endsStream, headBytes, begunAtMs, peerWindow, host: this, onTaken: this.#taken })
    this.#streams.add(id, stream)
    this.#heads.kept(headBytes)
    // Not at once: a request that is taken back in the same breath costs no upstream anything.
    this.#arrived.push(stream)
    this.#mark()
  }

  #onTrailers(stream: Stream, endsStream: boolean, { fields, bytes, isProper, isTooLarge }: DecodedHead) {
    if (stream.isRequestComplete) return this.#offend(stream, ERROR_CODE.streamClosed)
    if (!this.#heads.addTrailers(stream, bytes)) return this.#offend(stream, ERROR_CODE.enhanceYourCalm)
    const isWellFormed = endsStream && isProper && !isTooLarge && areWellFormedTrailers(fields)
    if (!isWellFormed || !stream.complete(listOf(fields))) this.#offend(stream, ERROR_CODE.protocol)
  }

  onReset(streamId: number): boolean {
    if (this.#isIdle(streamId)) throw violation('RST_STREAM of a stream that was never opened')
    this.#resetStreams.delete(streamId)
    const stream = this.#streams.get(streamId)
    if (stream) this.#remove(stream)
    return stream !== undefined && this.#parts.turn.nowMs() < stream.begunAtMs + RAPID_MS
  }

  onSettings({ initialWindow = this.#peerWindow, setsTableSize }: PeerSettings): void {
    const growth = initialWindow - this.#peerWindow
    this.#peerWindow = initialWindow
    for (const { exchange } of this.#streams.all()) if (!exchange.sendWindow.grow(growth)) throw tooMuch()
    this.writer.frame(FRAME.settings, FLAG.ack, 0)
    if (setsTableSize) this.writer.disownTable()
    if (growth > 0) this.waiting.goOn()
  }

  onPing(payload: Buffer, isAck: boolean): void {
    if (!isAck) this.writer.frame(FRAME.ping, FLAG.ack, 0, payload)
    else if (this.#farewell.noteAck(payload)) this.#takeNoMore()
  }

  onGoaway(): void {
    this.#takeNoMore()
  }

  onWindowUpdate(streamId: number, bytes: number) {
    if (streamId === 0) {
      if (bytes === 0) throw violation('WINDOW_UPDATE by nothing')
      if (!this.waiting.grow(bytes)) throw tooMuch()
      return
    }
    if (this.#isIdle(streamId)) throw violation('WINDOW_UPDATE of a stream that was never opened')
    const stream = this.#streams.get(streamId)
    if (!stream) return
    if (bytes === 0) return this.#offend(stream, ERROR_CODE.protocol)
    if (!stream.exchange.sendWindow.grow(bytes)) return this.#offend(stream, ERROR_CODE.flowControl)
    this.waiting.goOnWith(stream.exchange)
  }

  #isIdle(streamId: number): boolean {
    return streamId % 2 === 0 || streamId > this.#lastStreamId
  }

  /** Before those who wait for room: they would take all of it again. */
  #beginArrived(): void {
    while (this.#arrived.length > 0 && !this.waiting.areTooMany) this.#arrived.shift()!.exchange.begin(this.#parts.onExchange)
    this.waiting.goOn()
  }

  readonly #taken = (stream: Stream, bytes: number): void => {
    this.#reopen(bytes)
    if (this.#state === 'closed' || stream.isRequestComplete || this.#streams.get(stream.id) !== stream) return
    const opened = stream.receiveWindow.take(bytes)
    if (opened > 0) this.writer.windowUpdate(stream.id, opened)
  }

  #reopen(bytes: number): void {
    const opened = this.receiveWindow.take(bytes)
    if (opened > 0 && this.#state !== 'closed') this.writer.windowUpdate(0, opened)
  }

  /** The visitor broke a rule that concerns one stream. */
  #offend(stream: Stream, code: number): void {
    this.#reset(stream, code)
    this.#budget.charge(COST.error)
  }

  #refuse(streamId: number, isComplete: boolean, code: number): void {
    this.writer.reset(streamId, code)
    if (!isComplete) this.#resetStreams.add(streamId, new ReceiveWindow(STREAM_WINDOW_BYTES))
    this.#budget.charge(COST.error)
  }

  #reset(stream: Stream, code: number, isStalled = false): void {
    stream.exchange.isStalled = isStalled
    this.writer.reset(stream.id, code)
    this.#forget(stream)
  }

  /** `tellAtMs`: when the visitor is to be told, if it has not ended the stream by then. */
  #forget(stream: Stream, tellAtMs?: number): void {
    if (!stream.isRequestComplete) this.#resetStreams.add(stream.id, stream.receiveWindow, tellAtMs)
    this.#remove(stream)
  }

  #remove(stream: Stream): void {
    if (!this.#streams.delete(stream.id)) return
    this.waiting.delete(stream.exchange)
    const at = this.#arrived.indexOf(stream)
    if (at >= 0) this.#arrived.splice(at, 1)
    this.#heads.kept(-stream.headBytes)
    stream.close()
    if (this.#streams.size > 0 || this.#state === 'closed') return
    this.#idleDeadlineAt = this.#parts.turn.nowMs() + this.#parts.timeouts.keepAliveMs
    this.#closeIfDone(this.#parts.turn.nowMs())
  }

  #takeNoMore(nowMs = performance.now()): void {
    if (this.#state === 'open' || this.#state === 'leaving') this.#farewell.takeNoMore(this.#lastStreamId)
    if (this.#state !== 'closed') this.#state = 'last'
    this.#closeIfDone(nowMs)
  }

  /** Behind the last answer, and when the visitor has it: with its next frame to a socket that is closed the system drops what it had not sent yet. */
  #closeIfDone(nowMs: number): void {
    if (this.#state !== 'last' || this.#streams.size > 0 || this.#resetStreams.areUntold) return
    if (!this.#lastStreamId || this.#farewell.hasBeenHeard(this.#idleDeadlineAt - this.#parts.timeouts.keepAliveMs, nowMs)) this.#close()
  }

  #fail(code: number): void {
    if (this.#state === 'closed') return
    this.#socket.pause() // nothing that it sends on is worth the deciphering
    this.#closeDeadlineAt = performance.now() + LINGER_MS
    this.#farewell.takeNoMore(this.#lastStreamId, code)
    this.#close()
  }

  #close(): void {
    this.writer.end(() => (this.#closeDeadlineAt = Math.min(this.#closeDeadlineAt, performance.now() + LINGER_MS)))
    this.#end()
  }

  #end(): void {
    this.#state = 'closed'
    for (const stream of this.#streams.all()) this.#remove(stream)
    this.waiting.end()
  }

  #mark(lineIsFree = false): void {
    this.#lineIsFree ||= lineIsFree
    if (!this.#isMarked) this.#parts.turn.add(this)
    this.#isMarked = true
  }
}
