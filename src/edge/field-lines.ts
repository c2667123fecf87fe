/** Classes of characters, for one look each at a byte: a field name or method (RFC 9110 §5.6.2). */
export const TOKEN = 1
/** A field's value (RFC 9110 §5.5): visible characters, space, tab, and bytes above ASCII. */
export const VALUE = 2
/** A request's target: visible ASCII without the number sign, and bytes above it, which some clients send unescaped. */
export const TARGET = 4

export const TAB = 9
export const LF = 10
export const CR = 13
export const SPACE = 32
const COLON = 58

/** The classes of each byte. */
export const CLASSES = classify()

export type FieldLines = {
  /** The first byte that does not belong to the head any more, whether it has come or not. */
  end: number
  fieldsMax: number
  onField(name: string, value: string): void
}

/**
 * Reads field lines (RFC 9112 §5) from `at` up to the empty line that ends them, and returns where what follows begins. Strict: a bare CR or
 * LF, a folded line, a space before a colon and a control character are `malformed`, since two readers could understand them differently.
 */
export function readFieldLines(bytes: Buffer, from: number, lines: FieldLines): number | 'incomplete' | 'malformed' | 'too-many' {
  const { end } = lines
  let at = from
  for (let count = 0; ; count += 1) {
    if (end - at < 2) return at < end && bytes[at] !== CR && !(CLASSES[bytes[at]!]! & TOKEN) ? 'malformed' : 'incomplete'
    if (bytes[at] === CR) return bytes[at + 1] === LF ? at + 2 : 'malformed'
    const nameAt = at
    while (at < end && CLASSES[bytes[at]!]! & TOKEN) at += 1
    if (at === end) return 'incomplete'
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
    at += 2
    if (count === lines.fieldsMax) return 'too-many'
    lines.onField(bytes.toString('latin1', nameAt, nameEnd), bytes.toString('latin1', valueAt, valueEnd))
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
  return classes
}
