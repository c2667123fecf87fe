import { Lru } from '../lib/lru.ts'
import type { Upstream } from './upstream.ts'

const UPSTREAMS_MAX = 1_000
const REMEMBERED_MS = 60 * 60_000
/** So some servers say that an idle connection ends. */
const GOODBYE = /^HTTP\/1\.[01] 408 /
const GOODBYE_BYTES = 13

/**
 * The upstreams that were seen to send more behind an answer which can have no body (RFC 9112 §6.3), as programs do that treat HEAD like GET. What
 * comes of that once a connection carries its next request is the answer to it, for whoever reads HTTP/1.1; so theirs are not kept behind such
 * answers, for an hour each time.
 */
export class UpstreamSurplus {
  readonly #seenAtMs = new Lru<string, number>(UPSTREAMS_MAX)

  /** Notes what came of it. */
  note({ key }: Upstream, bytes: Buffer, nowMs: number): void {
    if (!GOODBYE.test(bytes.toString('latin1', 0, GOODBYE_BYTES))) this.#seenAtMs.set(key, nowMs)
  }

  isKnownOf({ key }: Upstream, nowMs: number): boolean {
    if (this.#seenAtMs.size === 0) return false // as nearly always
    return nowMs - (this.#seenAtMs.peek(key) ?? Number.NEGATIVE_INFINITY) < REMEMBERED_MS
  }
}
