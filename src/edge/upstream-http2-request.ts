import type { Fields } from './engine.ts'
import { isGrpc } from './grpc.ts'
import type { FrameWriter } from './http2/frame-writer.ts'
import type { DecodedHead } from './http2/hpack-decoder.ts'
import { ERROR_CODE, errorName, FLAG, FRAME, FRAME_BYTES_MAX } from './http2/protocol.ts'
import { STREAM_WINDOW_BYTES, STREAM_WINDOW_BYTES_MAX } from './http2/settings.ts'
import type { Waiting } from './http2/waiting-messages.ts'
import { ReceiveWindow, SendWindow } from './http2/windows.ts'
import type { Repeatable } from './repeatable.ts'
import type { Timeouts } from './timeouts.ts'
import { type Upstream, UpstreamFailure } from './upstream.ts'
import type { UpstreamChannel } from './upstream-channels.ts'
import { Http2BodySending, type Http2BodySink } from './upstream-http2-body.ts'
import { malformed, readAnswerStart, readTrailers, requestFields } from './upstream-http2-head.ts'
import type { Broken, SlowReader, UpstreamListener } from './upstream-listener.ts'
import type { UpstreamRequest } from './upstream-request.ts'

/** A connection, as its requests see it. */
export type RequestHost = {
  readonly upstream: Upstream
  readonly timeouts: Timeouts
  readonly writer: FrameWriter
  readonly sendWindow: SendWindow
  /** What the peer grants each new stream. */
  readonly peerWindow: number
  /** Takes new streams. */
  readonly isOpen: boolean
  /** Whether it has carried more than this one request. */
  readonly isReused: boolean
  /** Begins a stream in the place that was kept for it, and returns its id. */
  open(request: UpstreamHttp2Request): number
  giveBack(): void
  wait(request: UpstreamHttp2Request): void
  /** The stream is over on both sides. */
  remove(request: UpstreamHttp2Request): void
  reset(request: UpstreamHttp2Request, code: number): void
}

/** Each keeps the request waiting, and a 100 is passed on: an endless row of them would be neither late nor bounded. */
const INTERIM_ANSWERS_MAX = 100
/** A stream of gRPC has deadlines of its own, and may have nothing to say for long; its visitor and its connection are watched. */
const GRPC_ANSWER_MS_MAX = 3_600_000
const REPEATS_MAX = 2
const NOTHING = Buffer.alloc(0)

/**
 * One request over HTTP/2 and its answer, both as they come and at once. A request that the upstream says it has not looked at (RFC 9113
 * §6.8, REFUSED_STREAM) moves to another connection, whatever its method, as long as little of its body has been sent. Bytes of the answer
 * open the stream's window only once the visitor has taken them: what lies there for a visitor that does not is never more than a window.
 */
export class UpstreamHttp2Request implements UpstreamChannel, Http2BodySink, Waiting {
  streamId = 0
  sendWindow = new SendWindow(0)
  receiveWindow = new ReceiveWindow(STREAM_WINDOW_BYTES, STREAM_WINDOW_BYTES_MAX)
  /** When it has waited for too long. */
  deadlineAt = Number.POSITIVE_INFINITY
  #host: RequestHost
  readonly #findHost: () => Promise<RequestHost>
  readonly #kept: Repeatable
  #state: 'reserved' | 'moving' | 'running' | 'over' = 'reserved'
  #request: UpstreamRequest | undefined
  #listener: UpstreamListener | undefined
  #sending: Http2BodySending | undefined
  #isGrpc = false
  #hasBegun = false
  #interimAnswers = 0
  /** Bytes of the answer's body that are still to come, where that is known. */
  #left: number | undefined
  #limitMs = 0
  /** For whom it is paused, and how much that one had taken when somebody looked. */
  #slowReader: SlowReader | undefined
  #takenBefore = 0
  /** Bytes of the answer that have been passed on and that the visitor has not taken. */
  #untaken = 0
  #repeats = 0

  /** `host` has kept a place for it; `findHost` finds another one with a place. `kept`: of all requests of the process. */
  constructor(host: RequestHost, findHost: () => Promise<RequestHost>, kept: Repeatable) {
    this.#host = host
    this.#findHost = findHost
    this.#kept = kept
  }

  get isUsable(): boolean {
    return this.#host.isOpen
  }

  get isReused(): boolean {
    return this.#host.isReused
  }

  send(request: UpstreamRequest, listener: UpstreamListener) {
    this.#request = request
    this.#listener = listener
    if (request.upgrade !== undefined)
      return this.#fail(new UpstreamFailure('no-upgrade', 'this upstream is spoken to over HTTP/2, which knows no change of protocol'))
    this.#isGrpc = isGrpc(request.fields.list)
    if (request.body) this.#sending = new Http2BodySending(request.body, this, { kept: this.#kept, owner: this.#host.upstream.owner })
    if (this.#host.isOpen) this.#begin()
    else this.unprocessed()
  }

  pause(reader: SlowReader): void {
    this.#slowReader = reader
    this.#takenBefore = reader.bytesSent
  }

  resume(): void {
    this.#slowReader = undefined
    this.#taken(this.#untaken)
    this.#untaken = 0
  }

  destroy(): void {
    const state = this.#state
    if (state === 'over') return
    this.#end()
    if (state === 'reserved') this.#host.giveBack()
    else if (state === 'running') this.#host.reset(this, ERROR_CODE.cancel)
  }

  release(): void {
    this.destroy() // which gives back what was reserved
  }

  /** Throws UpstreamFailure. */
  onHead(decoded: DecodedHead, endsStream: boolean) {
    if (this.#hasBegun) return this.#complete(readTrailers(decoded, endsStream))
    const start = readAnswerStart(decoded, { method: this.#request!.method, endsStream })
    this.#sending?.commit()
    if (start.kind === 'interim') {
      this.#interimAnswers += 1
      if (this.#interimAnswers > INTERIM_ANSWERS_MAX) throw malformed('too many interim answers')
      return this.#listener?.onInterim(start.head)
    }
    const { head } = start
    this.#hasBegun = true
    this.#left = head.body === 'none' ? 0 : head.body === 'unknown' ? undefined : head.body
    this.#limitMs = head.fields.isEventStream || this.#isGrpc ? Number.POSITIVE_INFINITY : this.#host.timeouts.bodyIdleMs
    this.#waitFor(this.#limitMs)
    this.#listener?.onHead(head)
    if (endsStream) this.#complete([])
  }

  /** `size` counts against the windows: the content with its padding. Throws UpstreamFailure. */
  onData(content: Buffer, size: number, endsStream: boolean): void {
    if (!this.#hasBegun) throw malformed('a body before the head')
    if (!this.receiveWindow.receive(size)) throw malformed('more than the window allows')
    if (this.#left !== undefined) this.#left -= content.length
    if ((this.#left ?? 0) < 0) throw malformed('a body that is longer than announced')
    this.#waitFor(this.#limitMs)
    if (size > content.length) this.#taken(size - content.length)
    if (content.length > 0) this.#pass(content)
    if (endsStream) this.#complete([])
  }

  onReset(code: number): void {
    if (code === ERROR_CODE.refusedStream && !this.#hasBegun) this.unprocessed()
    else this.fail(new UpstreamFailure('reset', `the upstream ended the stream with ${errorName(code)}`))
  }

  /** The upstream has not looked at it. */
  unprocessed() {
    const failure = new UpstreamFailure('reset', 'the upstream takes no requests on this connection')
    if (this.#hasBegun || this.#repeats === REPEATS_MAX || !(this.#sending?.rewind() ?? true)) return this.#fail(failure)
    this.#repeats += 1
    if (this.#state === 'reserved') this.#host.giveBack()
    this.#state = 'moving'
    void this.#move()
  }

  /** The connection, or what came on it, is no good. */
  fail(failure: UpstreamFailure): void {
    if (this.#state === 'running') this.#fail(failure)
  }

  late(): void {
    const taken = this.#slowReader?.bytesSent ?? this.#takenBefore
    if (taken !== this.#takenBefore) {
      this.#takenBefore = taken
      this.#waitFor(this.#limitMs)
      return
    }
    const waitsForVisitor = this.#slowReader !== undefined || (this.#sending?.waitsForVisitor ?? false)
    this.#host.reset(this, ERROR_CODE.cancel)
    if (this.#state !== 'running') return
    if (waitsForVisitor) this.#break({ kind: 'visitor-stalled' })
    else this.#fail(new UpstreamFailure('timeout', 'the upstream was silent for too long'))
  }

  goOn(): boolean {
    return this.#sending?.goOn() ?? true
  }

  waitForRoom(): void {
    if (this.#state === 'running') this.#host.wait(this)
  }

  sendBody(chunk: Buffer): number {
    const { writer, sendWindow } = this.#host
    let at = 0
    while (this.#state === 'running' && at < chunk.length && !writer.isBusy) {
      const size = Math.min(chunk.length - at, this.sendWindow.available, sendWindow.available, FRAME_BYTES_MAX)
      if (size <= 0) break
      writer.frame(FRAME.data, FLAG.none, this.streamId, chunk, at, at + size)
      this.sendWindow.available -= size
      sendWindow.available -= size
      at += size
    }
    if (at > 0) this.#waitFor(this.#hasBegun ? this.#limitMs : this.#isGrpc ? GRPC_ANSWER_MS_MAX : this.#host.timeouts.bodyIdleMs)
    return at
  }

  endBody(trailers: Fields): void {
    if (this.#state !== 'running') return
    const { writer, timeouts } = this.#host
    if (trailers.length > 0) writer.head(this.streamId, undefined, trailers, { endsStream: true })
    else writer.frame(FRAME.data, FLAG.endStream, this.streamId, NOTHING)
    if (!this.#hasBegun) this.#waitFor(this.#isGrpc ? GRPC_ANSWER_MS_MAX : timeouts.answerHeadMs)
  }

  #begin(): void {
    const { timeouts, upstream, writer, peerWindow } = this.#host
    this.streamId = this.#host.open(this)
    this.#state = 'running'
    this.sendWindow = new SendWindow(peerWindow)
    this.receiveWindow = new ReceiveWindow(STREAM_WINDOW_BYTES, STREAM_WINDOW_BYTES_MAX)
    this.#waitFor(this.#isGrpc ? GRPC_ANSWER_MS_MAX : this.#sending ? timeouts.bodyIdleMs : timeouts.answerHeadMs)
    writer.head(this.streamId, undefined, requestFields(this.#request!, upstream.isTls), { endsStream: !this.#sending })
    if (!this.goOn()) this.waitForRoom()
  }

  async #move(): Promise<void> {
    this.deadlineAt = Number.POSITIVE_INFINITY
    try {
      this.#host = await this.#findHost()
    } catch (error) {
      const failure = error instanceof UpstreamFailure ? error : new UpstreamFailure('unreachable', String(error), { cause: error })
      return this.#break({ kind: this.#interimAnswers > 0 ? 'half-answered' : 'unreached', failure })
    }
    if (this.#state !== 'moving') return this.#host.giveBack()
    this.#state = 'reserved'
    if (this.#host.isOpen) this.#begin()
    else this.unprocessed()
  }

  #pass(content: Buffer): void {
    const { length } = content // the content may be let go
    this.#listener?.onData(content)
    if (this.#slowReader) this.#untaken += length
    else this.#taken(length)
  }

  #taken(bytes: number): void {
    const opened = this.receiveWindow.take(bytes)
    if (opened > 0 && this.#state === 'running') this.#host.writer.windowUpdate(this.streamId, opened)
  }

  #complete(trailers: Fields): void {
    if (this.#state !== 'running') return
    if ((this.#left ?? 0) > 0) throw malformed('a body that is shorter than announced')
    const listener = this.#listener
    const isSent = this.#sending?.isComplete ?? true
    this.#end()
    // The answer is complete without the rest of the request: that is not worth sending, but whoever sends first and reads then sends on.
    if (isSent) this.#host.remove(this)
    else this.#host.reset(this, ERROR_CODE.cancel)
    if (!isSent) this.#request?.body?.resume()
    listener?.onEnd(trailers)
  }

  #fail(failure: UpstreamFailure): void {
    this.#break({ kind: this.#hasBegun || this.#interimAnswers > 0 ? 'half-answered' : 'unanswered', failure })
  }

  #break(broken: Broken): void {
    const listener = this.#listener
    if (this.#state === 'reserved') this.#host.giveBack()
    this.#end()
    listener?.onBroken(broken)
  }

  #end(): void {
    this.#state = 'over'
    this.#sending?.stop()
    this.#listener = undefined
    this.deadlineAt = Number.POSITIVE_INFINITY
  }

  #waitFor(ms: number): void {
    this.deadlineAt = performance.now() + ms
  }
}
