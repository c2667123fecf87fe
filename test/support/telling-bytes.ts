import { emptyChunk } from '../../src/edge/let-go.ts'

/** Bytes of which each part is another one, so that a piece in a wrong place is seen. */
export function tellingBytes(length: number): Buffer {
  return Buffer.from(Array.from({ length }, (_, i) => Math.imul(i + 1, 0x9e3779b1) >>> 24))
}

/** These bytes in a chunk as the engine reads them, whose memory is another's once it has been let go. */
export function chunkOf(bytes: Buffer): Buffer {
  const chunk = emptyChunk(bytes.length)
  bytes.copy(chunk)
  return chunk
}

/** Sizes around those at which something is copied, joined, split or counted. */
export const PIECES = [1, 100, 4_096, 16_384, 16_385, 65_535, 98_304]

const APART_BYTES = 997

/** Telling bytes for each number below `count`, none like another's, `bytesMax` of them at most. */
export function tellingBodies(count: number, bytesMax: number): (number: number, length: number) => Buffer {
  const bytes = tellingBytes(count * APART_BYTES + bytesMax)
  return (number, length) => bytes.subarray(number * APART_BYTES, number * APART_BYTES + length)
}
