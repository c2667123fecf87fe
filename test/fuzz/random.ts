/** A source of choices that makes the same ones again for the same seed. */
export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** For the case of that number in a run with that seed: any case can be made again alone. */
  static of(seed: number, caseNumber: number): Random {
    return new Random(Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) ^ Math.imul(caseNumber + 1, 0xc2b2ae35))
  }

  /** At least 0 and below 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  below(limit: number): number {
    return Math.floor(this.next() * limit)
  }

  chance(share: number): boolean {
    return this.next() < share
  }

  pick<T>(from: readonly T[]): T {
    return from[this.below(from.length)]!
  }
}
