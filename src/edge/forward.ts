import type { Socket } from 'node:net'
import type { ParsedHead } from './answer-parser.ts'
import type { Exchange, Fields } from './engine.ts'
import type { FieldSection } from './field-section.ts'
import { trailersToForward } from './forwarded-trailers.ts'
import { page, sendPage } from './pages.ts'
import { type FailureReason, type Upstream, UpstreamFailure } from './upstream.ts'
import type { UpstreamChannel, UpstreamChannels } from './upstream-channels.ts'
import type { UpstreamListener } from './upstream-connection.ts'

/** What became of a forwarded request, filled in as it happens; complete when the exchange closes. */
export type Forwarded = {
  status: number
  /** From the first attempt to the head of the answer. */
  upstreamMs: number | undefined
  failure: FailureReason | undefined
}

export type ForwardParts = {
  channels: UpstreamChannels
  /** Takes both ends of a connection whose protocol was changed. */
  onTunnel(ends: { visitor: Exchange; upstream: Socket; behind: Buffer }): void
}

/** May be sent again without harm (RFC 9110 §9.2.2). */
const IDEMPOTENT = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE', 'PROPFIND', 'SEARCH', 'QUERY'])

/** An upstream that ignores `Expect` would leave the visitor waiting for ever. */
const CONTINUE_PATIENCE_MS = 1_000

/**
 * Sends one request to its upstream and the answer back, both as they come. When a kept connection turns out to have died and no byte of
 * an answer came, an idempotent request without a body is sent once more on a fresh one. A failed exchange is a 502 page; once the answer has begun,
 * its end is an error that no visitor takes for the end of the answer.
 */
export function forward(parts: ForwardParts, exchange: Exchange, request: { upstream: Upstream; fields: FieldSection }): Forwarded {
  const forwarding = new Forwarding(parts, exchange, request)
  forwarding.attempt(false)
  return forwarding.outcome
}

class Forwarding implements UpstreamListener {
  readonly outcome: Forwarded = { status: 0, upstreamMs: undefined, failure: undefined }
  readonly #parts: ForwardParts
  readonly #exchange: Exchange
  readonly #request: { upstream: Upstream; fields: FieldSection }
  readonly #startedAt = performance.now()
  #channel: UpstreamChannel | undefined
  #continueTimer: NodeJS.Timeout | undefined
  #isAnswered = false
  #isPaused = false
  #isOver = false
  #isRetry = false

  constructor(parts: ForwardParts, exchange: Exchange, request: { upstream: Upstream; fields: FieldSection }) {
    this.#parts = parts
    this.#exchange = exchange
    this.#request = request
    exchange.onGone(() => this.#leave())
    exchange.onDrain(() => this.#goOn())
  }

  attempt(fresh: boolean): void {
    this.#isRetry = fresh
    try {
      const acquired = this.#parts.channels.acquire(this.#request.upstream, { fresh })
      if (acquired instanceof Promise) this.#sendOnce(acquired)
      else if (this.#isReplayable()) this.#send(acquired)
      else this.#sendOnce(this.#lookTwice(acquired))
    } catch (error) {
      this.#giveUp(error)
    }
  }

  #sendOnce(ready: Promise<UpstreamChannel>): void {
    ready.then((channel) => this.#send(channel)).catch((error) => this.#giveUp(error))
  }

  #send(channel: UpstreamChannel): void {
    if (this.#isOver) {
      channel.destroy()
      return
    }
    this.#channel = channel
    const { method, target, authority, body, expectsContinue, upgrade } = this.#exchange
    const { acceptsTrailers } = this.#exchange.fields
    channel.send({ method, target, authority, fields: this.#request.fields, body, expectsContinue, upgrade, acceptsTrailers }, this)
    if (expectsContinue && body) this.#continueTimer = setTimeout(() => this.onInterim(100), CONTINUE_PATIENCE_MS)
  }

  #giveUp(error: unknown): void {
    if (this.#isOver) return
    this.#fail(error instanceof UpstreamFailure ? error : new UpstreamFailure('unreachable', String(error), { cause: error }))
  }

  /** A kept connection may have been closed just now: for what cannot be sent twice, the news gets one full turn of the loop to arrive. */
  async #lookTwice(channel: UpstreamChannel): Promise<UpstreamChannel> {
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
    if (channel.isUsable) return channel
    channel.destroy()
    return this.#parts.channels.acquire(this.#request.upstream, { fresh: true })
  }

  onInterim(status: number): void {
    clearTimeout(this.#continueTimer)
    if (status === 100 && this.#exchange.expectsContinue && !this.#isAnswered) this.#exchange.sendContinue()
  }

  onHead({ status, reason, fields, body }: ParsedHead): void {
    clearTimeout(this.#continueTimer)
    this.outcome.status = status
    this.outcome.upstreamMs = performance.now() - this.#startedAt
    const isEmpty = body === 0 && this.#exchange.protocol === 'HTTP/2'
    const keepLength = (body === 'none' || isEmpty) && status !== 204
    const keepTrailer = body === 'unknown' && this.#exchange.protocol !== 'HTTP/1.0'
    const kept = status === 101 ? fields.toUpgrade() : fields.toVisitor({ keepLength, keepTrailer })
    // Over HTTP/2 an answer can be complete with its head and say nothing of a length: so a call of gRPC ends that came to nothing.
    this.#exchange.answer({ status, reason, fields: kept, body: isEmpty ? 'none' : body })
    this.#isAnswered = true // not before: what cannot be said to the visitor is still a failed exchange
  }

  onData(chunk: Buffer): void {
    if (this.#isOver || this.#exchange.write(chunk)) return
    this.#isPaused = true
    this.#channel?.pause()
  }

  onEnd(trailers: Fields): void {
    this.#isOver = true
    this.#exchange.end(trailersToForward(trailers))
  }

  onUpgrade(socket: Socket, behind: Buffer): void {
    this.#isOver = true
    this.#parts.onTunnel({ visitor: this.#exchange, upstream: socket, behind })
  }

  onFailure(failure: UpstreamFailure, { answerBegan, visitorStalled }: { answerBegan: boolean; visitorStalled: boolean }): void {
    if (this.#isOver) return
    const mayRetry = failure.reason === 'reset' && !answerBegan && !this.#isRetry && this.#channel?.isReused === true
    if (mayRetry && this.#isReplayable()) this.attempt(true)
    else if (visitorStalled && !this.#isAnswered) this.#refuse(408)
    else this.#fail(failure)
  }

  #isReplayable(): boolean {
    return this.#exchange.body === undefined && this.#exchange.upgrade === undefined && IDEMPOTENT.has(this.#exchange.method)
  }

  #fail({ reason }: UpstreamFailure): void {
    this.outcome.failure = reason
    this.#isOver = true
    if (this.#isAnswered) this.#exchange.abort()
    else this.#refuse(502, reason)
  }

  #refuse(status: number, error?: string): void {
    clearTimeout(this.#continueTimer)
    this.#isOver = true
    this.outcome.status = status
    sendPage(this.#exchange, page(status, error))
  }

  #goOn(): void {
    if (!this.#isPaused) return
    this.#isPaused = false
    if (!this.#isOver) this.#channel?.resume()
  }

  #leave(): void {
    clearTimeout(this.#continueTimer)
    if (this.#isOver) return
    this.#isOver = true
    this.#channel?.destroy()
  }
}
