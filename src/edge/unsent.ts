import type { Socket } from 'node:net'
import type { SpareBuffers } from './spare-buffers.ts'

/** Larger pieces are not turned into text, which would be copied twice more on its way. */
const TEXT_BYTES_MAX = 1_500

/**
 * What one connection is to be sent at the end of the turn: text, which costs least for little, or bytes with text behind once a larger piece is among
 * it. The bytes lie in one of `buffers`, and are no more than it holds.
 */
export class Unsent {
  readonly #buffers: SpareBuffers
  #buffer: Buffer | undefined
  #bytes = 0
  #text = ''

  constructor(buffers: SpareBuffers) {
    this.#buffers = buffers
  }

  get length(): number {
    return this.#bytes + this.#text.length
  }

  hasRoomFor(bytes: number): boolean {
    return this.length + bytes <= this.#buffers.bytes
  }

  /** Of one character a byte. */
  addText(text: string): void {
    this.#text += text
  }

  /** A piece for which there is room. It is the caller's again afterwards. */
  addPiece(piece: Buffer): void {
    if (piece.length <= TEXT_BYTES_MAX) {
      this.#text += piece.toString('latin1')
      return
    }
    const buffer = this.#gathered()
    piece.copy(buffer, this.#bytes)
    this.#bytes += piece.length
  }

  /** Writes all of it, in one piece. False: the socket wants no more for now. */
  writeTo(socket: Socket): boolean {
    const buffer = this.#buffer && this.hasRoomFor(0) ? this.#gathered() : this.#buffer
    const bytes = this.#bytes
    const text = this.#text
    this.#buffer = undefined
    this.#bytes = 0
    this.#text = ''
    if (!buffer) return socket.write(text, 'latin1')
    const written = () => {
      if (!socket.destroyed) this.#buffers.give(buffer) // what the kernel or TLS still holds is not ours to use again
    }
    if (text === '') return socket.write(buffer.subarray(0, bytes), written)
    socket.cork()
    socket.write(buffer.subarray(0, bytes), written)
    const wantsMore = socket.write(text, 'latin1')
    socket.uncork()
    return wantsMore
  }

  /** The buffer, with the text in it. */
  #gathered(): Buffer {
    this.#buffer ??= this.#buffers.take()
    if (this.#text !== '') this.#bytes += this.#buffer.write(this.#text, this.#bytes, 'latin1')
    this.#text = ''
    return this.#buffer
  }
}
