import { Readable } from 'node:stream'
import type { Fields, RequestBody } from '../engine.ts'

/**
 * The body of a request as a stream. `onTaken` is told of the bytes that its reader has taken: nothing else opens the visitor's window, so
 * that what lies here is never more than a window.
 */
export class IncomingBody {
  readonly body: RequestBody
  readonly #stream: Readable
  readonly #onTaken: (bytes: number) => void
  #received = 0
  #told = 0
  #trailers: Fields = []

  constructor(length: number | undefined, onTaken: (bytes: number) => void) {
    this.#onTaken = onTaken
    // With a mark of 0 the stream asks for more exactly when it is empty, and so nothing that was taken goes unnoticed.
    this.#stream = new Readable({ highWaterMark: 0, read: () => this.#tell() })
    this.#stream.on('error', ignore)
    this.body = { stream: this.#stream, length, trailers: () => this.#trailers }
  }

  push(chunk: Buffer): void {
    this.#received += chunk.length
    this.#stream.push(chunk)
    this.#tell()
  }

  end(trailers: Fields): void {
    this.#trailers = trailers
    this.#stream.push(null)
  }

  /** It will never be whole, or nobody wants it: what lies here is thrown away. */
  cut(): void {
    this.#stream.destroy()
    this.#tellUpTo(this.#received)
  }

  #tell(): void {
    this.#tellUpTo(this.#received - this.#stream.readableLength)
  }

  #tellUpTo(taken: number): void {
    const more = taken - this.#told
    if (more <= 0) return
    this.#told = taken
    this.#onTaken(more)
  }
}

function ignore(): void {}
