import type { Socket } from 'node:net'
import { writeLatin1 } from '../lib/latin1.ts'
import type { SpareBuffers } from './spare-buffers.ts'

/** Larger pieces are not turned into text, which would be copied twice more on its way. */
const TEXT_BYTES_MAX = 1_500
/** Up to here a loop is faster than a call. */
const LOOPED_LENGTH_MAX = 20

/** Most messages fit a small buffer; what outgrows it moves to a large one. */
export type UnsentBuffers = { small: SpareBuffers; large: SpareBuffers }

/**
 * What one connection is to be sent at the end of the turn: text, which costs least for a little of it, or bytes with text behind once there are bytes
 * among it. The bytes lie in one of `buffers`, and are no more than a large one holds.
 */
export class Unsent {
  readonly #buffers: UnsentBuffers
  readonly #areTakenAtOnce: boolean
  #buffer: Buffer | undefined
  #bytes = 0
  #text = ''

  /** `areTakenAtOnce`: the socket takes what it can within a write, as one of TCP does, and of a little that is nearly always all. */
  constructor(buffers: UnsentBuffers, { areTakenAtOnce = false } = {}) {
    this.#buffers = buffers
    this.#areTakenAtOnce = areTakenAtOnce
  }

  get length(): number {
    return this.#bytes + this.#text.length
  }

  hasRoomFor(bytes: number): boolean {
    return this.length + bytes <= this.#buffers.large.bytes
  }

  /** Of one character a byte. */
  addText(text: string): void {
    const buffer = this.#buffer
    if (!buffer || this.#text !== '' || this.#bytes + text.length > buffer.length) this.#text += text
    else this.#bytes = writeLatin1(buffer, text, this.#bytes)
  }

  /** What is added from now on is put together as bytes, as long as there is room. */
  gather(): void {
    if (this.hasRoomFor(0)) this.#gathered(0)
  }

  /** What lies in `bytes` from `from` to `end`, which is the caller's again afterwards. What follows in the same turn lies behind it as bytes. */
  addBytes(bytes: Buffer, from = 0, end = bytes.length): void {
    const length = end - from
    if (!this.hasRoomFor(length)) {
      this.#text += bytes.toString('latin1', from, end)
      return
    }
    const buffer = this.#gathered(length)
    const at = this.#bytes
    // The whole of a buffer takes half of what a part does.
    if (length === bytes.length) buffer.set(bytes, at)
    else if (length > LOOPED_LENGTH_MAX) bytes.copy(buffer, at, from, end)
    else for (let i = 0; i < length; i += 1) buffer[at + i] = bytes[from + i]!
    this.#bytes = at + length
  }

  /** A piece for which there is room. It is the caller's again afterwards. */
  addPiece(piece: Buffer): void {
    if (this.#buffer || piece.length > TEXT_BYTES_MAX) this.addBytes(piece)
    else this.#text += piece.toString('latin1')
  }

  /** Writes all of it, in one piece. False: the socket wants no more for now. */
  writeTo(socket: Socket): boolean {
    const buffer = this.#buffer && this.hasRoomFor(0) ? this.#gathered(0) : this.#buffer
    const bytes = this.#bytes
    const text = this.#text
    this.#buffer = undefined
    this.#bytes = 0
    this.#text = ''
    if (!buffer) return socket.write(text, 'latin1')
    const pile = this.#pileOf(buffer)
    if (this.#areTakenAtOnce && pile === this.#buffers.small && text === '') {
      const wantsMore = socket.write(buffer.subarray(0, bytes))
      if (socket.writableLength === 0) pile.give(buffer) // to be told costs more than to lose a small buffer once in a while
      return wantsMore
    }
    const written = () => {
      if (!socket.destroyed) pile.give(buffer) // what the kernel or TLS still holds is not ours to use again
    }
    if (text === '') return socket.write(buffer.subarray(0, bytes), written)
    socket.cork()
    socket.write(buffer.subarray(0, bytes), written)
    const wantsMore = socket.write(text, 'latin1')
    socket.uncork()
    return wantsMore
  }

  /** The buffer, with the text in it and so many bytes free, for all of which there must be room. */
  #gathered(bytesMore: number): Buffer {
    const needed = this.length + bytesMore
    const buffer = this.#buffer && needed <= this.#buffer.length ? this.#buffer : this.#moveTo(needed)
    if (this.#text !== '') this.#bytes += buffer.write(this.#text, this.#bytes, 'latin1')
    this.#text = ''
    return buffer
  }

  #moveTo(bytes: number): Buffer {
    const { small, large } = this.#buffers
    const before = this.#buffer
    const buffer = (bytes <= small.bytes ? small : large).take()
    if (before) {
      before.copy(buffer, 0, 0, this.#bytes)
      this.#pileOf(before).give(before)
    }
    this.#buffer = buffer
    return buffer
  }

  #pileOf(buffer: Buffer): SpareBuffers {
    const { small, large } = this.#buffers
    return buffer.length === small.bytes ? small : large
  }
}
