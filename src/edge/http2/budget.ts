import { ConnectionError, ERROR_CODE } from './protocol.ts'

/** So many frames at once, and so many more for each millisecond. */
export type Allowance = { framesMax: number; refillPerMs: number }

/** With a visitor: 600 frames that bring nothing, enough to cancel twice all that it may have open, and 100 a second more. */
export const WITH_VISITOR: Allowance = { framesMax: 600, refillPerMs: 0.1 }

/** What each frame costs that makes work and brings nothing: who sends them faster than a bucket leaks is let go. */
export const COST = { reset: 1, settings: 2, ping: 1, emptyData: 1, error: 1, dribble: 1, ignored: 0.2 } as const

/** What one connection may still cost. */
export class Budget {
  readonly #allowance: Allowance
  #left: number
  #filledAtMs = performance.now()

  constructor(allowance: Allowance) {
    this.#allowance = allowance
    this.#left = allowance.framesMax
  }

  /** Throws ConnectionError when there is nothing left. */
  charge(cost: number): void {
    const nowMs = performance.now()
    const { framesMax, refillPerMs } = this.#allowance
    this.#left = Math.min(framesMax, this.#left + (nowMs - this.#filledAtMs) * refillPerMs) - cost
    this.#filledAtMs = nowMs
    if (this.#left < 0) throw new ConnectionError(ERROR_CODE.enhanceYourCalm, 'too many frames that bring nothing')
  }
}
