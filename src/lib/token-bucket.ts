export type Allowance = { perSecond: number; burst: number }

/** What somebody may do at a rate, and how much of it at once. Times are milliseconds; one that goes back adds nothing. */
export class TokenBucket {
  readonly #allowance: Allowance
  #left: number
  #filledAt: number

  constructor(allowance: Allowance, at: number) {
    this.#allowance = allowance
    this.#left = allowance.burst
    this.#filledAt = at
  }

  /** Whether there was one left. */
  take(at: number): boolean {
    const { perSecond, burst } = this.#allowance
    const passedMs = Math.max(0, at - this.#filledAt)
    this.#filledAt = at
    this.#left = Math.min(burst, this.#left + (passedMs / 1_000) * perSecond)
    if (this.#left < 1) return false
    this.#left -= 1
    return true
  }

  /** One that was taken is not counted after all, or so much of it. */
  giveBack(part = 1): void {
    this.#left += part
  }
}
