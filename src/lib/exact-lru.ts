export type ExactLruParts<V> = {
  /** How much all values may weigh together, at the moment. */
  max(): number
  weightOf(value: V): number
  /** Told of every value that leaves, however. */
  onLeave(value: V): void
}

const LEAVE_AT_ONCE = 8

/**
 * A small bounded memory: the least recently used entries leave when all would weigh more than `max`; the newest stays. Where `max` has become much
 * less, a few leave with each that comes: to let go of thousands at once would keep everybody waiting.
 */
export class ExactLru<K, V> {
  readonly #entries = new Map<K, V>()
  readonly #parts: ExactLruParts<V>
  #weight = 0

  constructor(parts: ExactLruParts<V>) {
    this.#parts = parts
  }

  get size(): number {
    return this.#entries.size
  }

  /** The value that leaves next. */
  get oldest(): V | undefined {
    return this.#entries.values().next().value
  }

  /** Whether it could take the value without losing another. */
  hasRoomFor(value: V): boolean {
    return this.#weight + this.#parts.weightOf(value) <= this.#parts.max()
  }

  get(key: K): V | undefined {
    const value = this.#entries.get(key)
    if (value === undefined) return undefined
    this.#entries.delete(key)
    this.#entries.set(key, value)
    return value
  }

  set(key: K, value: V): void {
    if (this.#entries.get(key) === value) return void this.get(key)
    this.delete(key)
    this.#entries.set(key, value)
    this.#weight += this.#parts.weightOf(value)
    this.shrink()
  }

  /** Lets a few leave, if all weigh more than `max` by now. */
  shrink(): void {
    const max = this.#parts.max()
    for (let left = LEAVE_AT_ONCE; left > 0 && this.#weight > max && this.#entries.size > 1; left -= 1)
      this.delete(this.#entries.keys().next().value as K)
  }

  delete(key: K): boolean {
    const value = this.#entries.get(key)
    if (value === undefined) return false
    this.#entries.delete(key)
    this.#weight -= this.#parts.weightOf(value)
    this.#parts.onLeave(value)
    return true
  }

  clear(): void {
    for (const key of [...this.#entries.keys()]) this.delete(key)
  }
}
