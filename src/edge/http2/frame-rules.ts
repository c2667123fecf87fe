import { ConnectionError, ERROR_CODE, FLAG, FRAME, violation } from './protocol.ts'

const PRIORITY_BYTES = 5
const GOAWAY_BYTES_MIN = 8
const SIZES: Record<number, number> = { [FRAME.priority]: 5, [FRAME.rstStream]: 4, [FRAME.ping]: 8, [FRAME.windowUpdate]: 4 }
const OF_A_STREAM = new Set<number>([FRAME.data, FRAME.headers, FRAME.priority, FRAME.rstStream, FRAME.continuation])
const OF_THE_CONNECTION = new Set<number>([FRAME.settings, FRAME.ping, FRAME.goaway])

/** What RFC 9113 §6 says of a frame alone: whether its type may name a stream, and its size. Throws ConnectionError. */
export function checkFrame(type: number, flags: number, streamId: number, size: number): void {
  if (streamId === 0 ? OF_A_STREAM.has(type) : OF_THE_CONNECTION.has(type)) throw violation('a frame of the wrong stream')
  if (type === FRAME.pushPromise) throw violation('nobody may push here')
  const isAckWithPayload = type === FRAME.settings && flags & FLAG.ack && size > 0
  if (size !== (SIZES[type] ?? size) || isAckWithPayload || (type === FRAME.goaway && size < GOAWAY_BYTES_MIN))
    throw new ConnectionError(ERROR_CODE.frameSize, 'a frame of the wrong size')
}

/** Where the content of DATA or HEADERS lies within its padding and behind its priority, which is ignored. Throws ConnectionError. */
export function contentOf(type: number, flags: number, bytes: Buffer, start: number, end: number): { start: number; end: number } {
  const isPadded = (flags & FLAG.padded) !== 0
  const before = (isPadded ? 1 : 0) + (type === FRAME.headers && flags & FLAG.priority ? PRIORITY_BYTES : 0)
  if (end - start < before) throw new ConnectionError(ERROR_CODE.frameSize, 'a frame without room for its own parts')
  const padding = isPadded ? bytes[start]! : 0
  if (start + before > end - padding) throw violation('padding longer than its frame')
  return { start: start + before, end: end - padding }
}
