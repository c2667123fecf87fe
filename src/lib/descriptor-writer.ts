import { write } from 'node:fs'
import { pause } from './back-off.ts'

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
    if (piece) return this.#put(piece, 0)
    this.#writing?.resolve()
    this.#writing = undefined
  }

  #put(piece: Buffer, from: number): void {
    write(this.#descriptor, piece, from, piece.length - from, null, (error, bytes) => {
      if (error?.code === 'EAGAIN') return void pause(TRY_AGAIN_MS).then(() => this.#put(piece, from))
      if (!error && from + bytes < piece.length) return this.#put(piece, from + bytes)
      this.#bytes -= piece.length
      this.#next()
    })
  }
}
