import { escapeInLine } from './control-characters.ts'
import { writeLatin1 } from './latin1.ts'

const SPACE = 32
const QUOTE = 34
const POINT = 46
const ZERO = 48
const BACKSLASH = 92
const TILDE = 126
/** The longest UTF-8 has for one character of a string. */
const BYTES_PER_CHARACTER_MAX = 3
/** Up to here a loop is faster than a call. */
const LOOPED_LENGTH_MAX = 24
/** Beyond, 32-bit arithmetic ends. */
const SMALL_INTEGER_MAX = 2 ** 31 - 1

/** Text of lines, put together as bytes, piece by piece: joining strings by the thousand a second would cost three times as much and feed the collector. */
export class LineBytes {
  #bytes: Buffer
  #length = 0

  /** `room` in bytes; it grows where that is too little. */
  constructor(room: number) {
    this.#bytes = Buffer.allocUnsafeSlow(room)
  }

  get length(): number {
    return this.#length
  }

  /** All that was put together since the last time, in memory that is the caller's from now on. */
  take(): Buffer {
    const taken = this.#bytes.subarray(0, this.#length)
    this.#bytes = Buffer.allocUnsafeSlow(this.#bytes.length)
    this.#length = 0
    return taken
  }

  bytes(piece: Uint8Array): void {
    const { length } = piece
    if (length <= LOOPED_LENGTH_MAX) {
      this.few(piece, 0, length)
      return
    }
    this.#reserve(length)
    this.#bytes.set(piece, this.#length)
    this.#length += length
  }

  /** A few bytes that lie in `bytes` from `from` to `end`. */
  few(bytes: Uint8Array, from: number, end: number): void {
    this.#reserve(end - from)
    const into = this.#bytes
    const at = this.#length - from
    for (let i = from; i < end; i += 1) into[at + i] = bytes[i]!
    this.#length = at + end
  }

  /** Of printable ASCII alone, without a quotation mark or backslash: it stands in a JSON string as it is. */
  plain(text: string): void {
    this.#reserve(text.length)
    this.#length = writeLatin1(this.#bytes, text, this.#length)
  }

  /** What stands between the quotes of a JSON string; control characters are escaped, also those that JSON leaves as they are. */
  json(text: string): void {
    const { length } = text
    this.#reserve(length)
    const bytes = this.#bytes
    const at = this.#length
    for (let i = 0; i < length; i += 1) {
      const code = text.charCodeAt(i)
      if (code < SPACE || code > TILDE || code === QUOTE || code === BACKSLASH) {
        this.#escaped(text)
        return
      }
      bytes[at + i] = code
    }
    this.#length = at + length
  }

  /** A whole number that is not negative. */
  integer(value: number): void {
    if (value > SMALL_INTEGER_MAX) {
      this.json(String(value))
      return
    }
    let digits = 1
    for (let rest = value; rest > 9; rest = (rest / 10) | 0) digits += 1
    this.#reserve(digits)
    let at = this.#length + digits
    this.#length = at
    let rest = value
    for (; digits > 0; digits -= 1) {
      const tens = (rest / 10) | 0
      at -= 1
      this.#bytes[at] = ZERO + rest - tens * 10
      rest = tens
    }
  }

  /** A number that is not negative, rounded to tenths. */
  tenths(value: number): void {
    const all = Math.round(value * 10)
    if (all > SMALL_INTEGER_MAX) {
      this.json(String(all / 10))
      return
    }
    const whole = (all / 10) | 0
    this.integer(whole)
    if (all === whole * 10) return
    this.#reserve(2)
    this.#bytes[this.#length] = POINT
    this.#bytes[this.#length + 1] = ZERO + all - whole * 10
    this.#length += 2
  }

  #escaped(text: string): void {
    const escaped = escapeInLine(JSON.stringify(text)).slice(1, -1)
    this.#reserve(escaped.length * BYTES_PER_CHARACTER_MAX)
    this.#length += this.#bytes.write(escaped, this.#length)
  }

  #reserve(bytes: number): void {
    const needed = this.#length + bytes
    if (needed <= this.#bytes.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.#bytes.length * 2))
    larger.set(this.#bytes.subarray(0, this.#length))
    this.#bytes = larger
  }
}
