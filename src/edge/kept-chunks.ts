import { keepForLong } from './let-go.ts'

/** Pieces smaller than this share memory: whoever sends single bytes must not cost an object for each. */
const GATHERED_BYTES = 4 * 1024

/** Pieces of a body that wait for their reader, in order. */
export class KeptChunks {
  #chunks: Buffer[] = []
  /** The memory of the last piece, when others can be added to it. It grows with them: most answers are one small piece, and many may wait. */
  #gathering: Buffer | undefined
  #gatheredBytes = 0

  get first(): Buffer | undefined {
    return this.#chunks[0]
  }

  get size(): number {
    return this.#chunks.length
  }

  get isEmpty(): boolean {
    return this.#chunks.length === 0
  }

  /** The chunk may be let go by that. */
  push(chunk: Buffer): void {
    if (chunk.length >= GATHERED_BYTES) {
      this.#gathering = undefined
      this.#chunks.push(keepForLong(chunk))
      return
    }
    const bytes = this.#gatheredBytes + chunk.length
    if (!this.#gathering || bytes > GATHERED_BYTES) {
      this.#gathering = Buffer.allocUnsafeSlow(chunk.length) // its own: a piece of node's pool would hold on to sixteen times as much
      this.#gatheredBytes = 0
      this.#chunks.push(this.#gathering)
    } else if (bytes > this.#gathering.length) {
      const larger = Buffer.allocUnsafeSlow(Math.min(2 * bytes, GATHERED_BYTES))
      this.#gathering.copy(larger, 0, 0, this.#gatheredBytes)
      this.#gathering = larger
    }
    this.#gatheredBytes += chunk.copy(this.#gathering, this.#gatheredBytes)
    this.#chunks[this.#chunks.length - 1] = this.#gathering.subarray(0, this.#gatheredBytes)
  }

  shift(): Buffer | undefined {
    const chunk = this.#chunks.shift()
    if (this.isEmpty) this.#gathering = undefined
    return chunk
  }
}
