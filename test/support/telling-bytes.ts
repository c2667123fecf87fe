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
