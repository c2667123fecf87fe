import { write } from 'node:fs'

const TRY_AGAIN_MS = 100
const LINE_END = Buffer.from('\n')

/**
 * Writes pieces of whole lines to a descriptor one after the other, without anybody waiting. What finds no room in `bytesMax` is dropped, and so is what
 * cannot be written: a full disk or a reader that is gone ends no process that has visitors. Behind a piece that was written in part a new line begins.
 */
export class DescriptorWriter {
  readonly #descriptor: number
  readonly #bytesMax: number
  readonly #waiting: Buffer[] = []
  #bytes = 0
  #isTorn = false
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
      this.#bytes += this.#isTorn ? 1 : 0
      this.#put(this.#isTorn ? Buffer.concat([LINE_END, piece]) : piece, 0)
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
        if (!error) this.#isTorn = false
        else if (from > 0) this.#isTorn = piece[from - 1] !== LINE_END[0]
        this.#bytes -= piece.length
        this.#next()
      }
    })
  }
}
