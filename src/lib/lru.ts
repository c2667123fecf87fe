/** A bounded memory: the least recently used entry leaves when one more than `max` would stay. */
export class Lru<K, V> {
  readonly #entries = new Map<K, V>()
  readonly #max: number

  constructor(max: number) {
    this.#max = max
  }

  get size(): number {
    return this.#entries.size
  }

  get(key: K): V | undefined {
    const value = this.#entries.get(key)
    if (value === undefined) return undefined
    this.#entries.delete(key)
    this.#entries.set(key, value)
    return value
  }

  /** As get, without making the entry young: for the hottest paths, where a bounded memory is enough and exact age is not worth two map writes. */
  peek(key: K): V | undefined {
    return this.#entries.get(key)
  }

  set(key: K, value: V): void {
    this.#entries.delete(key)
    this.#entries.set(key, value)
    if (this.#entries.size > this.#max) this.#entries.delete(this.#entries.keys().next().value as K)
  }

  delete(key: K): boolean {
    return this.#entries.delete(key)
  }

  clear(): void {
    this.#entries.clear()
  }
}
