import { write } from 'node:fs'

const TRY_AGAIN_MS = 100

/**
 * Writes pieces to a descriptor one after the other, without anybody waiting. What finds no room in `bytesMax` is dropped, and so is what cannot be
 * written: a full disk or a reader that is gone ends no process that has visitors.
 */
export class DescriptorWriter {
  readonly #descriptor: number
  readonly #bytesMax: number
  readonly #waiting: Buffer[] = []
  #bytes = 0
  #writing: PromiseWithResolvers<void> | undefined

  constructor(descriptor: number, bytesMax: number) {
    this.#descriptor = descriptor
    this.#bytesMax = bytesMax
  }

  write(piece: Buffer): void {
    if (this.#bytes + piece.length > this.#bytesMax) return
    this.#waiting.push(piece)
    this.#bytes += piece.length
    if (this.#writing) return
    this.#writing = Promise.withResolvers()
    this.#next()
  }

  /** Resolves once nothing waits. */
  async written(): Promise<void> {
    await this.#writing?.promise
  }

  #next(): void {
    const piece = this.#waiting.shift()
    if (piece) {
      this.#put(piece, 0)
      return
    }
    this.#writing?.resolve()
    this.#writing = undefined
  }

  #put(piece: Buffer, from: number): void {
    write(this.#descriptor, piece, from, piece.length - from, null, (error, bytes) => {
      if (error?.code === 'EAGAIN') {
        setTimeout(() => this.#put(piece, from), TRY_AGAIN_MS)
      } else if (!error && from + bytes < piece.length) {
        this.#put(piece, from + bytes)
      } else {
        this.#bytes -= piece.length
        this.#next()
      }
    })
  }
}
