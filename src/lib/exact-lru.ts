export type ExactLruParts<V> = {
  /** How much all values may weigh together, at the moment. */
  max(): number
  weightOf(value: V): number
  /** Told of every value that leaves, however. */
  onLeave(value: V): void
}

/** A small bounded memory: the least recently used entries leave when all would weigh more than `max`; the newest stays. */
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
    const max = this.#parts.max()
    while (this.#weight > max && this.#entries.size > 1) this.delete(this.#entries.keys().next().value as K)
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
