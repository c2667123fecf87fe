import { emptyChunk, letGo } from '../let-go.ts'
import { ConnectionError, ERROR_CODE, FLAG, FRAME, FRAME_BYTES_MAX, FRAME_HEAD_BYTES, STREAM_ID_MAX, violation } from './protocol.ts'

/** What a client says before its first frame. */
export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
const EMPTY = Buffer.alloc(0)
const TYPE_AT = 3

/** One frame; its payload lies in `bytes` from `start` to `end`; what of it is needed after the call is to be kept (`keep`). */
export type OnFrame = (type: number, flags: number, streamId: number, bytes: Buffer, start: number, end: number) => void

/** Cuts a peer's bytes into frames (RFC 9113 §3.4 and §4.1). What is incomplete is kept, at most one frame. */
export class FrameReader {
  readonly #onFrame: OnFrame
  #prefaceBytes = 0
  #hasSettings = false
  /** The beginning of a frame: of its head, or a place for all of it once its size is known. */
  #kept: Buffer = EMPTY
  #keptBytes = 0

  /** Of the two peers only a client begins with a preface. */
  constructor(onFrame: OnFrame, { hasPreface }: { hasPreface: boolean }) {
    this.#onFrame = onFrame
    if (!hasPreface) this.#prefaceBytes = PREFACE.length
  }

  /** What has begun and should be complete before long: anything but a piece of a body. It is another object for each. */
  get unfinished(): object | undefined {
    if (!this.#hasSettings) return PREFACE
    const isOfBody = this.#keptBytes > TYPE_AT && this.#kept[TYPE_AT] === FRAME.data
    return this.#keptBytes > 0 && !isOfBody ? this.#kept : undefined
  }

  /** Calls for every complete frame. Throws ConnectionError, of its own and of whoever is called. */
  feed(chunk: Buffer): void {
    let at = this.#prefaceBytes < PREFACE.length ? this.#readPreface(chunk) : 0
    while (at < chunk.length) {
      if (this.#keptBytes > 0) {
        at = this.#complete(chunk, at)
        continue
      }
      const end = chunk.length - at < FRAME_HEAD_BYTES ? undefined : at + frameBytes(chunk, at)
      if (end === undefined || end > chunk.length) {
        this.#keep(chunk, at, end === undefined ? FRAME_HEAD_BYTES : end - at)
        return
      }
      this.#pass(chunk, at, end)
      at = end
    }
  }

  #readPreface(chunk: Buffer): number {
    const end = Math.min(chunk.length, PREFACE.length - this.#prefaceBytes)
    if (chunk.compare(PREFACE, this.#prefaceBytes, this.#prefaceBytes + end, 0, end) !== 0) throw violation('this is not HTTP/2')
    this.#prefaceBytes += end
    return end
  }

  #keep(chunk: Buffer, at: number, size: number): void {
    this.#kept = emptyChunk(size)
    this.#keptBytes = chunk.copy(this.#kept, 0, at)
  }

  /** Adds to the frame that was begun, first to its head, then to the rest. */
  #complete(chunk: Buffer, from: number): number {
    const copied = chunk.copy(this.#kept, this.#keptBytes, from)
    this.#keptBytes += copied
    if (this.#keptBytes < this.#kept.length) return from + copied
    const kept = this.#kept
    const size = frameBytes(kept, 0)
    if (size > kept.length) {
      this.#keep(kept, 0, size)
    } else {
      this.#kept = EMPTY
      this.#keptBytes = 0
      this.#pass(kept, 0, size)
      letGo(kept)
    }
    return from + copied
  }

  #pass(bytes: Buffer, at: number, end: number): void {
    const type = bytes[at + TYPE_AT]!
    const flags = bytes[at + 4]!
    if (!this.#hasSettings) {
      if (type !== FRAME.settings || flags & FLAG.ack) throw violation('the first frame is not SETTINGS')
      this.#hasSettings = true
    }
    this.#onFrame(type, flags, bytes.readUInt32BE(at + 5) & STREAM_ID_MAX, bytes, at + FRAME_HEAD_BYTES, end)
  }
}

function frameBytes(bytes: Buffer, at: number): number {
  const length = (bytes[at]! << 16) | (bytes[at + 1]! << 8) | bytes[at + 2]!
  if (length > FRAME_BYTES_MAX) throw new ConnectionError(ERROR_CODE.frameSize, 'a frame larger than we take')
  return FRAME_HEAD_BYTES + length
}
