import { REQUEST_HEAD_BYTES_MAX } from '../request-limits.ts'
import type { KeptForAll } from './waiting-messages.ts'

/** What an open request holds beside its head: of small ones it is nearly all. */
export const REQUEST_BYTES = 2_048
/** Of one connection. */
const HEADS_BYTES_MAX = 4 * 1024 * 1024
/** Of all connections of a process, but for one head each. */
const HEADS_FOR_ALL_BYTES_MAX = 256 * 1024 * 1024
/** A connection has so many times less than is still free: all that it may have while half of it is, and a page's requests as long as anything is. */
const FREE_PER_CONNECTION = 32

/** The heads and trailers of one connection's open requests. Each stays until its answer is over, and may have come in a few bytes (RFC 7541). */
export class OpenHeads {
  readonly #all: KeptForAll
  #bytes = 0

  constructor(all: KeptForAll) {
    this.#all = all
  }

  hasRoomFor(bytes: number): boolean {
    const share = (HEADS_FOR_ALL_BYTES_MAX - this.#all.headsBytes) / FREE_PER_CONNECTION
    return this.#bytes + bytes <= Math.max(REQUEST_BYTES + REQUEST_HEAD_BYTES_MAX, Math.min(HEADS_BYTES_MAX, share))
  }

  /** So many bytes more are kept; negative: fewer. */
  kept(bytes: number): void {
    this.#bytes += bytes
    this.#all.headsBytes += bytes
  }

  /** They count as the request's head does. False: there is no room for them. */
  addTrailers(request: { headBytes: number }, bytes: number): boolean {
    if (!this.hasRoomFor(bytes)) return false
    request.headBytes += bytes
    this.kept(bytes)
    return true
  }
}
