import { ArrivingBody } from '../arriving-body.ts'
import type { Fields } from '../engine.ts'
import { type ExchangeHost, Http2Exchange } from './exchange.ts'
import type { Http2Head } from './request-head.ts'
import { STREAM_WINDOW_BYTES, STREAM_WINDOW_BYTES_MAX } from './settings.ts'
import { ReceiveWindow, SendWindow } from './windows.ts'

export type StreamParts = {
  id: number
  head: Http2Head
  endsStream: boolean
  /** What the head counts against the connection's memory. */
  headBytes: number
  begunAtMs: number
  peerWindow: number
  host: ExchangeHost
  /** The request's reader has taken so many bytes of the body. */
  onTaken(stream: Stream, bytes: number): void
}

/** One stream: the visitor's half, which is the request's body, and the exchange that answers on the other half. */
export class Stream {
  readonly id: number
  /** What it counts against the connection's memory. */
  headBytes: number
  /** By the turn's clock. */
  readonly begunAtMs: number
  readonly exchange: Http2Exchange
  readonly receiveWindow: ReceiveWindow
  /** Whether the visitor has sent all that it will. */
  isRequestComplete: boolean
  readonly #body: ArrivingBody | undefined
  readonly #length: number | undefined
  readonly #host: ExchangeHost
  readonly #onTaken: StreamParts['onTaken']
  #received = 0
  /** Bytes of the body that its reader has not taken, and since when it has taken none. */
  #untaken = 0
  #untakenSinceMs = 0

  constructor({ id, head, endsStream, headBytes, begunAtMs, peerWindow, host, onTaken }: StreamParts) {
    this.id = id
    this.headBytes = headBytes
    this.begunAtMs = begunAtMs
    this.isRequestComplete = endsStream
    this.#host = host
    this.receiveWindow = new ReceiveWindow(STREAM_WINDOW_BYTES, STREAM_WINDOW_BYTES_MAX, host.receiveWindow)
    this.#onTaken = onTaken
    this.#length = head.kind === 'head' ? head.length : undefined
    if (!endsStream && this.#length !== 0 && head.kind === 'head')
      this.#body = new ArrivingBody(this.#length, (bytes) => this.#taken(bytes))
    this.exchange = new Http2Exchange({ streamId: id, head, body: this.#body, sendWindow: new SendWindow(peerWindow), host })
  }

  /** Bytes of the body have come. False: they do not fit the announced length (RFC 9113 §8.1.1). */
  receive(chunk: Buffer): boolean {
    this.#received += chunk.length
    if (this.#length !== undefined && this.#received > this.#length) return false
    if (!this.#body) {
      this.#taken(chunk.length) // of a refused request, which nobody reads
    } else if (chunk.length > 0) {
      this.#body.push(chunk)
      this.#countUntaken()
    }
    return true
  }

  /** The request is complete. False: it is shorter than announced. */
  complete(trailers: Fields): boolean {
    if (this.#length !== undefined && this.#received !== this.#length) return false
    this.isRequestComplete = true
    this.#body?.end(trailers)
    return true
  }

  /** Whether something of the body waits of which nothing has been taken for `ms`. */
  isUntaken(nowMs: number, ms: number): boolean {
    return this.#untaken > 0 && nowMs - this.#untakenSinceMs >= ms
  }

  /** Bytes of which nothing has been taken for `ms`: of an answer by shut windows, of the body by its reader. */
  heldBytes(nowMs: number, ms: number): number {
    return this.exchange.heldBytes(nowMs, ms) + (this.isUntaken(nowMs, ms) ? this.#untaken : 0)
  }

  close(): void {
    this.exchange.close()
    this.#body?.cut()
    this.receiveWindow.growNoMore()
  }

  #taken(bytes: number): void {
    this.#countUntaken()
    this.#onTaken(this, bytes)
  }

  #countUntaken(): void {
    const waiting = this.#body?.waitingBytes ?? 0
    const more = waiting - this.#untaken
    if (more === 0) return
    if (more < 0 || this.#untaken === 0) this.#untakenSinceMs = performance.now()
    this.#untaken = waiting
    this.#host.kept(more)
  }
}
