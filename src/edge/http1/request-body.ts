import { ArrivingBody } from '../arriving-body.ts'
import { ChunkedReader, Malformed } from '../chunked-reader.ts'
import type { Fields, RequestBody } from '../engine.ts'
import { trailersBeyondHop } from '../forwarded-trailers.ts'
import { partOf } from '../let-go.ts'
import type { RequestFraming } from './request-head.ts'

const HIGH_WATER_BYTES = 64 * 1024

/** The framing of the next message hangs on these: in a trailer they can only deceive. */
const NEVER_IN_TRAILERS = new Set(['content-length', 'transfer-encoding', 'host', 'connection'])

export type IncomingBody = {
  body: RequestBody
  readonly isComplete: boolean
  /** Takes bytes from `at` and returns where the next request begins or more is needed (then: what is left of these first). Throws Malformed. */
  feed(bytes: Buffer, at: number): number
  /** Nobody wants it any more, or the visitor has gone: what waits and what comes is thrown away. */
  cut(): void
}

/** The body of a request as it is framed. `pressure` is told when nobody takes what has come, and `relief` when more is wanted. */
export function createIncomingBody(
  framing: Exclude<RequestFraming, { kind: 'none' }>,
  on: { pressure(): void; relief(): void },
): IncomingBody {
  let isComplete = false
  let isUnderPressure = false
  let left = framing.kind === 'length' ? framing.bytes : 0
  const taken = () => {
    if (!isUnderPressure || body.waitingBytes >= HIGH_WATER_BYTES) return
    isUnderPressure = false
    on.relief()
  }
  const body = new ArrivingBody(framing.kind === 'length' ? framing.bytes : undefined, taken)

  const push = (chunk: Buffer) => {
    body.push(chunk)
    if (isUnderPressure || body.waitingBytes < HIGH_WATER_BYTES) return
    isUnderPressure = true
    on.pressure()
  }
  const complete = (trailing: Fields) => {
    for (let i = 0; i < trailing.length; i += 2)
      if (NEVER_IN_TRAILERS.has(trailing[i]!.toLowerCase())) throw new Malformed('framing in a trailer')
    isComplete = true
    body.end(framing.kind === 'chunked' ? trailersBeyondHop(trailing, framing.connection) : trailing)
  }
  const chunked = framing.kind === 'chunked' ? new ChunkedReader({ onData: push, onEnd: complete }) : undefined

  const feedCounted = (bytes: Buffer, at: number): number => {
    const end = Math.min(bytes.length, at + left)
    left -= end - at
    push(partOf(bytes, at, end))
    if (left === 0) complete([])
    return end
  }
  const feedChunked = (bytes: Buffer, from: number): number => {
    let at = from
    while (at < bytes.length && !isComplete) {
      const next = chunked!.step(bytes, at)
      if (next === undefined) break
      at = next
    }
    return at
  }

  return {
    body,
    get isComplete() {
      return isComplete
    },
    feed: chunked ? feedChunked : feedCounted,
    cut: () => body.cut(),
  }
}
