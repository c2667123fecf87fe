/** What one read of a body takes at most, and of one that comes and leaves quickly. */
export const READ_BYTES_MAX = 64 * 1024
export const QUICK_READ_BYTES_MAX = 96 * 1024
/** Smaller ones go with the collections that small objects cause. */
const LARGE_BYTES = 16 * 1024
const KEPT_MAX = 64

/** What has been let go, by size. */
const kept = new Map<number, Buffer[]>([
  [READ_BYTES_MAX, []],
  [QUICK_READ_BYTES_MAX, []],
])

/** A buffer of so many bytes for a piece of a body: one that has been let go, or a new one. */
export function takeBuffer(bytes: number): Buffer {
  return kept.get(bytes)?.pop() ?? Buffer.allocUnsafeSlow(bytes)
}

/** A copy that can be let go when it is large. */
export function copyOf(bytes: Uint8Array): Buffer {
  const copy = bytes.length < LARGE_BYTES ? Buffer.allocUnsafe(bytes.length) : takeBuffer(bytes.length)
  copy.set(bytes)
  return copy
}

/** The bytes in memory of their own, to be kept: a small piece of memory that many share would hold on to all of it. */
export function alone(bytes: Buffer): Buffer {
  if (bytes.buffer.byteLength === bytes.length) return bytes
  const copy = Buffer.allocUnsafeSlow(bytes.length)
  copy.set(bytes)
  return copy
}

/**
 * Gives the memory of a chunk back that has left, when the chunk is all of its memory. Reading a gigabyte makes so few objects that the collector
 * would let tens of megabytes of them stand. Its memory moves to another buffer: whoever still holds the chunk holds nothing.
 */
export function letGo({ buffer, byteLength }: Buffer): void {
  if (byteLength < LARGE_BYTES || !(buffer instanceof ArrayBuffer) || buffer.byteLength !== byteLength) return
  const alike = kept.get(byteLength)
  if (alike && alike.length < KEPT_MAX) alike.push(Buffer.from(buffer.transfer()))
  else buffer.transfer(0)
}

/** As letGo, in the next turn of the loop: who handed the chunk over may still be looking at it. */
export function letGoLater(chunk: Buffer): void {
  if (chunk.byteLength >= LARGE_BYTES) setImmediate(letGo, chunk)
}
