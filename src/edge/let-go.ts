/** What one read of a body takes at most, and of one that comes and leaves quickly. */
export const READ_BYTES_MAX = 64 * 1024
export const QUICK_READ_BYTES_MAX = 96 * 1024
/** A whole frame of HTTP/2 with its head. */
const FRAME_BYTES = 17 * 1024
/** Smaller ones go with the collections that small objects cause. */
const LARGE_BYTES = 16 * 1024
/** A part smaller than this is copied: it shall neither hold on to memory many times its size, nor cost being counted. */
const COUNTED_BYTES_MIN = 4 * 1024
const KEPT_MAX = 64
/** Memory that a chunk may hold on to, in its own size. */
const HELD_TIMES_MAX = 4

/** Bun is left to collect what is read: it takes no longer for large memory, and to share out or look at that of a small chunk it has to move it first. */
const LENDS = process.versions.bun === undefined
/** The chunks of lent memory that have not been let go, under a name of their own on the memory: a map of memories would cost more than all else here. */
const CHUNKS = Symbol('chunks')
/** On memory that many connections are read into, one after the other. */
const COMMON = Symbol('common')
type Memory = ArrayBufferLike & { [CHUNKS]?: Buffer[]; [COMMON]?: true }

/** What has been let go, by size, from the smallest. */
const kept: { bytes: number; buffers: Buffer[] }[] = [LARGE_BYTES, FRAME_BYTES, 32 * 1024, READ_BYTES_MAX, QUICK_READ_BYTES_MAX].map(
  (bytes) => ({
    bytes,
    buffers: [],
  }),
)

/** A buffer of at least so many bytes for a piece of a body: one that has been let go, or a new one. */
export function takeBuffer(bytes: number): Buffer {
  const pile = kept.find((pile) => pile.bytes >= bytes)
  return pile?.buffers.pop() ?? Buffer.allocUnsafeSlow(pile?.bytes ?? bytes)
}

/**
 * The first bytes of a buffer as a chunk, to be let go. The buffer belongs to the chunk from now on, and to the chunk's parts: its memory is used
 * again once they all have been let go. Reading a gigabyte makes few objects but much memory, and V8 collects all that lives, again and again,
 * to see whether the memory can go: a third of what a large answer costs.
 */
export function lend(buffer: Buffer, bytes: number): Buffer {
  const chunk = buffer.subarray(0, bytes)
  if (LENDS) {
    const memory: Memory = buffer.buffer
    memory[CHUNKS] = [chunk]
  }
  return chunk
}

/** A chunk to be filled, that can be let go when it is large. */
export function emptyChunk(bytes: number): Buffer {
  return bytes < LARGE_BYTES ? Buffer.allocUnsafeSlow(bytes) : lend(takeBuffer(bytes), bytes)
}

/** A copy that can be let go when it is large. */
export function copyOf(bytes: Buffer, start = 0, end = bytes.length): Buffer {
  const size = end - start
  const copy = size < LARGE_BYTES ? Buffer.allocUnsafe(size) : emptyChunk(size)
  bytes.copy(copy, 0, start, end)
  return copy
}

/** A buffer for the reads of many connections. What lies in it may be handed over as it lies there: it is the taker's until the call returns. */
export function commonBuffer(bytes: number): Buffer {
  const buffer = Buffer.allocUnsafeSlow(bytes)
  const memory: Memory = buffer.buffer
  memory[COMMON] = true
  return buffer
}

/** The chunk for whoever needs it beyond the call that handed it over: a copy, where the next read will overwrite it. */
export function keep(chunk: Buffer): Buffer {
  if (!isCommon(chunk)) return chunk
  const copy = emptyChunk(chunk.length) // in memory of its own: it may stay for long
  chunk.copy(copy)
  return copy
}

/** The chunk for whoever may keep it for minutes: a copy, too, where it would hold on to memory many times its size; it is let go then. */
export function keepForLong(chunk: Buffer): Buffer {
  if (isCommon(chunk) || chunk.length * HELD_TIMES_MAX > chunk.buffer.byteLength) return keep(chunk)
  const copy = emptyChunk(chunk.length)
  chunk.copy(copy)
  letGo(chunk)
  return copy
}

/** A part of what may have to be let go, as a chunk that is let go on its own. */
export function partOf(bytes: Buffer, start: number, end: number): Buffer {
  const chunks = chunksOf(bytes)
  if (!chunks && start === 0 && end === bytes.length) return bytes
  if ((chunks || !LENDS) && end - start < COUNTED_BYTES_MIN) return copyOf(bytes, start, end)
  const part = bytes.subarray(start, end)
  chunks?.push(part)
  return part
}

/** The bytes to be kept, in memory of their own: a small piece of memory that many share would hold on to all of it, and what is lent goes. */
export function alone(bytes: Buffer): Buffer {
  if (bytes.buffer.byteLength === bytes.length && !chunksOf(bytes) && !isCommon(bytes)) return bytes
  const copy = Buffer.allocUnsafeSlow(bytes.length)
  copy.set(bytes)
  return copy
}

/** The chunk has left, or was used. Whoever still holds a chunk when the last of its memory's has been let go holds nothing. */
export function letGo(chunk: Buffer): void {
  const chunks = chunksOf(chunk)
  const at = chunks?.indexOf(chunk) ?? -1
  if (at < 0) return
  chunks!.splice(at, 1)
  if (chunks!.length === 0) giveBack(chunk)
}

/** What a stream is to call once it has written the chunk: of what it did not write before it was destroyed it may hold the memory still. */
export function letGoOnceWritten(stream: { readonly destroyed: boolean }, chunk: Buffer): () => void {
  return () => {
    if (!stream.destroyed) letGo(chunk)
  }
}

function chunksOf(bytes: Buffer): Buffer[] | undefined {
  return LENDS ? (bytes.buffer as Memory)[CHUNKS] : undefined
}

/** Bun's sockets are not read into buffers of ours. */
function isCommon({ buffer }: Buffer): boolean {
  return LENDS && (buffer as Memory)[COMMON] === true
}

/** Of a buffer that was taken and is not needed, or of a chunk's: the whole memory can be taken again. */
export function giveBack({ buffer }: Buffer): void {
  const memory = buffer as ArrayBuffer
  const pile = kept.find(({ bytes }) => bytes === memory.byteLength)
  if (pile && pile.buffers.length < KEPT_MAX) pile.buffers.push(Buffer.from(memory.transfer()))
  else memory.transfer(0)
}
