import type { Socket } from 'node:net'
import { SpareBuffers } from '../spare-buffers.ts'

/** Larger pieces are not turned into text, which would be copied twice more on its way. */
const TEXT_BYTES_MAX = 1_500
/** What is gathered as bytes holds this at most. */
export const GATHERED_BYTES_MAX = 32 * 1024
const SPARE_MAX = 256

const buffers = new SpareBuffers(GATHERED_BYTES_MAX, SPARE_MAX)

/** What one connection is to be sent at the end of the turn: text, which costs least for little, or bytes with text behind once a larger piece is among it. */
export class Unsent {
  #buffer: Buffer | undefined
  #bytes = 0
  #text = ''

  get length(): number {
    return this.#bytes + this.#text.length
  }

  /** Of one character a byte. */
  addText(text: string): void {
    this.#text += text
  }

  /** A piece with which all of it is still no more than GATHERED_BYTES_MAX. It is the caller's again afterwards. */
  addPiece(piece: Buffer): void {
    if (piece.length <= TEXT_BYTES_MAX) {
      this.#text += piece.toString('latin1')
      return
    }
    const buffer = this.#gathered()
    piece.copy(buffer, this.#bytes)
    this.#bytes += piece.length
  }

  /** Writes all of it, in one piece. */
  writeTo(socket: Socket): void {
    const isJoined = this.#buffer !== undefined && this.length <= GATHERED_BYTES_MAX
    const buffer = isJoined ? this.#gathered() : this.#buffer
    const bytes = this.#bytes
    const text = this.#text
    this.#buffer = undefined
    this.#bytes = 0
    this.#text = ''
    if (!buffer) {
      socket.write(text, 'latin1')
      return
    }
    const written = () => {
      if (!socket.destroyed) buffers.give(buffer) // what the kernel or TLS still holds is not ours to use again
    }
    if (text !== '') socket.cork()
    socket.write(buffer.subarray(0, bytes), written)
    if (text === '') return
    socket.write(text, 'latin1')
    socket.uncork()
  }

  /** The buffer, with the text in it. */
  #gathered(): Buffer {
    this.#buffer ??= buffers.take()
    if (this.#text !== '') this.#bytes += this.#buffer.write(this.#text, this.#bytes, 'latin1')
    this.#text = ''
    return this.#buffer
  }
}
