/**
 * The open streams of one connection, some dozens at most. A Map that is filled and emptied all the time is renewed every few streams, and each
 * of its former tables keeps hold of the next: one that has outlived two collections then holds all requests that came after it until the
 * old generation is collected, which cost a fifth of what a request costs.
 */
export class OpenStreams<Stream> {
  readonly #ids: number[] = []
  readonly #streams: Stream[] = []

  get size(): number {
    return this.#ids.length
  }

  get(id: number): Stream | undefined {
    const at = this.#ids.indexOf(id)
    return at < 0 ? undefined : this.#streams[at]
  }

  add(id: number, stream: Stream): void {
    this.#ids.push(id)
    this.#streams.push(stream)
  }

  /** False: it was deleted before. */
  delete(id: number): boolean {
    const at = this.#ids.indexOf(id)
    if (at < 0) return false
    // The last one takes its place.
    this.#ids[at] = this.#ids.at(-1)!
    this.#streams[at] = this.#streams.at(-1)!
    this.#ids.pop()
    this.#streams.pop()
    return true
  }

  /** Those of now, but for what is deleted before its turn. */
  *all(): Iterable<Stream> {
    for (const [at, id] of [...this.#ids].entries()) {
      const stream = this.#ids[at] === id ? this.#streams[at] : this.get(id)
      if (stream !== undefined) yield stream
    }
  }
}
