/** One element of DER (X.690 §8.1): its tag, and what lies in it. */
export type Element = { tag: number; content: Buffer }

const LONG_FORM = 0x80
const LENGTH_BYTES_MAX = 3 // 16 MB
const NUMBER_FOLLOWS = 0x1f
const KIND = 0xe0
const MADE_OF_ELEMENTS = 0x20
const SEQUENCE_OR_SET = [0x30, 0x31]

/**
 * The elements that stand one behind the other in the bytes. Throws where these are something else, as what BER allows beside DER (X.690 §10): others,
 * who read that too, would see what we do not.
 */
export function elementsOf(bytes: Buffer): Element[] {
  const found: Element[] = []
  let at = 0
  while (at < bytes.length) {
    const tag = bytes.readUInt8(at)
    if (!isOfDer(tag)) throw new RangeError('a tag that DER does not have')
    const first = bytes.readUInt8(at + 1)
    const lengthBytes = first & LONG_FORM ? first - LONG_FORM : 0
    if (lengthBytes > LENGTH_BYTES_MAX || first === LONG_FORM) throw new RangeError('a length that DER does not have')
    const start = at + 2 + lengthBytes
    const end = start + (lengthBytes === 0 ? first : bytes.readUIntBE(at + 2, lengthBytes))
    if (end > bytes.length) throw new RangeError('an element longer than what it lies in')
    found.push({ tag, content: bytes.subarray(start, end) })
    at = end
  }
  return found
}

/** A string stands in one piece, and no tag that certificates have needs a second byte. */
function isOfDer(tag: number): boolean {
  return (tag & NUMBER_FOLLOWS) !== NUMBER_FOLLOWS && ((tag & KIND) !== MADE_OF_ELEMENTS || SEQUENCE_OR_SET.includes(tag))
}
