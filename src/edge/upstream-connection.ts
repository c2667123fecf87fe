import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { type AnswerListener, AnswerParser, type InterimHead, type ParsedHead } from './answer-parser.ts'
import type { Fields } from './engine.ts'
import { trailersBeyondHop } from './forwarded-trailers.ts'
import type { LastAnswerHead } from './last-answer-head.ts'
import { hearLastWords } from './last-words.ts'
import { keep, letGo, letGoOnceWritten } from './let-go.ts'
import { SpareBuffers, smallBuffers } from './spare-buffers.ts'
import { oldAtMs, type Timeouts } from './timeouts.ts'
import type { Turn, TurnMember } from './turn.ts'
import { Unsent } from './unsent.ts'
import { broken, type Upstream, UpstreamFailure } from './upstream.ts'
import { type BodySending, type BodySink, sendBody } from './upstream-body.ts'
import type { SlowReader, UpstreamListener } from './upstream-listener.ts'
import { borrowBytes } from './upstream-reads.ts'
import { addRequestHead, type UpstreamRequest } from './upstream-request.ts'
import type { UpstreamSurplus } from './upstream-surplus.ts'

type Running = {
  parser: AnswerParser
  listener: UpstreamListener
  sending: BodySending | undefined
  head: ParsedHead | undefined
  trailers: Fields | undefined
}

/** Of requests on their way: a large one holds what one turn brings of an upload, four records of TLS (RFC 8446 §5.1) behind their head. */
const BUFFERS = { small: smallBuffers, large: new SpareBuffers(72 * 1024, 64) }
/** A larger piece leaves by itself: to copy it would cost more than a second write. */
const GATHERED_BYTES_MAX = 32 * 1024
/** TLS says a turn later, or two of much, what the system has taken at once. */
const TOLD_WITHIN_TURNS = 4

/** One connection to an upstream, which carries one exchange at a time. Who opens it calls `look` about every second: time-outs are kept there. */
export class UpstreamConnection implements AnswerListener, BodySink, TurnMember {
  readonly upstream: Upstream
  readonly #socket: Socket
  readonly #timeouts: Timeouts
  readonly #onFree: (connection: UpstreamConnection) => void
  #onClose: (() => void) | undefined
  readonly #turn: Turn
  readonly #takeNoMore: () => void
  readonly #lastHead: LastAnswerHead
  readonly #surplus: UpstreamSurplus
  #running: Running | undefined
  readonly #unsent: Unsent
  /** Whether something of the request that it carries has left. */
  #isAsked = false
  /** The request's visitor has authenticated the connection, not the request alone. */
  #isPersonal = false
  /** Whether its last answer was one that can have no body. */
  #wasBodiless = false
  /** The other side has ended it, or we have. */
  #isOver = false
  /** For whom it is paused. */
  #slowReader: SlowReader | undefined
  #idleMs: number
  readonly #oldAtMs: number
  /** For how long nothing may move in either direction, and since when nothing has. */
  #silenceMsMax: number
  #silentSinceMs = 0
  #moved = -1
  #received = 0
  /** Whether it was kept, after an exchange or for the first one: the other side may have ended it meanwhile. */
  isReused = false
  /** Infinite while it carries an exchange. */
  restsSinceMs = Number.POSITIVE_INFINITY

  /** `free` is called when an exchange has left the connection fit for another one, `close` once when it is gone, or carries another protocol. */
  constructor(
    socket: Socket,
    upstream: Upstream,
    timeouts: Timeouts,
    on: { free(connection: UpstreamConnection): void; close(): void; turn: Turn; lastHead: LastAnswerHead; surplus: UpstreamSurplus },
  ) {
    this.#turn = on.turn
    this.#lastHead = on.lastHead
    this.#surplus = on.surplus
    this.#unsent = new Unsent(BUFFERS, { areTakenAtOnce: !(socket instanceof TLSSocket) })
    this.upstream = upstream
    this.#socket = socket
    this.#timeouts = timeouts
    this.#idleMs = timeouts.keepAliveMs
    this.#oldAtMs = oldAtMs(timeouts, on.turn.nowMs())
    this.#silenceMsMax = timeouts.answerHeadMs
    this.#onFree = on.free
    this.#takeNoMore = borrowBytes(socket, this.#receive)
    socket.resume()
    socket.on('drain', this.#drained)
    socket.on('end', this.#end)
    socket.on('error', this.#error)
    socket.on('close', this.#closed)
    this.#onClose = on.close
    hearLastWords(socket)
  }

  /** Whether it can carry an exchange now: open, not too old, and not idle for longer than the upstream keeps it. */
  get isUsable(): boolean {
    if (this.#isOver || this.#socket.destroyed) return false
    const nowMs = this.#turn.nowMs()
    return nowMs < this.#oldAtMs && (!this.isResting || nowMs - this.restsSinceMs < this.#idleMs)
  }

  get isResting(): boolean {
    return this.restsSinceMs !== Number.POSITIVE_INFINITY
  }

  send(request: UpstreamRequest, listener: UpstreamListener): void {
    const parser = new AnswerParser(request, this, this.#lastHead)
    const running: Running = { parser, listener, sending: undefined, head: undefined, trailers: undefined }
    this.#running = running
    this.restsSinceMs = Number.POSITIVE_INFINITY
    this.#allowSilence(request.body ? this.#timeouts.bodyIdleMs : this.#timeouts.answerHeadMs)
    this.#isAsked = false
    this.#isPersonal = request.said.authenticatesConnection
    this.#joinTurn()
    addRequestHead(this.#unsent, request)
    if (request.body) running.sending = sendBody(this, request.body)
  }

  sendText(text: string): void {
    this.#joinTurn()
    this.#unsent.addText(text)
  }

  sendPiece(piece: Buffer): void {
    if (this.#socket.destroyed) {
      letGo(piece) // nothing leaves any more: the news of it is on its way
      return
    }
    if (!this.#unsent.hasRoomFor(piece.length)) this.#sendOut()
    if (piece.length > GATHERED_BYTES_MAX) {
      this.#sendLarge(keep(piece))
      return
    }
    this.#joinTurn()
    this.#unsent.addPiece(piece)
    letGo(piece)
  }

  bodyComplete(): void {
    if (this.#running?.head === undefined) this.#allowSilence(this.#timeouts.answerHeadMs)
  }

  /** Requests leave together: each write alone would wake who waits for it. */
  endTurn(): void {
    this.#sendOut()
  }

  pause(reader: SlowReader): void {
    this.#slowReader = reader
    this.#socket.pause()
  }

  resume(): void {
    if (!this.#slowReader) return
    this.#slowReader = undefined
    this.#socket.resume()
  }

  /** It waits for its next exchange: for our keep-alive time at most, or less when the upstream said so. */
  rest(): void {
    this.isReused = true
    if (!this.isResting) this.restsSinceMs = this.#turn.nowMs() // else it was taken and has come back unused
  }

  /** Ends what has waited for too long. */
  look(nowMs: number): void {
    if (this.#isOver) return void this.#socket.destroy()
    if (this.isResting) {
      if (nowMs - this.restsSinceMs >= this.#idleMs) this.close()
      return
    }
    const taken = this.#slowReader?.bytesSent ?? 0
    const moved = this.#received + taken + this.#socket.bytesWritten - this.#socket.writableLength
    if (moved !== this.#moved) {
      this.#moved = moved
      this.#silentSinceMs = nowMs
    } else if (this.#running && nowMs - this.#silentSinceMs >= this.#silenceMsMax) {
      this.#fail(new UpstreamFailure('timeout', 'the upstream was silent for too long'))
    }
  }

  /** Ends it while nothing is on its way. Over TLS the other side is told so (RFC 9112 §9.8), and has until the next look to take that. */
  close(): void {
    this.#isOver = true
    if (this.#socket instanceof TLSSocket) this.#socket.destroySoon()
    else this.#socket.destroy()
  }

  destroy(): void {
    this.#isOver = true
    this.#running?.sending?.stop()
    this.#running = undefined
    this.#socket.destroy()
  }

  release(): void {
    if (this.isUsable) this.#onFree(this)
    else this.close()
  }

  onInterim(head: InterimHead): void {
    this.#running?.listener.onInterim(head)
  }

  onHead(head: ParsedHead): void {
    const running = this.#running
    if (!running) return
    running.head = head
    this.#allowSilence(head.fields.isEventStream ? Number.POSITIVE_INFINITY : this.#timeouts.bodyIdleMs)
    if (head.status !== 101) running.listener.onHead(head) // a 101 is told once its connection can be handed over
  }

  onData(chunk: Buffer): void {
    this.#running?.listener.onData(chunk)
  }

  onEnd(trailers: Fields): void {
    if (this.#running) this.#running.trailers = trailers
  }

  /** To be called before something is added to what has not been sent. */
  #joinTurn(): void {
    if (this.#unsent.length === 0) this.#turn.addWriter(this)
  }

  #sendOut(): void {
    if (this.#unsent.length === 0 || this.#socket.destroyed) return
    this.#isAsked = true
    if (!this.#unsent.writeTo(this.#socket)) this.#running?.sending?.block()
  }

  #sendLarge(piece: Buffer): void {
    this.#socket.cork()
    this.#sendOut()
    if (!this.#socket.write(piece, letGoOnceWritten(this.#socket, piece))) this.#running?.sending?.block()
    this.#socket.uncork()
  }

  #allowSilence(ms: number): void {
    this.#silenceMsMax = ms
    this.#moved = -1
  }

  readonly #receive = (chunk: Buffer) => {
    this.#received += chunk.length
    const running = this.#running
    if (!running || !this.#isAsked) this.#noteSurplus(chunk)
    if (!running) return this.destroy() // bytes that nobody asked for
    if (!this.#isAsked) return this.#fail(new UpstreamFailure('reset', 'the upstream answered before it was asked'))
    let used: number
    try {
      used = running.parser.feed(chunk)
      if (running.head?.status === 101) running.listener.onHead(running.head)
    } catch (error) {
      if (!running.head) this.#noteSurplus(chunk)
      return this.#fail(error instanceof UpstreamFailure ? error : new UpstreamFailure('malformed', String(error), { cause: error }))
    }
    if (this.#running === running && running.parser.isDone) {
      if (running.head?.status === 101) return this.#handOver(running, keep(chunk.subarray(used)))
      this.#finish(running, used === chunk.length)
      if (used < chunk.length) this.#noteSurplus(chunk.subarray(used))
    }
    letGo(chunk)
  }

  #noteSurplus(bytes: Buffer): void {
    if (this.#wasBodiless) this.#surplus.note(this.upstream, bytes, this.#turn.nowMs())
  }

  #handOver(running: Running, behind: Buffer): void {
    this.#running = undefined
    const socket = this.#socket.off('drain', this.#drained).off('end', this.#end)
    this.#takeNoMore()
    socket.pause()
    this.#leave()
    running.listener.onUpgrade(socket, behind)
  }

  #finish({ head, sending, listener, trailers }: Running, nothingBehind: boolean): void {
    this.#running = undefined
    sending?.discard()
    this.#wasBodiless = head!.body === 'none'
    const isDoubtful = this.#wasBodiless && this.#surplus.isKnownOf(this.upstream, this.#turn.nowMs())
    const mayStay = head!.keepsAlive && !this.#isPersonal && nothingBehind && !isDoubtful
    const isTls = this.#socket instanceof TLSSocket
    this.#idleMs = Math.min(this.#timeouts.keepAliveMs, head!.fields.idleMs)
    this.resume() // a slow visitor may have paused it, and it is the next one's now
    this.isReused = true // whoever has it next
    if (sending?.isComplete === false || this.#unsent.length > 0) this.#socket.destroy()
    else if (isTls && !sending && mayStay && this.isUsable) this.#onFree(this)
    else this.#part(mayStay, isTls ? TOLD_WITHIN_TURNS : 0)
    listener.onEnd(trailersBeyondHop(trailers ?? [], head!.fields.connection))
  }

  /** Its exchange is over. What the system has not taken of an upload that was answered early would come before the next request. */
  #part(mayStay: boolean, turnsLeft: number): void {
    const isTaken = this.#socket.writableLength === 0
    if (!isTaken && turnsLeft > 0) setImmediate(() => this.#part(mayStay, turnsLeft - 1))
    else if (!isTaken) this.#socket.destroy()
    else if (mayStay && this.isUsable) this.#onFree(this)
    else this.close()
  }

  readonly #drained = () => {
    this.#running?.sending?.goOn()
  }

  readonly #end = () => {
    this.#isOver = true
    const running = this.#running
    if (!running) this.close()
    else if (running.parser.close()) this.#finish(running, false)
    else this.#fail(new UpstreamFailure('reset', 'the upstream closed the connection before the answer was complete'))
  }

  readonly #error = (error: Error) => {
    this.#fail(broken(error, this))
  }

  readonly #closed = () => {
    this.#fail(new UpstreamFailure('reset', 'the connection to the upstream was closed'))
    this.#leave()
  }

  #leave(): void {
    this.#onClose?.()
    this.#onClose = undefined
  }

  #fail(failure: UpstreamFailure): void {
    const running = this.#running
    const waitsForVisitor = this.#slowReader !== undefined || (running?.sending?.waitsForVisitor ?? false)
    this.destroy()
    if (!running) return
    if (failure.reason === 'timeout' && waitsForVisitor) running.listener.onBroken({ kind: 'visitor-stalled' })
    else running.listener.onBroken({ kind: running.parser.isUntouched ? 'unanswered' : 'half-answered', failure })
  }
}
