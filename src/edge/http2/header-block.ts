import { alone } from '../let-go.ts'
import { HEADER_BLOCK_BYTES_MAX } from './hpack-decoder.ts'
import { ConnectionError, ERROR_CODE } from './protocol.ts'

const CONTINUATIONS_MAX = 16

/** A head that came in more than one frame: HEADERS and then CONTINUATION, with nothing between them (RFC 9113 §6.10). */
export class HeaderBlock {
  readonly streamId: number
  readonly endsStream: boolean
  readonly #parts: Buffer[] = []
  #bytes = 0

  constructor(streamId: number, endsStream: boolean) {
    this.streamId = streamId
    this.endsStream = endsStream
  }

  /** Throws ConnectionError when it grows beyond what we take. */
  add(part: Buffer): void {
    this.#parts.push(alone(part))
    this.#bytes += part.length
    if (this.#bytes > HEADER_BLOCK_BYTES_MAX || this.#parts.length > 1 + CONTINUATIONS_MAX)
      throw new ConnectionError(ERROR_CODE.enhanceYourCalm, 'a head without end')
  }

  whole(): Buffer {
    return Buffer.concat(this.#parts, this.#bytes)
  }
}
