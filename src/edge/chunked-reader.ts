import type { Fields } from './engine.ts'
import { CR, FieldSpans, LF, readFieldLines } from './field-lines.ts'
import { partOf } from './let-go.ts'

export type ChunkListener = {
  onData(chunk: Buffer): void
  /** Behind the last chunk. */
  onEnd(trailers: Fields): void
}

const LINE_BYTES_MAX = 4 * 1024
const TRAILER_BYTES_MAX = 16 * 1024
const SIZE = /^[0-9a-f]{1,13}$/i
/** As much as has come of a line that may still become one; what is in an extension is looked at when it is whole. */
const LINE_BEGUN = /^[0-9a-f]{0,13}$|^[0-9a-f]{1,13}(?:\r$|[ \t;][^\n]*$)/i
const LINE_WITH_EXTENSIONS = extensionsLine()
const TRAILERS_MAX = 200
const SPANS = new FieldSpans(TRAILERS_MAX)

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
    const line = bytes.toString('latin1', at, end < 0 ? bytes.length : end)
    if (end < 0) {
      if (!LINE_BEGUN.test(line)) throw new Malformed('a chunk size')
      return undefined
    }
    if (!SIZE.test(line) && !LINE_WITH_EXTENSIONS.test(line)) throw new Malformed('a chunk size')
    this.#left = Number.parseInt(line, 16)
    this.#state = this.#left === 0 ? 'trailers' : 'chunk'
    return end + 2
  }

  #readChunk(bytes: Buffer, at: number): number {
    const end = Math.min(bytes.length, at + this.#left)
    this.#left -= end - at
    if (this.#left === 0) this.#state = 'chunk-end'
    this.#listener.onData(partOf(bytes, at, end))
    return end
  }

  #readChunkEnd(bytes: Buffer, at: number): number | undefined {
    const come = bytes.length - at
    if ((come > 0 && bytes[at] !== CR) || (come > 1 && bytes[at + 1] !== LF)) throw new Malformed('a chunk is longer than its size')
    if (come < 2) return undefined
    this.#state = 'line'
    return at + 2
  }

  #readTrailers(bytes: Buffer, at: number): number | undefined {
    const end = Math.min(bytes.length, at + TRAILER_BYTES_MAX)
    const read = readFieldLines(bytes, at, end, SPANS)
    if (read === 'malformed') throw new Malformed('a field line')
    if (read === 'too-many' || (read === 'incomplete' && end - at === TRAILER_BYTES_MAX)) throw new Malformed('the trailers are too large')
    if (read === 'incomplete') return undefined
    this.#end(SPANS.list(bytes))
    return read
  }

  #end(trailers: Fields): void {
    this.#state = 'done'
    this.#listener.onEnd(trailers)
  }
}

/** A chunk's size with extensions as RFC 9112 §7.1.1 has them: names, and values that are tokens or quoted. */
function extensionsLine(): RegExp {
  const token = "[!#$%&'*+.^_`|~0-9a-z-]+"
  const quoted = String.raw`"(?:[\t !#-\[\]-~\x80-\xff]|\\[\t -~\x80-\xff])*"`
  return new RegExp(`^[0-9a-f]{1,13}(?:[ \\t]*;[ \\t]*${token}(?:[ \\t]*=[ \\t]*(?:${token}|${quoted}))?)+$`, 'i')
}

/** Bytes that are no proper HTTP/1.1. The message names what of them. */
export class Malformed extends Error {}
