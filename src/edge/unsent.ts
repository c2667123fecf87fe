import type { Socket } from 'node:net'
import type { SpareBuffers } from './spare-buffers.ts'

/** Larger pieces are not turned into text, which would be copied twice more on its way. */
const TEXT_BYTES_MAX = 1_500
/** To hear when so little has left costs more than to lose its buffer once in a while. */
const SMALL_BYTES_MAX = 8 * 1024
/** Up to here a loop is faster than a call. */
const LOOPED_LENGTH_MAX = 20

/**
 * What one connection is to be sent at the end of the turn: text, which costs least for a little of it, or bytes with text behind once there are bytes
 * among it. The bytes lie in one of `buffers`, and are no more than it holds.
 */
export class Unsent {
  readonly #buffers: SpareBuffers
  readonly #areTakenAtOnce: boolean
  #buffer: Buffer | undefined
  #bytes = 0
  #text = ''

  /** `areTakenAtOnce`: the socket takes what it can within a write, as one of TCP does, and nearly always that is all of it. */
  constructor(buffers: SpareBuffers, { areTakenAtOnce = false } = {}) {
    this.#buffers = buffers
    this.#areTakenAtOnce = areTakenAtOnce
  }

  get length(): number {
    return this.#bytes + this.#text.length
  }

  hasRoomFor(bytes: number): boolean {
    return this.length + bytes <= this.#buffers.bytes
  }

  /** Of one character a byte. */
  addText(text: string): void {
    const { length } = text
    const buffer = this.#buffer
    if (!buffer || this.#text !== '' || !this.hasRoomFor(length)) {
      this.#text += text
      return
    }
    const at = this.#bytes
    if (length > LOOPED_LENGTH_MAX) buffer.write(text, at, 'latin1')
    else for (let i = 0; i < length; i += 1) buffer[at + i] = text.charCodeAt(i)
    this.#bytes = at + length
  }

  /** What is added from now on is put together as bytes, as long as there is room. */
  gather(): void {
    if (this.hasRoomFor(0)) this.#gathered()
  }

  /** What lies in `bytes` from `from` to `end`, which is the caller's again afterwards. What follows in the same turn lies behind it as bytes. */
  addBytes(bytes: Buffer, from: number, end: number): void {
    const length = end - from
    if (!this.hasRoomFor(length)) {
      this.#text += bytes.toString('latin1', from, end)
      return
    }
    const buffer = this.#gathered()
    const at = this.#bytes
    if (length > LOOPED_LENGTH_MAX) bytes.copy(buffer, at, from, end)
    else for (let i = 0; i < length; i += 1) buffer[at + i] = bytes[from + i]!
    this.#bytes = at + length
  }

  /** A piece for which there is room. It is the caller's again afterwards. */
  addPiece(piece: Buffer): void {
    if (this.#buffer || piece.length > TEXT_BYTES_MAX) this.addBytes(piece, 0, piece.length)
    else this.#text += piece.toString('latin1')
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
    if (this.#areTakenAtOnce && bytes <= SMALL_BYTES_MAX && text === '') {
      const wantsMore = socket.write(buffer.subarray(0, bytes))
      if (socket.writableLength === 0) this.#buffers.give(buffer)
      return wantsMore
    }
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

  /** The buffer, with the text in it, for which there must be room. */
  #gathered(): Buffer {
    this.#buffer ??= this.#buffers.take()
    if (this.#text !== '') this.#bytes += this.#buffer.write(this.#text, this.#bytes, 'latin1')
    this.#text = ''
    return this.#buffer
  }
}
