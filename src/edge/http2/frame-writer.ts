import type { Duplex } from 'node:stream'
import type { Fields } from '../engine.ts'
import type { FieldSection } from '../field-section.ts'
import type { Turn } from '../turn.ts'
import { BEFORE_BODY_BYTES_MAX, BODY_FRAMES_BYTES_MAX, FRAME_BUFFER_BYTES, type FrameBuffers } from './frame-buffers.ts'
import type { HpackEncoder } from './hpack-encoder.ts'
import { ERROR_CODE, FLAG, FRAME, FRAME_BYTES_MAX, FRAME_HEAD_BYTES } from './protocol.ts'

/** With more than this on its way, nobody should write more until some has left. */
const UNSENT_BYTES_HIGH = 256 * 1024
const WORD_BYTES = 4
const NOTHING = Buffer.alloc(0)
/** What the system takes only after so long it had no room for: the other side has received something meanwhile (RFC 9293 §3.8). */
const NOT_AT_ONCE_MS = 50
/** A change of the table's size, a status and a length. */
const HEAD_OVERHEAD_BYTES = 40

type WriterParts = { turn: Turn; buffers: FrameBuffers; encoder: HpackEncoder }

/** `dirty`: something waits to be flushed; `sent`: some of it has left; `told`: the other side is told of an error, by a frame of this type. */
type WriterListener = { dirty(): void; sent(): void; told?(type: number, code: number): void }

type Filled = { buffer: Buffer; bytes: number }

/**
 * The frames of one connection on their way out. They gather until `flush`; while the socket is at what it got before, they go on gathering,
 * so that another side which does not read costs what it is owed, and no more.
 */
export class FrameWriter {
  readonly #socket: Duplex
  readonly #turn: Turn
  readonly #buffers: FrameBuffers
  readonly #encoder: HpackEncoder
  readonly #on: WriterListener
  #buffer: Buffer | undefined
  #at = 0
  #full: Filled[] = []
  #unsent = 0
  #writing = 0
  #mustDisownTable = false
  #hasEnded = false
  /** Whether HEADERS or DATA were written since somebody asked. */
  #hasNews = false
  /** When the socket last took something, or was idle and got something to do. */
  #movedAtMs = 0
  /** When the other side's system was last seen to receive some of much that was written, though nothing was heard of it. */
  deliveredAtMs = Number.NEGATIVE_INFINITY

  constructor(socket: Duplex, parts: WriterParts, on: WriterListener) {
    this.#socket = socket
    this.#turn = parts.turn
    this.#buffers = parts.buffers
    this.#encoder = parts.encoder
    this.#on = on
  }

  get isBusy(): boolean {
    return this.#unsent > UNSENT_BYTES_HIGH
  }

  /** What waits that the system has not taken. */
  get unsentBytes(): number {
    return this.#unsent
  }

  /** How long the other side has taken nothing of what waits for it. */
  stalledMs(nowMs: number): number {
    return this.#writing === 0 ? 0 : nowMs - this.#movedAtMs
  }

  /** Whether a head or a part of a body was written since this was asked last. */
  takeNews(): boolean {
    const hadNews = this.#hasNews
    this.#hasNews = false
    return hadNews
  }

  /** So much of a body follows, and then perhaps the rest of so much: what fits a buffer leaves in one piece. */
  expect(bytes: number, inAll = bytes): void {
    const before = this.#buffer
    const following = before ? bytes : inAll
    const frames = Math.ceil(following / FRAME_BYTES_MAX) * FRAME_HEAD_BYTES
    const wanted = Math.min(BODY_FRAMES_BYTES_MAX, frames + following)
    if (this.isBusy || wanted <= (before?.length ?? FRAME_BUFFER_BYTES) - this.#at) return
    const isJoined = before !== undefined && this.#at <= BEFORE_BODY_BYTES_MAX
    if (!isJoined) this.#setAside()
    this.#buffer = this.#buffers.takeForBody()
    if (!isJoined) return
    before.copy(this.#buffer, 0, 0, this.#at)
    this.#buffers.give(before)
  }

  frame(type: number, flags: number, streamId: number, payload: Buffer = NOTHING, start = 0, end = payload.length): void {
    const size = end - start
    const at = this.#reserve(FRAME_HEAD_BYTES + size)
    putFrameHead(this.#buffer!, at, size, type, flags, streamId)
    if (size > 0) payload.copy(this.#buffer!, at + FRAME_HEAD_BYTES, start, end)
    if (type === FRAME.data) this.#hasNews = true
    this.#commit(FRAME_HEAD_BYTES + size)
  }

  /** Ends the stream with RST_STREAM. */
  reset(streamId: number, code: number): void {
    this.#words(FRAME.rstStream, streamId, code)
    if (code !== ERROR_CODE.none) this.#on.told?.(FRAME.rstStream, code)
  }

  /** Announces the end of the connection with GOAWAY: of the other side's streams none behind the last one is served. */
  goaway(lastStreamId: number, code: number): void {
    this.#words(FRAME.goaway, 0, lastStreamId, code)
    if (code !== ERROR_CODE.none) this.#on.told?.(FRAME.goaway, code)
  }

  windowUpdate(streamId: number, bytes: number): void {
    this.#words(FRAME.windowUpdate, streamId, bytes)
  }

  /** A frame whose payload is some 32-bit numbers. */
  #words(type: number, streamId: number, ...words: number[]): void {
    const size = words.length * WORD_BYTES
    let at = this.#reserve(FRAME_HEAD_BYTES + size)
    putFrameHead(this.#buffer!, at, size, type, FLAG.none, streamId)
    at += FRAME_HEAD_BYTES
    for (const word of words) at = this.#buffer!.writeUInt32BE(word, at)
    this.#commit(FRAME_HEAD_BYTES + size)
  }

  /** HEADERS, with CONTINUATION when it is long. Without a status they are trailers. */
  head(streamId: number, status: number | undefined, fields: Fields, { endsStream }: { endsStream: boolean }) {
    this.#hasNews = true
    const room = this.#encoder.roomFor(fields)
    if (room > FRAME_BYTES_MAX) return this.#longHead(streamId, status, fields, endsStream)
    const start = this.#reserve(FRAME_HEAD_BYTES + room)
    const end = this.#putBlock(this.#buffer!, start + FRAME_HEAD_BYTES, status, fields)
    const flags = FLAG.endHeaders | (endsStream ? FLAG.endStream : 0)
    putFrameHead(this.#buffer!, start, end - start - FRAME_HEAD_BYTES, FRAME.headers, flags, streamId)
    this.#commit(end - start)
  }

  /** The head of an answer; its length is said where it is known. */
  answer(
    streamId: number,
    status: number,
    section: FieldSection,
    { length, endsStream }: { length: number | undefined; endsStream: boolean },
  ) {
    this.#hasNews = true
    const block = this.#encoder.blockOf(section)
    const room = HEAD_OVERHEAD_BYTES + block.length
    if (room > FRAME_BYTES_MAX) {
      const fields = length === undefined ? section.list : [...section.list, 'content-length', String(length)]
      return this.#longHead(streamId, status, fields, endsStream)
    }
    const start = this.#reserve(FRAME_HEAD_BYTES + room)
    const into = this.#buffer!
    let at = this.#putBeginning(into, start + FRAME_HEAD_BYTES, status)
    into.set(block, at)
    at += block.length
    if (length !== undefined) at = this.#encoder.putLength(into, at, length)
    const flags = FLAG.endHeaders | (endsStream ? FLAG.endStream : 0)
    putFrameHead(into, start, at - start - FRAME_HEAD_BYTES, FRAME.headers, flags, streamId)
    this.#commit(at - start)
  }

  /** From the next head on: the other side wants to hear that its table is not used. */
  disownTable(): void {
    this.#mustDisownTable = true
  }

  /** Gives the socket all that has gathered, unless it is still at work. */
  flush(): void {
    if (this.#writing === 0) this.#write()
  }

  /** The last of all frames have been written. `onSent`: once the system has taken them all. */
  end(onSent?: () => void): void {
    this.#setAside()
    this.#hasEnded = true
    while (this.#full.length > 0) this.#writeNext()
    this.#socket.end(onSent)
  }

  #longHead(streamId: number, status: number | undefined, fields: Fields, endsStream: boolean): void {
    const block = Buffer.allocUnsafe(this.#encoder.roomFor(fields))
    const end = this.#putBlock(block, 0, status, fields)
    for (let at = 0; at < end; at += FRAME_BYTES_MAX) {
      const next = Math.min(end, at + FRAME_BYTES_MAX)
      const flags = (next === end ? FLAG.endHeaders : 0) | (at === 0 && endsStream ? FLAG.endStream : 0)
      this.frame(at === 0 ? FRAME.headers : FRAME.continuation, flags, streamId, block, at, next)
    }
  }

  #putBlock(into: Buffer, from: number, status: number | undefined, fields: Fields): number {
    return this.#encoder.putFields(into, this.#putBeginning(into, from, status), fields)
  }

  #putBeginning(into: Buffer, from: number, status: number | undefined): number {
    let at = from
    if (this.#mustDisownTable) at = this.#encoder.putNoTable(into, at)
    this.#mustDisownTable = false
    return status === undefined ? at : this.#encoder.putStatus(into, at, status)
  }

  #reserve(bytes: number): number {
    if (this.#buffer && this.#buffer.length - this.#at < bytes) this.#setAside()
    this.#buffer ??= this.#buffers.take()
    return this.#at
  }

  #commit(bytes: number): void {
    this.#at += bytes
    this.#unsent += bytes
    this.#on.dirty()
  }

  #setAside(): void {
    if (this.#buffer) this.#full.push({ buffer: this.#buffer, bytes: this.#at })
    this.#buffer = undefined
    this.#at = 0
  }

  #write(): void {
    this.#setAside()
    if (!this.#hasEnded) this.#writeNext()
  }

  /** One after the other: what the socket gets while it writes, it copies into one piece first. */
  #writeNext(): void {
    const next = this.#full.shift()
    if (!next) return
    const { buffer, bytes } = next
    if (this.#writing === 0) this.#movedAtMs = this.#turn.nowMs()
    this.#writing += 1
    this.#socket.write(buffer.subarray(0, bytes), () => this.#written(buffer, bytes))
  }

  #written(buffer: Buffer, bytes: number) {
    this.#writing -= 1
    this.#unsent -= bytes
    if (this.#socket.destroyed) return // what the kernel or TLS still holds is not ours to use again
    this.#buffers.give(buffer)
    if (this.#writing > 0) {
      this.#movedAtMs = this.#turn.nowMs()
      return
    }
    if (this.#full.length > 0) return this.#goOn()
    this.#write()
    this.#on.sent()
  }

  #goOn(): void {
    const nowMs = this.#turn.nowMs()
    if (nowMs - this.#movedAtMs >= NOT_AT_ONCE_MS) this.deliveredAtMs = nowMs
    this.#writeNext()
  }
}

function putFrameHead(into: Buffer, at: number, size: number, type: number, flags: number, streamId: number): void {
  into[at] = size >>> 16
  into[at + 1] = size >>> 8
  into[at + 2] = size
  into[at + 3] = type
  into[at + 4] = flags
  into[at + 5] = streamId >>> 24
  into[at + 6] = streamId >>> 16
  into[at + 7] = streamId >>> 8
  into[at + 8] = streamId
}
