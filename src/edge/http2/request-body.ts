import { Readable } from 'node:stream'
import type { Fields, RequestBody } from '../engine.ts'

/** Pieces smaller than this are gathered while nobody takes them: a visitor that sends single bytes must not cost an object for each. */
const GATHERED_BYTES = 4 * 1024

/**
 * The body of a request as a stream. `onTaken` is told of the bytes that its reader has taken: nothing else opens the visitor's window, so
 * that what lies here is never more than a window.
 */
export class IncomingBody {
  readonly body: RequestBody
  readonly #stream: Readable
  readonly #onTaken: (bytes: number) => void
  #gathered: Buffer | undefined
  #gatheredBytes = 0
  #received = 0
  #told = 0
  #trailers: Fields = []

  constructor(length: number | undefined, onTaken: (bytes: number) => void) {
    this.#onTaken = onTaken
    // With a mark of 0 the stream asks for more exactly when it is empty, and so nothing that was taken goes unnoticed.
    this.#stream = new Readable({ highWaterMark: 0, read: () => this.#emptied() })
    this.#stream.on('error', ignore)
    this.body = { stream: this.#stream, length, trailers: () => this.#trailers }
  }

  push(chunk: Buffer): void {
    this.#received += chunk.length
    if (this.#gatheredBytes + chunk.length > GATHERED_BYTES) this.#passGathered()
    if (this.#stream.readableLength > 0 && chunk.length < GATHERED_BYTES) {
      this.#gathered ??= Buffer.allocUnsafe(GATHERED_BYTES)
      this.#gatheredBytes += chunk.copy(this.#gathered, this.#gatheredBytes)
      return
    }
    this.#passGathered()
    this.#stream.push(chunk)
    this.#tell()
  }

  end(trailers: Fields): void {
    this.#trailers = trailers
    this.#passGathered()
    this.#stream.push(null)
  }

  /** It will never be whole, or nobody wants it: what lies here is thrown away. */
  cut(): void {
    this.#gatheredBytes = 0
    this.#stream.destroy()
    this.#tellUpTo(this.#received)
  }

  #emptied(): void {
    this.#passGathered()
    this.#tell()
  }

  #passGathered(): void {
    if (!this.#gathered || this.#gatheredBytes === 0) return
    const gathered = this.#gathered.subarray(0, this.#gatheredBytes)
    this.#gathered = undefined
    this.#gatheredBytes = 0
    this.#stream.push(gathered)
  }

  #tell(): void {
    this.#tellUpTo(this.#received - this.#stream.readableLength - this.#gatheredBytes)
  }

  #tellUpTo(taken: number): void {
    const more = taken - this.#told
    if (more <= 0) return
    this.#told = taken
    this.#onTaken(more)
  }
}

function ignore(): void {}
