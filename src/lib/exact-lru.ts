/** A small bounded memory: the least recently used entry leaves when one more than `max` would stay. `onLeave` is told of every value that leaves, however. */
export class ExactLru<K, V> {
  readonly #entries = new Map<K, V>()
  readonly #max: number
  readonly #onLeave: (value: V) => void

  constructor(max: number, onLeave: (value: V) => void) {
    this.#max = max
    this.#onLeave = onLeave
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

  set(key: K, value: V): void {
    const replaced = this.#entries.get(key)
    this.#entries.delete(key)
    this.#entries.set(key, value)
    if (replaced !== undefined && replaced !== value) this.#onLeave(replaced)
    if (this.#entries.size > this.#max) this.delete(this.#entries.keys().next().value as K)
  }

  delete(key: K): boolean {
    const value = this.#entries.get(key)
    const isThere = this.#entries.delete(key)
    if (value !== undefined) this.#onLeave(value)
    return isThere
  }

  clear(): void {
    const values = [...this.#entries.values()]
    this.#entries.clear()
    for (const value of values) this.#onLeave(value)
  }
}
