import type { FrameWriter } from './frame-writer.ts'
import { GOAWAY_GRACE_MS, HEARD_MS_MAX } from './limits.ts'
import { ERROR_CODE, FLAG, FRAME, STREAM_ID_MAX } from './protocol.ts'

const LAST_REQUESTS = Buffer.from('namesake')
const LAST_ANSWERS = Buffer.from('goodbye.')
/** What ended so shortly before may be of the same turn, and have left behind what was said: sums of times are not exact. */
const AT_ONCE_MS = 1

/**
 * The end of a connection that has not failed, at which nothing is lost that is on its way, in either direction: a PING is answered by whoever has read all that
 * was sent before it (RFC 9113 §6.7), behind all that it had said by then.
 */
export class Farewell {
  readonly #writer: FrameWriter
  #saidAtMs = Number.POSITIVE_INFINITY
  #heardUntilMs = Number.NEGATIVE_INFINITY
  #isAsked = false
  #lastTaken = STREAM_ID_MAX

  constructor(writer: FrameWriter) {
    this.#writer = writer
  }

  /** Asks for no more requests. Those that are on their way have come when this is answered, or when it `isOver`. */
  say(nowMs: number): void {
    this.#saidAtMs = nowMs
    this.#writer.goaway(STREAM_ID_MAX, ERROR_CODE.none)
    this.#writer.frame(FRAME.ping, FLAG.none, 0, LAST_REQUESTS)
  }

  isOver(nowMs: number): boolean {
    return nowMs >= this.#saidAtMs + GOAWAY_GRACE_MS
  }

  /** Of the visitor's streams none behind this one is served; never one that was given up before (RFC 9113 §6.8). */
  takeNoMore(lastStreamId: number, code: number = ERROR_CODE.none): void {
    this.#lastTaken = Math.min(this.#lastTaken, lastStreamId)
    this.#writer.goaway(this.#lastTaken, code)
  }

  /** Notes that a PING was acknowledged. False: none of those that were sent here. */
  noteAck(payload: Buffer): boolean {
    const hasAll = this.#isAsked && payload.equals(LAST_ANSWERS)
    if (!hasAll && (this.#saidAtMs === Number.POSITIVE_INFINITY || !payload.equals(LAST_REQUESTS))) return false
    this.#heardUntilMs = hasAll ? Number.POSITIVE_INFINITY : Math.max(this.#heardUntilMs, this.#saidAtMs)
    return true
  }

  /** Whether the visitor has the answers, of which the last one left at `lastMs`, or was given the time that it may take. Asks it, if that is not known. */
  hasBeenHeard(lastMs: number, nowMs: number): boolean {
    if (lastMs < this.#heardUntilMs - AT_ONCE_MS || nowMs >= lastMs + HEARD_MS_MAX) return true
    if (!this.#isAsked) this.#writer.frame(FRAME.ping, FLAG.none, 0, LAST_ANSWERS)
    this.#isAsked = true
    return false
  }
}
