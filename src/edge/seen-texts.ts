const LENGTH_MAX = 32
const DIGITS_MAX = 9
const ZERO = 48

/** The texts that came last, one of each length: what is said in message after message becomes one string, and not another one each time. */
export class SeenTexts {
  readonly #seen: { bytes: Buffer; text: string }[] = Array.from({ length: LENGTH_MAX + 1 }, (_, length) => ({
    bytes: Buffer.alloc(length),
    text: '\0'.repeat(length),
  }))

  /** One character a byte. */
  textIn(bytes: Buffer, at: number, end: number): string {
    const seen = this.#seen[end - at]
    if (seen === undefined) return bytes.toString('latin1', at, end)
    let same = 0
    while (at + same < end && bytes[at + same] === seen.bytes[same]) same += 1
    if (at + same < end) {
      seen.text = bytes.toString('latin1', at, end)
      for (let i = same; at + i < end; i += 1) seen.bytes[i] = bytes[at + i]!
    }
    return seen.text
  }
}

/** The text of a number, most of which engines have ready; of anything else too. */
export function digitsIn(bytes: Buffer, at: number, end: number): string {
  if (end - at > DIGITS_MAX || (bytes[at] === ZERO && end - at > 1) || end === at) return bytes.toString('latin1', at, end)
  let value = 0
  for (let i = at; i < end; i += 1) {
    const digit = bytes[i]! - ZERO
    if (digit < 0 || digit > 9) return bytes.toString('latin1', at, end)
    value = value * 10 + digit
  }
  return String(value)
}
