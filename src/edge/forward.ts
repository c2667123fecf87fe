import type { Socket } from 'node:net'
import type { ClientLoad } from './admission.ts'
import type { InterimHead, ParsedHead } from './answer-parser.ts'
import type { Bridge, Holding, Waiter } from './bridge.ts'
import type { Exchange, Fields } from './engine.ts'
import { trailersToVisitor } from './forwarded-trailers.ts'
import { isGrpc, UNAVAILABLE } from './grpc.ts'
import type { Outage } from './outage.ts'
import { noteFailure, type Outcome, type VisitorLoss } from './outcome.ts'
import type { Turn } from './turn.ts'
import { type FailureReason, type Upstream, UpstreamFailure, VanishedUpstream } from './upstream.ts'
import type { UpstreamChannel, UpstreamChannels } from './upstream-channels.ts'
import type { Broken, UpstreamListener } from './upstream-listener.ts'
import type { UpstreamRequest } from './upstream-request.ts'
import type { Asking } from './upstream-share.ts'

/** What the visitor is to be told in the edge's own words. */
export type Refusal = { status: number; error: FailureReason | undefined; retryAfterS: number | undefined }

export type ForwardParts<Visit> = {
  channels: UpstreamChannels
  bridge: Bridge
  turn: Turn
  /** Takes both ends of a connection whose protocol was changed. */
  onTunnel(visit: Visit, ends: { upstream: Socket; behind: Buffer }): void
  /** Where it is to be sent by now; undefined when the hostname is not served any more for whom it was served when the request came. */
  upstreamNow(visit: Visit, upstream: Upstream): Promise<Upstream | undefined>
  /** Answers with a page. */
  refuse(visit: Visit, refusal: Refusal): void
}

/** What passes between a visitor and a project; `isEndless` is what has no end of its own, a tunnel or an event stream. */
export type Exchanging = { readonly isEndless: boolean; cut(reason: VisitorLoss): void }

type ForwardedVisit = { exchange: Exchange; outcome: Outcome; view: { readonly load: ClientLoad | undefined } }
type ForwardRequest = { upstream: Upstream; fields: UpstreamRequest['fields'] }

/** May be sent again without harm (RFC 9110 §9.2.2). */
const IDEMPOTENT = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE', 'PROPFIND', 'SEARCH', 'QUERY'])

/** Neither changes anything, nor is it costly to wait with it (RFC 9110 §9.2.1). */
const HOLDABLE = new Set(['GET', 'HEAD', 'OPTIONS'])

/** Of a request over connections that stood, and ended without a word when it may have been read. */
const ATTEMPTS_MAX = 3
/** So soon a forwarder resets a connection that it has nobody for. */
const TURNED_AWAY_MS = 100

/** An upstream that ignores `Expect` would leave the visitor waiting for ever. */
const CONTINUE_PATIENCE_MS = 1_000

/**
 * Sends one request to its upstream and the answer back, both as they come. When a kept connection turns out to have died and no byte of
 * an answer came, an idempotent request without a body is sent once more on a fresh one; while the upstream cannot be reached, GET, HEAD and OPTIONS are held. A failed exchange is a 502 page; once the answer has begun,
 * its end is an error that no visitor takes for the end of the answer.
 */
export function forward<Visit extends ForwardedVisit>(parts: ForwardParts<Visit>, visit: Visit, request: ForwardRequest): Exchanging {
  const forwarding = new Forwarding(parts, visit, request)
  forwarding.begin()
  return forwarding
}

class Forwarding<Visit extends ForwardedVisit> implements UpstreamListener, Exchanging {
  readonly #outcome: Outcome
  readonly #parts: ForwardParts<Visit>
  readonly #visit: Visit
  readonly #exchange: Exchange
  readonly #fields: UpstreamRequest['fields']
  #upstream: Upstream
  readonly #startedAt: number
  #channel: UpstreamChannel | undefined
  #continueTimer: NodeJS.Timeout | undefined
  #hasContinued = false
  #isAnswered = false
  #isPaused = false
  #isOver = false
  #isRetry = false
  #holding: Holding | undefined
  #timesHeld = 0
  #heldSinceMs = 0
  #sentAtMs = 0
  isEndless = false

  constructor(parts: ForwardParts<Visit>, visit: Visit, { upstream, fields }: ForwardRequest) {
    this.#parts = parts
    this.#visit = visit
    this.#outcome = visit.outcome
    this.#exchange = visit.exchange
    this.#fields = fields
    this.#upstream = upstream
    this.#startedAt = parts.turn.nowMs()
    visit.exchange.onGone((isStalled) => this.#leave(isStalled ? 'visitor-stalled' : 'visitor-gone'))
    visit.exchange.onDrain(() => this.#goOn())
  }

  begin(): void {
    if (this.#isOver) return // the visitor went while its hostname was looked up
    const outage = this.#parts.bridge.outageOf(this.#upstream)
    if (outage?.state === 'open') this.#refuse(502, 'circuit-open', Math.ceil(Math.max(1, outage.nextTryMs / 1000)))
    else if (outage?.state !== 'down' || !this.#isHoldable()) this.#attempt(false)
    else if (!this.#hold(outage)) this.#fail(outage.failure)
  }

  cut(reason: VisitorLoss): void {
    if (this.#holding) return // it goes nowhere before it is asked where to, and is told
    this.#outcome.visitor = reason
    this.#exchange.abort()
  }

  #attempt(again: boolean): void {
    this.#isRetry = again || this.#outcome.attempts >= ATTEMPTS_MAX - 1 // the last one is not wasted on a kept connection that may be closed just now
    try {
      const asking = { fresh: this.#isRetry, hasBody: this.#exchange.body !== undefined, load: this.#visit.view.load }
      const acquired = this.#parts.channels.acquire(this.#upstream, asking)
      if (!this.#isReplayable() || this.#exchange.upgrade !== undefined) this.#sendWhenReady(this.#lookTwice(acquired, asking))
      else if (acquired instanceof Promise) this.#sendWhenReady(acquired)
      else this.#send(acquired)
    } catch (error) {
      this.#giveUp(error)
    }
  }

  #sendWhenReady(ready: Promise<UpstreamChannel>): void {
    const send = (channel: UpstreamChannel) => {
      this.#send(channel)
      this.#parts.turn.endSoon() // a kept connection whose end arrives between this and its leaving would lose what cannot be sent twice
    }
    ready.then(send).catch((error) => this.#giveUp(error))
  }

  #send(channel: UpstreamChannel): void {
    if (this.#isOver) {
      channel.release() // the visitor went while it waited for one
      return
    }
    this.#channel = channel
    this.#outcome.attempts += 1
    this.#sentAtMs = this.#parts.turn.nowMs()
    const { method, target, authority, body, expectsContinue, upgrade, fields: said } = this.#exchange
    channel.send({ method, target, authority, fields: this.#fields, said, body, expectsContinue, upgrade }, this)
    if (expectsContinue && body) this.#continueTimer = setTimeout(() => this.#continue(), CONTINUE_PATIENCE_MS)
  }

  /** There is no connection. */
  #giveUp(error: unknown): void {
    const failure = error instanceof UpstreamFailure ? error : new UpstreamFailure('unreachable', String(error), { cause: error })
    const outage = this.#parts.bridge.connectFailed(this.#upstream, failure)
    if (this.#isOver) return
    if (!outage || !this.#isHoldable() || !this.#hold(outage)) this.#fail(failure)
  }

  #hold(outage: Outage): boolean {
    return this.#holdBy((waiter) => this.#parts.bridge.holdFor(outage, waiter))
  }

  #holdBy(enter: (waiter: Waiter) => Holding | undefined): boolean {
    const entered = enter({
      startedAtMs: this.#startedAt,
      timesHeld: this.#timesHeld,
      load: this.#visit.view.load,
      letGo: () => {
        this.#noteHeld()
        this.#goAfterAll().catch((error) => this.#giveUp(error))
      },
      lookAgain: () => void this.#leaveIfLedElsewhere(entered).catch((error) => this.#giveUp(error)),
      giveUp: (failure) => {
        this.#noteHeld()
        this.#fail(failure)
      },
    })
    this.#holding = entered
    if (!entered) return false
    if (this.#timesHeld === 0) this.#heldSinceMs = performance.now()
    this.#timesHeld += 1
    return true
  }

  /** Meanwhile the hostname may have been removed, or have become another project's, and the project may have another upstream. */
  async #goAfterAll(): Promise<void> {
    const upstream = await this.#parts.upstreamNow(this.#visit, this.#upstream)
    if (!this.#isOver) this.#goTo(upstream)
  }

  /** A vendor who has moved its application does not leave those waiting who came before the news. */
  async #leaveIfLedElsewhere(holding: Holding | undefined): Promise<void> {
    const upstream = await this.#parts.upstreamNow(this.#visit, this.#upstream).catch(() => this.#upstream) // the next look asks again
    if (this.#holding !== holding || !holding || upstream?.key === this.#upstream.key) return
    holding.end()
    this.#noteHeld()
    this.#goTo(upstream)
  }

  #goTo(upstream: Upstream | undefined): void {
    if (!upstream) {
      this.#refuse(404)
    } else if (upstream.key === this.#upstream.key) {
      this.#attempt(false)
    } else {
      this.#upstream = upstream
      this.begin()
    }
  }

  #noteHeld(): void {
    this.#holding = undefined
    this.#outcome.heldMs = performance.now() - this.#heldSinceMs
  }

  /**
   * A kept connection may have been closed just now: for what cannot be sent twice, and for a request for another protocol, whose key or ticket may
   * be good for once, the news gets one full turn of the loop to arrive.
   */
  async #lookTwice(acquired: UpstreamChannel | Promise<UpstreamChannel>, asking: Asking): Promise<UpstreamChannel> {
    const channel = await acquired
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
    if (channel.isUsable) return channel
    channel.destroy()
    return this.#parts.channels.acquire(this.#upstream, { ...asking, fresh: true })
  }

  /** All but 100 go on (RFC 9110 §15.2): that one is ours to say, to those who wait for it. */
  onInterim({ status, reason, fields }: InterimHead): void {
    if (status === 100) this.#continue()
    else this.#exchange.sendInterim({ status, reason, fields: fields.toInterim() })
  }

  #continue(): void {
    clearTimeout(this.#continueTimer)
    if (this.#exchange.expectsContinue && !this.#isAnswered && !this.#hasContinued) this.#exchange.sendContinue()
    this.#hasContinued = true
  }

  onHead({ status, reason, fields, body, mayHaveTrailers = false }: ParsedHead): void {
    clearTimeout(this.#continueTimer)
    this.#outcome.status = status
    this.isEndless = fields.isEventStream
    this.#outcome.upstreamMs = this.#parts.turn.nowMs() - this.#startedAt
    const isEmpty = body === 0 && this.#exchange.protocol === 'HTTP/2' && !mayHaveTrailers
    const keepLength = (body === 'none' || isEmpty) && status !== 204
    const isCounted = body !== 'unknown' && !(mayHaveTrailers && this.#exchange.protocol === 'HTTP/2')
    const keepTrailer = !isCounted && this.#exchange.protocol !== 'HTTP/1.0'
    const keepUpgrade = status === 426 && this.#exchange.protocol === 'HTTP/1.1'
    const kept = status === 101 ? fields.toUpgrade() : fields.toVisitor({ keepLength, keepTrailer, keepUpgrade })
    // Over HTTP/2 an answer can be complete with its head and say nothing of a length: so a call of gRPC ends that came to nothing.
    this.#exchange.answer({ status, reason, fields: kept, body: isEmpty ? 'none' : body, mayHaveTrailers })
    this.#isAnswered = true // not before: what cannot be said to the visitor is still a failed exchange
    this.#parts.bridge.succeeded(this.#upstream)
    if (this.#timesHeld > 0) this.#parts.bridge.heldEnded('served')
  }

  onData(chunk: Buffer): void {
    if (this.#isOver || this.#exchange.write(chunk)) return
    this.#isPaused = true
    this.#channel?.pause(this.#exchange)
  }

  onEnd(trailers: Fields): void {
    this.#isOver = true
    this.#exchange.end(trailersToVisitor(trailers))
  }

  onUpgrade(socket: Socket, behind: Buffer): void {
    this.#isOver = true
    this.#parts.onTunnel(this.#visit, { upstream: socket, behind })
  }

  onBroken(broken: Broken): void {
    if (this.#isOver) return
    if (broken.kind === 'visitor-stalled') this.#leaveStalled()
    else if (broken.kind === 'unreached') this.#giveUp(broken.failure)
    else if (broken.kind === 'half-answered') this.#fail(broken.failure)
    else if (this.#foundDeadConnection(broken.failure)) this.#attempt(true)
    else if (!this.#maySendAgain(broken.failure) || !this.#holdAlone(broken.failure)) this.#fail(broken.failure)
  }

  #leaveStalled(): void {
    this.#isOver = true
    this.#outcome.visitor = 'visitor-stalled'
    if (this.#isAnswered) this.#exchange.abort()
    else this.#refuse(408)
  }

  #foundDeadConnection(failure: UpstreamFailure): boolean {
    const wasDead = failure instanceof VanishedUpstream || (failure.reason === 'reset' && this.#channel?.isReused === true)
    return wasDead && !this.#isRetry && this.#isReplayable()
  }

  #holdAlone(failure: UpstreamFailure): boolean {
    return this.#holdBy((waiter) => this.#parts.bridge.holdAlone(this.#upstream, waiter, failure))
  }

  /** What the application may have read, and fallen over, it gets a few times and no more (RFC 9110 §9.2.2). */
  #maySendAgain(failure: UpstreamFailure): boolean {
    if (failure.reason !== 'reset' || !this.#isHoldable()) return false
    return this.#outcome.attempts < ATTEMPTS_MAX || this.#wasTurnedAway(failure)
  }

  /** By a forwarder with nobody behind it, as each connection is. Who has read the request may end by a reset too, but hardly at once. */
  #wasTurnedAway({ cause }: UpstreamFailure): boolean {
    const isReset = (cause as NodeJS.ErrnoException | undefined)?.code === 'ECONNRESET'
    return isReset && this.#upstream.protocol === 'http1' && this.#parts.turn.nowMs() - this.#sentAtMs < TURNED_AWAY_MS
  }

  #isHoldable(): boolean {
    return this.#exchange.body === undefined && this.#exchange.upgrade === undefined && HOLDABLE.has(this.#exchange.method)
  }

  /** A request for another protocol, too: nothing of what the visitor said behind it leaves before the 101. */
  #isReplayable(): boolean {
    return this.#exchange.body === undefined && IDEMPOTENT.has(this.#exchange.method)
  }

  #fail(failure: UpstreamFailure) {
    noteFailure(this.#outcome, failure)
    this.#isOver = true
    if (!this.#isAnswered) this.#refuse(502, failure.reason)
    else if (this.#exchange.protocol === 'HTTP/2' && isGrpc(this.#fields.list)) this.#exchange.end(UNAVAILABLE)
    else this.#exchange.abort()
  }

  #refuse(status: number, error?: FailureReason, retryAfterS?: number): void {
    clearTimeout(this.#continueTimer)
    this.#isOver = true
    this.#outcome.status = status
    this.#outcome.failure = error
    if (this.#timesHeld > 0) this.#parts.bridge.heldEnded('failed')
    this.#parts.refuse(this.#visit, { status, error, retryAfterS })
  }

  #goOn(): void {
    if (!this.#isPaused) return
    this.#isPaused = false
    if (!this.#isOver) this.#channel?.resume()
  }

  #leave(loss: VisitorLoss): void {
    clearTimeout(this.#continueTimer)
    if (this.#isAnswered && this.#outcome.failure === undefined) this.#outcome.visitor ??= loss // also of an answer that was complete here
    if (this.#isOver) return
    this.#isOver = true
    this.#outcome.visitor ??= loss
    if (this.#timesHeld > 0 && !this.#isAnswered) this.#parts.bridge.heldEnded('left')
    if (this.#holding) {
      this.#holding.end()
      this.#noteHeld()
    } else {
      this.#channel?.destroy()
    }
  }
}
