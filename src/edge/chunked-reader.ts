import type { Fields } from './engine.ts'
import { isFieldValue, isToken } from './fields.ts'

export type ChunkListener = {
  onData(chunk: Buffer): void
  /** Behind the last chunk. */
  onEnd(trailers: Fields): void
}

const LINE_BYTES_MAX = 4 * 1024
const TRAILER_BYTES_MAX = 16 * 1024
const LINE = /^([0-9a-f]{1,13})(?:[ \t]*;[\t\u0020-\u007e\u0080-\u00ff]*)?$/i
const END_OF_TRAILERS = Buffer.from('\r\n\r\n')
const CR = 13
const LF = 10

type State = 'line' | 'chunk' | 'chunk-end' | 'trailers' | 'done'

/**
 * Reads a body in chunks (RFC 9112 §7.1) as its bytes come. Strict: what two readers could understand differently throws Malformed. No byte
 * of the body is copied.
 */
export class ChunkedReader {
  readonly #listener: ChunkListener
  #state: State = 'line'
  #left = 0

  constructor(listener: ChunkListener) {
    this.#listener = listener
  }

  get isDone(): boolean {
    return this.#state === 'done'
  }

  /** Consumes from `at` and returns where to go on; undefined when more bytes are needed, which then come with what is left of these. */
  step(bytes: Buffer, at: number): number | undefined {
    switch (this.#state) {
      case 'line':
        return this.#readLine(bytes, at)
      case 'chunk':
        return this.#readChunk(bytes, at)
      case 'chunk-end':
        return this.#readChunkEnd(bytes, at)
      case 'trailers':
        return this.#readTrailers(bytes, at)
      case 'done':
        return at
    }
  }

  #readLine(bytes: Buffer, at: number): number | undefined {
    const end = bytes.indexOf('\r\n', at, 'latin1')
    if ((end < 0 ? bytes.length : end) - at > LINE_BYTES_MAX) throw new Malformed('a chunk line is too long')
    if (end < 0) return undefined
    const line = LINE.exec(bytes.toString('latin1', at, end))
    if (!line) throw new Malformed('a chunk size')
    this.#left = Number.parseInt(line[1]!, 16)
    this.#state = this.#left === 0 ? 'trailers' : 'chunk'
    return end + 2
  }

  #readChunk(bytes: Buffer, at: number): number {
    const end = Math.min(bytes.length, at + this.#left)
    this.#left -= end - at
    if (this.#left === 0) this.#state = 'chunk-end'
    this.#listener.onData(at === 0 && end === bytes.length ? bytes : bytes.subarray(at, end))
    return end
  }

  #readChunkEnd(bytes: Buffer, at: number): number | undefined {
    if (bytes.length - at < 2) return undefined
    if (bytes[at] !== CR || bytes[at + 1] !== LF) throw new Malformed('a chunk is longer than its size')
    this.#state = 'line'
    return at + 2
  }

  #readTrailers(bytes: Buffer, at: number): number | undefined {
    if (bytes[at] === CR && bytes[at + 1] === LF) {
      this.#end([])
      return at + 2
    }
    const end = bytes.indexOf(END_OF_TRAILERS, at)
    if ((end < 0 ? bytes.length : end) - at > TRAILER_BYTES_MAX) throw new Malformed('the trailers are too large')
    if (end < 0) return undefined
    this.#end(readFieldLines(bytes.toString('latin1', at, end).split('\r\n'), 0))
    return end + END_OF_TRAILERS.length
  }

  #end(trailers: Fields): void {
    this.#state = 'done'
    this.#listener.onEnd(trailers)
  }
}

/** Bytes that are no proper HTTP/1.1. The message names what of them. */
export class Malformed extends Error {}

/** The fields of a head's or trailer's lines, beginning with the given one. Throws Malformed. */
export function readFieldLines(lines: readonly string[], from: number): string[] {
  const fields: string[] = []
  for (let i = from; i < lines.length; i += 1) {
    const line = lines[i]!
    const colon = line.indexOf(':')
    const name = line.slice(0, colon)
    const value = line.slice(colon + 1).replace(/^[ \t]+|[ \t]+$/g, '')
    if (colon < 1 || !isToken(name) || !isFieldValue(value)) throw new Malformed('a field line')
    fields.push(name, value)
  }
  return fields
}
