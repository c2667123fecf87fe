/** Classes of characters, for one look each at a byte: a field name or method (RFC 9110 §5.6.2). */
export const TOKEN = 1
/** A field's value (RFC 9110 §5.5): visible characters, space, tab, and bytes above ASCII. */
export const VALUE = 2
/** A request's target: visible ASCII without the number sign, and bytes above it, which some clients send unescaped. */
export const TARGET = 4
/** The low line, which applications take for a hyphen. */
const LOW_LINE = 8

export const TAB = 9
export const LF = 10
export const CR = 13
export const SPACE = 32
const COLON = 58
const UNDERSCORE = 95

/** The classes of each byte. */
export const CLASSES = classify()

/** Where the fields of one head lie in its bytes: a reading's scratch paper, written over by the next one. */
export class FieldSpans {
  readonly max: number
  count = 0
  /** Whether every line is `Name: value` with one space, no blank at its end and no low line in its name: such lines can be copied as they are. */
  arePlain = true
  /** The start and end of each name, then of its value. */
  readonly offsets: Uint32Array

  constructor(max: number) {
    this.max = max
    this.offsets = new Uint32Array(max * 4)
  }

  /** Names and values in turn. */
  list(bytes: Buffer): string[] {
    const list: string[] = []
    for (let i = 0; i < this.count * 4; i += 2) list.push(bytes.toString('latin1', this.offsets[i]!, this.offsets[i + 1]!))
    return list
  }
}

/**
 * Reads field lines (RFC 9112 §5) from `from` up to the empty line that ends them, and returns where what follows begins; `end` is the first byte
 * that does not belong to the head any more, whether it has come or not. Strict: a bare CR or LF, a folded line, a space before a colon and a
 * control character are `malformed`, since two readers could understand them differently.
 */
export function readFieldLines(
  bytes: Buffer,
  from: number,
  end: number,
  spans: FieldSpans,
): number | 'incomplete' | 'malformed' | 'too-many' {
  const { offsets, max } = spans
  let isPlain = true
  let at = from
  for (let count = 0; ; count += 1) {
    if (end - at < 2) return at < end && bytes[at] !== CR && !(CLASSES[bytes[at]!]! & TOKEN) ? 'malformed' : 'incomplete'
    if (bytes[at] === CR) {
      spans.count = count
      spans.arePlain = isPlain
      return bytes[at + 1] === LF ? at + 2 : 'malformed'
    }
    const nameAt = at
    let seen = 0
    // Not a byte behind the end is looked at: one look there, once, and V8 reads them all with more care.
    while (at < end) {
      const its = CLASSES[bytes[at]!]!
      if (!(its & TOKEN)) break
      seen |= its
      at += 1
    }
    if (at >= end) return 'incomplete'
    if (at === nameAt || bytes[at] !== COLON) return 'malformed'
    const nameEnd = at
    at += 1
    while (at < end && (bytes[at] === SPACE || bytes[at] === TAB)) at += 1
    const valueAt = at
    while (at < end && CLASSES[bytes[at]!]! & VALUE) at += 1
    if (at === end || (at + 1 === end && bytes[at] === CR)) return 'incomplete'
    if (bytes[at] !== CR || bytes[at + 1] !== LF) return 'malformed'
    let valueEnd = at
    while (valueEnd > valueAt && (bytes[valueEnd - 1] === SPACE || bytes[valueEnd - 1] === TAB)) valueEnd -= 1
    if (count === max) return 'too-many'
    if (seen & LOW_LINE || valueAt !== nameEnd + 2 || bytes[nameEnd + 1] !== SPACE || valueEnd !== at) isPlain = false
    offsets[count * 4] = nameAt
    offsets[count * 4 + 1] = nameEnd
    offsets[count * 4 + 2] = valueAt
    offsets[count * 4 + 3] = valueEnd
    at += 2
  }
}

function classify(): Uint8Array {
  const classes = new Uint8Array(256)
  for (let code = 0; code < 256; code += 1) {
    const isVisible = code > SPACE && code < 127
    const character = String.fromCharCode(code)
    if (/[!#$%&'*+\-.^_`|~0-9A-Za-z]/.test(character)) classes[code]! |= TOKEN
    if (isVisible || code === SPACE || code === TAB || code >= 128) classes[code]! |= VALUE
    if ((isVisible && character !== '#') || code >= 128) classes[code]! |= TARGET
  }
  classes[UNDERSCORE]! |= LOW_LINE
  return classes
}
