/** Memory of one size for what is on its way out, used again and again: as much as is being written now, and some to spare. */
export class SpareBuffers {
  readonly bytes: number
  readonly #max: number
  readonly #spare: Buffer[] = []

  constructor(bytes: number, max: number) {
    this.bytes = bytes
    this.#max = max
  }

  take(): Buffer {
    return this.#spare.pop() ?? Buffer.allocUnsafeSlow(this.bytes)
  }

  /** Not before all of it has left: somebody else's bytes are next. */
  give(buffer: Buffer): void {
    if (this.#spare.length < this.#max) this.#spare.push(buffer)
  }
}

/** Of heads and little more. Not of 4 KB: buffers that begin at the same place of a page are in each other's way in the processor's cache. */
export const smallBuffers = new SpareBuffers(5 * 1024, 1_024)
