import { randomFillSync } from 'node:crypto'

const MADE_AT_ONCE = 128
const RANDOM_BYTES = 16
const CHARACTERS = 36
const HYPHEN = 45
const DIGITS = Buffer.from('0123456789abcdef')

/** Random UUIDs (RFC 9562 §5.4), written many at a time as one text: a string from pieces for each would cost more than the rest of a request's bookkeeping. */
export function createRequestIds(): () => string {
  const random = Buffer.alloc(RANDOM_BYTES * MADE_AT_ONCE)
  const written = Buffer.alloc(CHARACTERS * MADE_AT_ONCE)
  let ids = ''
  let at = 0
  const writeAll = () => {
    randomFillSync(random)
    for (let i = 0; i < MADE_AT_ONCE; i += 1) writeId(random, i * RANDOM_BYTES, written, i * CHARACTERS)
    ids = written.toString('latin1')
    at = 0
  }
  return () => {
    if (at === ids.length) writeAll()
    at += CHARACTERS
    return ids.slice(at - CHARACTERS, at)
  }
}

function writeId(random: Buffer, from: number, written: Buffer, to: number): void {
  random[from + 6] = 0x40 | (random[from + 6]! & 0x0f) // the version
  random[from + 8] = 0x80 | (random[from + 8]! & 0x3f) // the variant
  let at = to
  for (let i = 0; i < RANDOM_BYTES; i += 1) {
    if (i === 4 || i === 6 || i === 8 || i === 10) {
      written[at] = HYPHEN
      at += 1
    }
    const byte = random[from + i]!
    written[at] = DIGITS[byte >> 4]!
    written[at + 1] = DIGITS[byte & 0x0f]!
    at += 2
  }
}
