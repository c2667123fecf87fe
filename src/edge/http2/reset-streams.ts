const REMEMBERED_MAX = 256

/**
 * Streams that we have ended before the visitor had, so that what it sent before it knew is no offence: bytes up to the window that the
 * stream still had, and trailers.
 */
export class ResetStreams {
  readonly #allowed = new Map<number, number>()

  /** `window`: how much the visitor may still have on its way. */
  add(streamId: number, window: number): void {
    this.#allowed.set(streamId, window)
    if (this.#allowed.size > REMEMBERED_MAX) this.#allowed.delete(this.#allowed.keys().next().value!)
  }

  has(streamId: number): boolean {
    return this.#allowed.has(streamId)
  }

  /** False: these bytes are more than could have been on their way, or of another stream. */
  receive(streamId: number, bytes: number): boolean {
    const left = (this.#allowed.get(streamId) ?? -1) - bytes
    if (left < 0) return false
    this.#allowed.set(streamId, left)
    return true
  }

  /** The visitor has ended it too. */
  delete(streamId: number): void {
    this.#allowed.delete(streamId)
  }
}
