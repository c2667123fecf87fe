import type { Socket } from 'node:net'
import { type Allowance, Budget } from './http2/budget.ts'
import type { FrameBuffers } from './http2/frame-buffers.ts'
import { type FrameListener, FrameReceiver } from './http2/frame-receiver.ts'
import { FrameWriter } from './http2/frame-writer.ts'
import { EndlessHead } from './http2/header-block.ts'
import type { DecodedHead } from './http2/hpack-decoder.ts'
import type { HpackEncoder } from './http2/hpack-encoder.ts'
import { LINGER_MS, UNREAD_HEADS_BYTES_HIGH } from './http2/limits.ts'
import { OpenStreams } from './http2/open-streams.ts'
import { ConnectionError, ERROR_CODE, errorName, FLAG, FRAME, STREAM_ID_MAX, violation } from './http2/protocol.ts'
import { CONNECTION_WINDOW_BYTES, type PeerSettings } from './http2/settings.ts'
import { WaitingMessages } from './http2/waiting-messages.ts'
import { INITIAL_WINDOW_BYTES, ReceiveWindow, SharedSendWindow, tooMuch } from './http2/windows.ts'
import { hearLastWords } from './last-words.ts'
import { SignsOfLife } from './signs-of-life.ts'
import { oldAtMs, type Timeouts } from './timeouts.ts'
import type { Turn, TurnMember } from './turn.ts'
import { broken, type Upstream, UpstreamFailure, VanishedUpstream } from './upstream.ts'
import { greet, UPSTREAM_RULES } from './upstream-http2-greeting.ts'
import type { RequestHost, UpstreamHttp2Request } from './upstream-http2-request.ts'
import { takeBytes } from './upstream-reads.ts'

export type ConnectionParts = {
  timeouts: Timeouts
  turn: Turn
  buffers: FrameBuffers
  encoder: HpackEncoder
  on: {
    /** It takes requests, or more of them. */
    room(connection: UpstreamHttp2Connection): void
    /** It takes no more; the requests that it has are answered still. */
    leaving(connection: UpstreamHttp2Connection, failure: UpstreamFailure): void
    /** Its socket is gone. */
    close(connection: UpstreamHttp2Connection): void
  }
}

/** What is open when a connection leaves may still be cancelled: with `RESETS_MAX` no more than the 200 that Netty's servers forgive. */
const STREAMS_MAX = 100
/** A server measures the way to us by PING as often as it gets data: what is an attack from a visitor is usual here. */
const WITH_UPSTREAM: Allowance = { framesMax: 20_000, refillPerMs: 20 }
/** Acknowledgements of PING and SETTINGS that lie here while the upstream reads nothing. */
const UNREAD_ACKS_MAX = 1_000
/** Servers count what is cancelled on a connection against its client. */
const RESETS_MAX = 100
/** A window that is shut for so long waits for applications, and not for the line. */
const SHUT_MS = 1_000
const PING_PAYLOAD = Buffer.from('namesake')
const EMPTY = Buffer.alloc(0)

/** One connection of HTTP/2 to an upstream (RFC 9113, our side the client's), which carries many requests at once. */
export class UpstreamHttp2Connection implements RequestHost, FrameListener, TurnMember {
  readonly upstream: Upstream
  readonly timeouts: Timeouts
  readonly writer: FrameWriter
  readonly sendWindow = new SharedSendWindow(INITIAL_WINDOW_BYTES)
  peerWindow = INITIAL_WINDOW_BYTES
  readonly #socket: Socket
  readonly #parts: ConnectionParts
  readonly #receiver: FrameReceiver
  readonly #receiveWindow = new ReceiveWindow(CONNECTION_WINDOW_BYTES)
  readonly #requests = new OpenStreams<UpstreamHttp2Request>()
  readonly #waiting: WaitingMessages
  #state: 'greeting' | 'open' | 'leaving' | 'closed' = 'greeting'
  #lastWord = ''
  #isMarked = false
  /** Places that are kept for requests which have not begun. */
  #reserved = 0
  #nextId = 1
  #maxStreams = STREAMS_MAX
  #resets = 0
  #unreadAcks = 0
  #idleSince = performance.now()
  readonly #signs: SignsOfLife
  readonly #greetingEndsAt: number
  /** From when on a younger one is to take its place. */
  readonly oldAtMs: number
  #closeAt = Number.POSITIVE_INFINITY

  constructor(socket: Socket, upstream: Upstream, parts: ConnectionParts) {
    this.upstream = upstream
    this.timeouts = parts.timeouts
    this.#socket = socket
    this.#parts = parts
    this.#signs = new SignsOfLife(parts.timeouts.pingMs)
    this.#greetingEndsAt = performance.now() + parts.timeouts.connectMs
    this.oldAtMs = oldAtMs(parts.timeouts, performance.now())
    this.writer = new FrameWriter(socket, parts, { dirty: () => this.#mark(), sent: () => this.#sent() })
    this.#waiting = new WaitingMessages(this.sendWindow, this.writer)
    this.#receiver = new FrameReceiver(this, new Budget(WITH_UPSTREAM), { ...UPSTREAM_RULES, takePingDue: () => this.writer.takeNews() })
    takeBytes(socket, this.#receive)
    socket.resume()
    socket.on('error', (error) => this.#fail(broken(error, this)))
    socket.once('end', () => socket.destroy())
    hearLastWords(socket) // answers, and GOAWAY: what was not looked at is to be sent elsewhere
    socket.once('close', () => {
      this.#fail(ended(`the upstream closed the connection${this.#lastWord}`))
      parts.on.close(this)
    })
    greet(socket, this.writer)
  }

  get isOpen(): boolean {
    return this.#state === 'open' && this.#socket.writable
  }

  get hasRoom(): boolean {
    return this.isOpen && this.#requests.size + this.#reserved < this.#maxStreams && this.writer.unsentBytes <= UNREAD_HEADS_BYTES_HIGH
  }

  /** Whether its upstream was asked for a sign of life and has shown none yet. */
  get isDoubtful(): boolean {
    return this.#signs.isDoubtful
  }

  /** Whether a body would come through, and not wait behind others of which its upstream takes none. */
  get takesBodies(): boolean {
    return !this.sendWindow.hasBeenShutFor(SHUT_MS)
  }

  /** How many requests its upstream takes on it at once. */
  get streamsMax(): number {
    return this.#maxStreams
  }

  get isIdle(): boolean {
    return this.#requests.size + this.#reserved === 0
  }

  get isReused(): boolean {
    return this.#nextId > 3
  }

  /** Whether it has carried any request. */
  get hasServed(): boolean {
    return this.#nextId > 1
  }

  /** Keeps a place for one request, which it takes or gives back. */
  reserve(): void {
    this.#reserved += 1
  }

  giveBack(): void {
    this.#reserved -= 1
    this.#roomCame()
  }

  open(request: UpstreamHttp2Request): number {
    const id = this.#nextId
    this.#nextId += 2
    this.#reserved -= 1
    this.#requests.add(id, request)
    if (this.#nextId > STREAM_ID_MAX / 2) this.leave()
    return id
  }

  wait(request: UpstreamHttp2Request): void {
    this.#waiting.add(request)
  }

  remove(request: UpstreamHttp2Request): void {
    if (this.#requests.get(request.streamId) !== request) return
    this.#requests.delete(request.streamId)
    this.#waiting.delete(request)
    this.#roomCame()
  }

  reset(request: UpstreamHttp2Request, code: number): void {
    if (this.#state === 'closed' || this.#requests.get(request.streamId) !== request) return
    this.writer.reset(request.streamId, code)
    this.#resets += 1
    if (this.#resets === RESETS_MAX) this.leave()
    this.remove(request)
  }

  /** Takes no more requests, and closes with its last one. */
  leave(): void {
    if (this.#state !== 'open') return
    this.#state = 'leaving'
    this.#parts.on.leaving(this, ended(`the connection has ended${this.#lastWord}`))
    if (this.isIdle) this.#close()
  }

  /** To be asked several times a second: ends what has waited for too long. */
  look(nowMs: number) {
    if (nowMs >= this.#closeAt) return void this.#socket.destroy()
    if (this.#state === 'closed') return
    this.sendWindow.look(nowMs)
    const isStuck = this.writer.stalledMs(nowMs) >= this.timeouts.bodyIdleMs
    const isDead = this.#signs.isDead(nowMs, this.writer.deliveredAtMs)
    if (isStuck || isDead || (this.#state === 'greeting' && nowMs >= this.#greetingEndsAt)) return this.#fail(new VanishedUpstream())
    if ((this.#requests.size > 0 || this.writer.isBusy) && this.#signs.ask(nowMs)) this.writer.frame(FRAME.ping, FLAG.none, 0, PING_PAYLOAD)
    if (this.isIdle && nowMs - this.#idleSince >= this.timeouts.keepAliveMs) return this.leave()
    for (const request of this.#requests.all()) if (nowMs >= request.deadlineAt) request.late()
  }

  destroy(why = 'the edge stops'): void {
    this.#fail(new UpstreamFailure('reset', why))
    this.#socket.destroy()
  }

  endTurn(): void {
    this.#isMarked = false
    this.writer.flush()
  }

  readonly #receive = (chunk: Buffer) => {
    if (this.#state === 'closed') return
    this.#signs.heard()
    try {
      this.#receiver.feed(chunk)
    } catch (error) {
      const what = this.#state === 'greeting' ? 'the upstream does not speak HTTP/2' : `the upstream breaks a rule of HTTP/2: ${error}`
      this.writer.goaway(0, error instanceof ConnectionError ? error.code : ERROR_CODE.internal)
      const failure = new UpstreamFailure('malformed', what, { cause: error })
      if (error instanceof EndlessHead) this.#requests.get(error.streamId)?.fail(failure)
      this.#fail(error instanceof EndlessHead ? ended("another answer's head had no end") : failure)
    }
  }

  onHead(streamId: number, endsStream: boolean, head: DecodedHead): void {
    this.#signs.moved()
    this.#pass(streamId, (request) => request.onHead(head, endsStream))
  }

  onData(streamId: number, endsStream: boolean, content: Buffer, size: number): void {
    this.#signs.moved()
    if (!this.#receiveWindow.receive(size)) throw tooMuch()
    // At once: what is not taken is held back by the window of its stream, and keeps no other stream waiting.
    const opened = this.#receiveWindow.take(size)
    if (opened > 0) this.writer.windowUpdate(0, opened)
    this.#pass(streamId, (request) => request.onData(content, size, endsStream))
  }

  onReset(streamId: number, code: number): boolean {
    const request = this.#find(streamId)
    if (!request) return false
    this.remove(request)
    request.onReset(code)
    return true
  }

  onSettings({ initialWindow = this.peerWindow, maxStreams, setsTableSize }: PeerSettings): void {
    const growth = initialWindow - this.peerWindow
    this.peerWindow = initialWindow
    for (const { sendWindow } of this.#requests.all()) if (!sendWindow.grow(growth)) throw tooMuch()
    if (maxStreams !== undefined) this.#maxStreams = Math.min(maxStreams, STREAMS_MAX)
    if (setsTableSize) this.writer.disownTable()
    this.#acknowledge(FRAME.settings, EMPTY)
    if (this.#state === 'greeting') this.#state = 'open'
    if (growth > 0) this.#waiting.goOn()
    this.#parts.on.room(this)
  }

  onPing(payload: Buffer, isAck: boolean): void {
    if (!isAck) this.#acknowledge(FRAME.ping, payload)
  }

  onGoaway(lastStreamId: number, code: number): void {
    if (code !== ERROR_CODE.none) this.#lastWord = ` with ${errorName(code)}`
    this.leave()
    for (const request of this.#requests.all()) {
      if (request.streamId <= lastStreamId) continue
      this.remove(request)
      request.unprocessed()
    }
  }

  onWindowUpdate(streamId: number, bytes: number) {
    if (streamId === 0) {
      if (bytes === 0) throw violation('WINDOW_UPDATE by nothing')
      const tookBodies = this.takesBodies
      if (!this.#waiting.grow(bytes)) throw tooMuch()
      if (!tookBodies) this.#parts.on.room(this)
      return
    }
    this.#pass(streamId, (request) => {
      if (bytes === 0 || !request.sendWindow.grow(bytes))
        throw new UpstreamFailure('malformed', 'the upstream opens a window by nothing or too far')
      this.#waiting.goOnWith(request)
    })
  }

  /** What comes for a stream that we have ended is nobody's any more. */
  #pass(streamId: number, to: (request: UpstreamHttp2Request) => void): void {
    const request = this.#find(streamId)
    if (!request) return
    try {
      to(request)
    } catch (error) {
      if (error instanceof ConnectionError) throw error
      this.reset(request, ERROR_CODE.protocol)
      request.fail(error instanceof UpstreamFailure ? error : new UpstreamFailure('malformed', String(error), { cause: error }))
    }
  }

  #find(streamId: number): UpstreamHttp2Request | undefined {
    if (streamId % 2 === 0 || streamId >= this.#nextId) throw violation('a stream that was never opened')
    return this.#requests.get(streamId)
  }

  #acknowledge(type: number, payload: Buffer): void {
    this.#unreadAcks += 1
    if (this.#unreadAcks > UNREAD_ACKS_MAX) throw new ConnectionError(ERROR_CODE.enhanceYourCalm, 'it asks and does not read the answers')
    this.writer.frame(type, FLAG.ack, 0, payload)
  }

  #sent(): void {
    this.#unreadAcks = 0
    this.#waiting.goOn()
    if (this.#state === 'open') this.#parts.on.room(this)
  }

  #roomCame(): void {
    this.#idleSince = performance.now()
    if (this.#state === 'open') this.#parts.on.room(this)
    else if (this.#state === 'leaving' && this.isIdle) this.#close()
  }

  #close(): void {
    this.writer.goaway(0, ERROR_CODE.none)
    this.#fail(ended())
  }

  #fail(failure: UpstreamFailure): void {
    if (this.#state === 'closed') return
    const tookRequests = this.#state !== 'leaving'
    this.#state = 'closed'
    this.#closeAt = performance.now() + LINGER_MS
    if (tookRequests) this.#parts.on.leaving(this, failure)
    for (const request of this.#requests.all()) {
      this.#requests.delete(request.streamId)
      request.fail(failure)
    }
    this.writer.end()
  }

  #mark(): void {
    this.#signs.sent()
    if (this.#isMarked) return
    this.#isMarked = true
    this.#parts.turn.add(this)
  }
}

function ended(what = 'the connection has ended'): UpstreamFailure {
  return new UpstreamFailure('reset', what)
}
