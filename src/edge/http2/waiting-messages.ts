import type { FrameWriter } from './frame-writer.ts'
import { FRAME_BYTES_MAX } from './protocol.ts'
import type { SendWindow } from './windows.ts'

/**
 * With more than this kept of answers that the visitor does not take, and of bodies that its applications do not, its further requests wait; with less where
 * much is kept for all visitors together.
 */
const KEPT_BYTES_HIGH = 4 * 1024 * 1024
const KEPT_BYTES_HIGH_OF_MANY = 256 * 1024
const KEPT_FOR_ALL_BYTES_HIGH = 256 * 1024 * 1024
/**
 * None of that holds back the answers of requests that have begun, of which hundreds may come at once, nor bodies that are within their windows. With more
 * than this kept of them, where much is kept for all, those of which nothing is taken are given up sooner.
 */
const KEPT_BYTES_MAX_OF_MANY = 512 * 1024
const PATIENCE_OF_MANY_MS = 2_000
/**
 * No window holds back heads and trailers. With more than this of them waiting for a visitor that does not keep up, the next one ends its stream: all that a
 * connection may have asked for come with 30 KB of fields each, and with 8 where much is kept for all.
 */
const UNREAD_BYTES_HIGH = 8 * 1024 * 1024
const UNREAD_BYTES_HIGH_OF_MANY = 2 * 1024 * 1024
/** What each of several may send before it is the next one's turn: on a slow line a style sheet is not to wait for large pieces of a hundred images. */
const TURN_BYTES = FRAME_BYTES_MAX

/** What is kept for all connections of a process. */
export class KeptForAll {
  bytes = 0
  /** Of the heads of open requests. */
  headsBytes = 0
}

export type Waiting = {
  /** Sends what waits, as far as there is room, and not much more than `bytes`. False: it has to wait on. */
  goOn(bytes: number): boolean
}

/**
 * Whether the visitor has taken nothing of its answer, or the application nothing of its request, for `ms`; and how much lies here since then that no line
 * holds up, however slow.
 */
type MayWait = {
  exchange: { isStuck(nowMs: number, ms: number): boolean }
  isUntaken(nowMs: number, ms: number): boolean
  heldBytes(nowMs: number, ms: number): number
}

/** The messages of one connection that have something to send and no room for it, each in its turn. */
export class WaitingMessages {
  readonly #messages = new Set<Waiting>()
  readonly #window: SendWindow
  readonly #writer: FrameWriter
  readonly #all: KeptForAll
  #keptBytes = 0
  /** What of heads and trailers was counted for all when it was looked at last. */
  #unreadCounted = 0

  constructor(window: SendWindow, writer: FrameWriter, all = new KeptForAll()) {
    this.#window = window
    this.#writer = writer
    this.#all = all
  }

  /** Whether nothing waits, and nothing is kept. */
  get isEmpty(): boolean {
    return this.#messages.size === 0 && this.#keptBytes === 0
  }

  /** Whether so much lies here that nothing should be added. */
  get areTooMany(): boolean {
    return this.#keepTooMuch || this.#writer.isBusy
  }

  /** Whether that is so because of most that is kept nobody has taken anything for `ms`, and not because the line is slow. */
  areHeldBack(streams: Iterable<MayWait>, nowMs: number, ms: number): boolean {
    if (!this.#keepTooMuch) return false
    let heldBytes = 0
    for (const stream of streams) heldBytes += stream.heldBytes(nowMs, ms)
    return heldBytes >= this.#keptBytes / 2
  }

  /**
   * Whether the stream has waited for so long that it is given up: nothing of its answer has been taken for `ms`, or, while too much is kept here and for
   * all, nothing of its answer or of its request's body for less.
   */
  isLost(stream: MayWait, nowMs: number, ms: number): boolean {
    const areMany = this.#areMany(this.#keptBytes)
    const patienceMs = areMany ? Math.min(ms, PATIENCE_OF_MANY_MS) : ms
    return stream.exchange.isStuck(nowMs, patienceMs) || (areMany && stream.isUntaken(nowMs, patienceMs))
  }

  /** How long the visitor may take nothing at all: `ms`, or less while too much of what no window holds back waits here and much is kept for all. */
  patienceMs(ms: number): number {
    return this.#areMany(this.#unreadBytes) ? Math.min(ms, PATIENCE_OF_MANY_MS) : ms
  }

  /** Whether another head or trailers may wait for the visitor. */
  get haveRoomForHead(): boolean {
    if (!this.#writer.isBusy) return true
    this.#countUnread(this.#unreadBytes)
    return this.#unreadBytes <= (this.#all.bytes < KEPT_FOR_ALL_BYTES_HIGH ? UNREAD_BYTES_HIGH : UNREAD_BYTES_HIGH_OF_MANY)
  }

  /** The connection is over, and its messages are. */
  end(): void {
    this.#countUnread(0)
  }

  add(message: Waiting): void {
    this.#messages.add(message)
  }

  delete(message: Waiting): void {
    this.#messages.delete(message)
  }

  /** So many bytes more are kept; negative: fewer. */
  kept(bytes: number): void {
    this.#keptBytes += bytes
    this.#all.bytes += bytes
  }

  /** The connection's window grows. While it was not shut, who waits does so for another window. False: larger than any window may be. */
  grow(bytes: number): boolean {
    const wasShut = this.#window.available <= 0
    if (!this.#window.grow(bytes)) return false
    if (wasShut) this.goOn()
    return true
  }

  /**
   * There is room again in the connection's window or on the way out: one turn after the other, as long as anything is sent. Who has sent all that it
   * was given needs no window to be asked for more, or for its end.
   */
  goOn(): void {
    this.#countUnread(this.#unreadBytes)
    for (let before = Number.NaN; this.#messages.size > 0 && before !== this.#window.available; ) {
      before = this.#window.available
      const turnBytes = this.#messages.size > 1 ? TURN_BYTES : Number.POSITIVE_INFINITY
      for (const message of [...this.#messages]) {
        if (this.#writer.isBusy) return
        this.goOnWith(message, turnBytes)
      }
    }
  }

  /** There is room again in this one's window. */
  goOnWith(message: Waiting, bytes = Number.POSITIVE_INFINITY): void {
    if (!this.#messages.delete(message)) return
    if (!message.goOn(bytes)) this.#messages.add(message) // at the end of the line
  }

  /** What waits in the writer, where that is more than keeps a line busy. */
  get #unreadBytes(): number {
    return this.#writer.isBusy ? this.#writer.unsentBytes : 0
  }

  #countUnread(bytes: number): void {
    this.#all.bytes += bytes - this.#unreadCounted
    this.#unreadCounted = bytes
  }

  #areMany(bytes: number): boolean {
    return this.#all.bytes >= KEPT_FOR_ALL_BYTES_HIGH && bytes > KEPT_BYTES_MAX_OF_MANY
  }

  get #keepTooMuch(): boolean {
    return this.#keptBytes >= (this.#all.bytes < KEPT_FOR_ALL_BYTES_HIGH ? KEPT_BYTES_HIGH : KEPT_BYTES_HIGH_OF_MANY)
  }
}
