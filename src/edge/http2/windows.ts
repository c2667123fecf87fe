import { ConnectionError, ERROR_CODE } from './protocol.ts'

export const WINDOW_BYTES_MAX = 2 ** 31 - 1
export const INITIAL_WINDOW_BYTES = 65_535

/** How much we may still send (RFC 9113 §6.9). It falls below zero when the peer makes its windows smaller. */
export class SendWindow {
  available: number

  constructor(bytes: number) {
    this.available = bytes
  }

  /** False: it would grow larger than any window may be. */
  grow(bytes: number): boolean {
    this.available += bytes
    return this.available <= WINDOW_BYTES_MAX
  }
}

/** That of a connection, for all bodies on it together: it knows since when it has been shut. */
export class SharedSendWindow extends SendWindow {
  #shutSinceMs = Number.POSITIVE_INFINITY

  override grow(bytes: number): boolean {
    this.#shutSinceMs = Number.POSITIVE_INFINITY
    return super.grow(bytes)
  }

  /** To be asked several times a second. */
  look(nowMs: number): void {
    if (this.available <= 0) this.#shutSinceMs = Math.min(this.#shutSinceMs, nowMs)
  }

  hasBeenShutFor(ms: number): boolean {
    return performance.now() - this.#shutSinceMs >= ms
  }
}

/** By less than this no window is opened: who may send a few bytes sends a few bytes. */
const OPENED_BYTES_MIN = 4 * 1024

/**
 * How much the peer may still send. It is opened again by half its size at a time, or by as much as the peer has left, which is less where others
 * hold much and take nothing; and only for bytes that somebody has taken. Where all that came has been taken it doubles, up to `bytesMax`; of a stream
 * within a connection's window (`within`) as long as all of these together have not grown by half of that.
 */
export class ReceiveWindow {
  #bytesMax: number
  #within: ReceiveWindow | undefined
  #size: number
  #available: number
  #taken = 0
  #grown = 0
  /** What streams within this window have grown by. */
  #lent = 0

  constructor(bytes: number, bytesMax = bytes, within?: ReceiveWindow) {
    this.#bytesMax = bytesMax
    this.#within = within
    this.#size = bytes
    this.#available = bytes
  }

  /** Bytes have arrived. False: more than the peer was allowed. */
  receive(bytes: number): boolean {
    this.#available -= bytes
    return this.#available >= 0
  }

  /** Somebody has taken bytes. Returns by how much the window opens: that is to be told the peer when it is not 0. */
  take(bytes: number): number {
    this.#taken += bytes
    const enough = Math.min(this.#size / 2, Math.max(this.#available, OPENED_BYTES_MIN))
    if (this.#taken < enough) return 0
    const isKeptUpWith = this.#available + this.#taken >= this.#size
    const growth = isKeptUpWith ? this.#grow(Math.min(this.#size, this.#bytesMax - this.#size)) : 0
    const opened = this.#taken + growth
    this.#size += growth
    this.#available += opened
    this.#taken = 0
    return opened
  }

  /** Its stream is over: others may grow by what it has grown. */
  growNoMore(): void {
    if (this.#within) this.#within.#lent -= this.#grown
    this.#within = undefined
    this.#bytesMax = this.#size
  }

  #grow(wanted: number): number {
    if (!this.#within) return wanted
    const growth = Math.min(wanted, this.#within.#size / 2 - this.#within.#lent)
    this.#within.#lent += growth
    this.#grown += growth
    return growth
  }
}

export function tooMuch(): ConnectionError {
  return new ConnectionError(ERROR_CODE.flowControl, 'more than the window allows')
}
