import { alone } from '../let-go.ts'
import { ConnectionError, ERROR_CODE } from './protocol.ts'

/** On average: else a head would be any number of frames. */
const BYTES_PER_CONTINUATION_MIN = 4 * 1024

/** A head grows beyond what we read of one. It ends its connection: what is said behind it could not be decoded (RFC 7541 §2.2). */
export class EndlessHead extends ConnectionError {
  readonly streamId: number

  constructor(streamId: number) {
    super(ERROR_CODE.enhanceYourCalm, 'a head without end')
    this.streamId = streamId
  }
}

/** A head that came in more than one frame: HEADERS and then CONTINUATION, with nothing between them (RFC 9113 §6.10). */
export class HeaderBlock {
  readonly streamId: number
  readonly endsStream: boolean
  readonly #bytesMax: number
  readonly #parts: Buffer[] = []
  #bytes = 0

  constructor(streamId: number, endsStream: boolean, bytesMax: number) {
    this.streamId = streamId
    this.endsStream = endsStream
    this.#bytesMax = bytesMax
  }

  /** Throws EndlessHead. */
  add(part: Buffer): void {
    this.#parts.push(alone(part))
    this.#bytes += part.length
    const partsMax = 1 + this.#bytesMax / BYTES_PER_CONTINUATION_MIN
    if (this.#bytes > this.#bytesMax || this.#parts.length > partsMax) throw new EndlessHead(this.streamId)
  }

  whole(): Buffer {
    return Buffer.concat(this.#parts, this.#bytes)
  }
}
