import { keep } from './let-go.ts'

/** Pieces smaller than this share memory: whoever sends single bytes must not cost an object for each. */
const GATHERED_BYTES = 4 * 1024

/** Pieces of a body that wait for their reader, in order. */
export class KeptChunks {
  #chunks: Buffer[] = []
  /** The memory of the last piece, when there is room in it. */
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

  push(chunk: Buffer): void {
    if (chunk.length >= GATHERED_BYTES) {
      this.#gathering = undefined
      this.#chunks.push(keep(chunk))
      return
    }
    if (!this.#gathering || this.#gatheredBytes + chunk.length > GATHERED_BYTES) {
      this.#gathering = Buffer.allocUnsafeSlow(GATHERED_BYTES) // its own: a piece of node's pool would hold on to sixteen times as much
      this.#gatheredBytes = 0
      this.#chunks.push(this.#gathering)
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
