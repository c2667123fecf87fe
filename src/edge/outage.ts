import type { Upstream, UpstreamFailure } from './upstream.ts'

/** A request that waits for its upstream. */
export type Held = {
  /** When it may be sent again, by performance.now(). */
  readyAtMs: number
  /** It is sent now. */
  letGo(): void
  /** The upstream is still away: it may lead elsewhere by now. */
  lookAgain(): void
}

export type OutageParts = {
  bridgeMs: number
  /** Opens a connection to the upstream, which is kept. `later`: too many are tried at the moment. Rejects with UpstreamFailure. */
  tryConnect(upstream: Upstream): Promise<void> | 'later'
  /** Whether a failure says that the upstream may be back in a moment. */
  isBrief(failure: UpstreamFailure): boolean
  /** The upstream is too long away to wait for it, or is back after that. */
  onCircuit(state: 'opened' | 'closed', outage: Outage): void
  /** Nothing is left to remember. */
  onEnd(outage: Outage): void
}

const FAILURES_TO_OPEN = 5
const TRY_AGAIN_MS = 100
const TRY_AGAIN_MS_MAX = 1_000
const PROBE_MS = 1_000
const PROBE_MS_MAX = 10_000
const PROBES_SLOWER_BY = 1.5
/** Between two lots of those who are let go, each twice the one before. */
const NEXT_LOT_MS = 100
const JITTER = 0.2

/**
 * One upstream that could not be connected to, or that ended an exchange without a word. Those who wait for it cause one attempt at a time
 * between them; once it succeeds, they are let go in lots of 1, 2, 4 and so on, so that what has just started is not run over. When every
 * attempt has failed for the bridging time, the circuit opens: from then on the attempts go on alone, seldom, until one succeeds.
 */
export class Outage {
  readonly upstream: Upstream
  readonly #parts: OutageParts
  readonly #held = new Set<Held>()
  #failure: UpstreamFailure
  #failures = 0
  #failingSinceMs = 0
  #isDown = false
  #isOpen = false
  #isTrying = false
  #isOver = false
  #lot = 1
  #pauseMs = TRY_AGAIN_MS
  #timer: NodeJS.Timeout | undefined
  #nextAtMs = Number.POSITIVE_INFINITY
  /** When a request last came for the upstream. */
  askedAtMs = performance.now()

  constructor(upstream: Upstream, failure: UpstreamFailure, parts: OutageParts) {
    this.upstream = upstream
    this.#failure = failure
    this.#parts = parts
  }

  /** `down`: the last attempt to connect failed. `open`: for so long that nobody waits for it any more. */
  get state(): 'shaky' | 'down' | 'open' {
    if (this.#isOpen) return 'open'
    return this.#isDown ? 'down' : 'shaky'
  }

  /** Why the last attempt failed. */
  get failure(): UpstreamFailure {
    return this.#failure
  }

  get isAwaited(): boolean {
    return this.#held.size > 0
  }

  /** Until the next attempt, where one is planned. */
  get nextTryMs(): number {
    return Number.isFinite(this.#nextAtMs) ? Math.max(0, this.#nextAtMs - performance.now()) : 0
  }

  hold(held: Held): void {
    this.#held.add(held)
    this.#plan(this.#isDown ? withJitter(this.#pauseMs) : held.readyAtMs - performance.now())
  }

  release(held: Held): void {
    if (this.#held.delete(held)) this.#endIfWell()
  }

  /** Somebody could not get a connection. */
  connectFailed(failure: UpstreamFailure): void {
    if (this.#isOver) return
    const nowMs = performance.now()
    this.#failure = failure
    if (this.#failures === 0) this.#failingSinceMs = nowMs
    this.#failures += 1
    this.#isDown = true
    this.#lot = 1
    if (!this.#isOpen && this.#failures >= FAILURES_TO_OPEN && nowMs - this.#failingSinceMs >= this.#parts.bridgeMs) {
      this.#isOpen = true
      this.#pauseMs = PROBE_MS
      this.#parts.onCircuit('opened', this)
    }
    this.#plan(withJitter(this.#pauseMs))
  }

  /** The upstream took a connection or gave an answer. */
  succeeded(): void {
    if (this.#isOver) return
    const wasOpen = this.#isOpen
    const wasDown = this.#isDown
    this.#failures = 0
    this.#isDown = false
    this.#isOpen = false
    this.#pauseMs = TRY_AGAIN_MS
    if (wasOpen) this.#parts.onCircuit('closed', this)
    if (wasDown && this.#held.size > 0) this.#plan(0)
    this.#endIfWell()
  }

  stop(): void {
    this.#isOver = true
    clearTimeout(this.#timer)
    this.#nextAtMs = Number.POSITIVE_INFINITY
  }

  /** Of two plans the earlier one holds. */
  #plan(inMs: number): void {
    const atMs = performance.now() + Math.max(0, inMs)
    if (this.#isOver || (this.#isTrying && this.#isDown) || atMs >= this.#nextAtMs) return
    clearTimeout(this.#timer)
    this.#nextAtMs = atMs
    this.#timer = setTimeout(() => this.#step(), Math.max(0, inMs))
  }

  #step() {
    this.#nextAtMs = Number.POSITIVE_INFINITY
    if (this.#isDown) return this.#isTrying ? undefined : this.#try()
    const nowMs = performance.now()
    const ready = [...this.#held].filter(({ readyAtMs }) => readyAtMs <= nowMs).slice(0, this.#lot)
    this.#lot *= 2
    for (const held of ready) {
      this.#held.delete(held)
      held.letGo()
    }
    if (this.#held.size === 0) return this.#endIfWell()
    const readyAtMs = Math.min(...[...this.#held].map((held) => held.readyAtMs))
    this.#plan(Math.max(NEXT_LOT_MS, readyAtMs - nowMs))
  }

  #try() {
    const attempt = this.#parts.tryConnect(this.upstream)
    if (attempt === 'later') return this.#plan(withJitter(this.#pauseMs))
    this.#isTrying = true
    attempt.then(
      () => this.#tried(undefined),
      (failure: UpstreamFailure) => this.#tried(failure),
    )
  }

  #tried(failure: UpstreamFailure | undefined) {
    this.#isTrying = false
    if (this.#isOver) return
    if (!this.#isDown) return // an answer over another connection has come meanwhile
    if (failure?.reason === 'busy') return this.#plan(withJitter(this.#pauseMs)) // nobody was asked
    // What is no brief failure, each request is to meet and tell for itself.
    if (!failure || !this.#parts.isBrief(failure)) return this.succeeded()
    this.#pauseMs = this.#isOpen ? Math.min(this.#pauseMs * PROBES_SLOWER_BY, PROBE_MS_MAX) : Math.min(this.#pauseMs * 2, TRY_AGAIN_MS_MAX)
    this.connectFailed(failure)
    for (const held of [...this.#held]) held.lookAgain()
  }

  #endIfWell(): void {
    if (this.#isOver || this.#isDown || this.#held.size > 0) return
    this.stop()
    this.#parts.onEnd(this)
  }
}

export function withJitter(ms: number): number {
  return ms * (1 - JITTER + Math.random() * 2 * JITTER)
}
