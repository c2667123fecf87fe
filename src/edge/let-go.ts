/** Smaller ones go with the collections that small objects cause. */
const LARGE_BYTES = 16 * 1024

/**
 * Gives the memory of a chunk back that has left, when the chunk is all of its memory. Reading a gigabyte makes so few objects that the collector
 * would let tens of megabytes of them stand.
 */
export function letGo({ buffer, byteLength }: Buffer): void {
  if (byteLength >= LARGE_BYTES && buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0)
}
