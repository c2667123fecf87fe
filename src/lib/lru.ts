/**
 * A bounded memory: holds `max` entries at most, and whatever was set or got since half as many others were; among older ones it forgets the less
 * recently used half at once. Costs the same for any number of entries, each time.
 */
export class Lru<K, V> {
  // In one Map of exact age each eviction would look for the first entry behind those that were deleted before it: 100 µs each with 200,000 entries.
  #young = new Map<K, V>()
  #old = new Map<K, V>()
  readonly #youngMax: number

  constructor(max: number) {
    this.#youngMax = Math.ceil(max / 2)
  }

  get size(): number {
    return this.#young.size + this.#old.size
  }

  get(key: K): V | undefined {
    const young = this.#young.get(key)
    if (young !== undefined) return young
    const value = this.#old.get(key)
    if (value !== undefined) this.set(key, value)
    return value
  }

  /** As get, without making the entry young. */
  peek(key: K): V | undefined {
    return this.#young.get(key) ?? this.#old.get(key)
  }

  set(key: K, value: V): void {
    this.#old.delete(key)
    if (this.#young.size >= this.#youngMax && !this.#young.has(key)) {
      this.#old = this.#young
      this.#young = new Map()
    }
    this.#young.set(key, value)
  }

  delete(key: K): boolean {
    const wasYoung = this.#young.delete(key)
    return this.#old.delete(key) || wasYoung
  }

  /** Looks at every entry. */
  deleteWhere(isGone: (value: V) => boolean): void {
    for (const entries of [this.#young, this.#old]) {
      for (const [key, value] of entries) if (isGone(value)) entries.delete(key)
    }
  }

  clear(): void {
    this.#young.clear()
    this.#old.clear()
  }
}
