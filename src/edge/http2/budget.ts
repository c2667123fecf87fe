import { ConnectionError, ERROR_CODE } from './protocol.ts'

const FRAMES_MAX = 200
const REFILL_PER_MS = 0.1

/** What each frame costs that makes work and brings nothing: who sends them faster than a bucket leaks is let go. */
export const COST = { reset: 1, settings: 2, ping: 1, emptyData: 1, error: 1, dribble: 1, ignored: 0.2 } as const

/** The patience with one connection: 200 frames that bring nothing, and 100 a second more. */
export class Budget {
  #left = FRAMES_MAX
  #filledAtMs = performance.now()

  /** Throws ConnectionError when there is nothing left. */
  charge(cost: number): void {
    const nowMs = performance.now()
    this.#left = Math.min(FRAMES_MAX, this.#left + (nowMs - this.#filledAtMs) * REFILL_PER_MS) - cost
    this.#filledAtMs = nowMs
    if (this.#left < 0) throw new ConnectionError(ERROR_CODE.enhanceYourCalm, 'too many frames that bring nothing')
  }
}
