import type { Fields } from './engine.ts'

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
const NONE: readonly string[] = []
const LENGTH_DIGITS_MAX = 15
const ZERO = 48
const NINE = 57
const TARGET = /^[\u0021\u0022\u0024-\u007e\u0080-\u00ff]+$/
const VALUE = /^[\t\u0020-\u007e\u0080-\u00ff]*$/

/** Whether the text is a field name or method of RFC 9110 §5.6.2. */
export function isToken(text: string): boolean {
  return TOKEN.test(text)
}

/** Whether the text, one character a byte, can be a field's value (RFC 9110 §5.5): no CR, LF, NUL or other control character. */
export function isFieldValue(text: string): boolean {
  return VALUE.test(text)
}

/** Whether the text can be a request's target: visible ASCII without the number sign, and bytes above it, which some clients send unescaped. */
export function isTarget(text: string): boolean {
  return TARGET.test(text)
}

/** Whether the text can be the value of Content-Length (RFC 9110 §8.6): so many digits are exact in a number. */
export function isLength(text: string): boolean {
  const { length } = text
  if (length === 0 || length > LENGTH_DIGITS_MAX) return false
  for (let i = 0; i < length; i += 1) {
    const code = text.charCodeAt(i)
    if (code < ZERO || code > NINE) return false
  }
  return true
}

/** All values of one field, in order; `name` in lower case. */
export function valuesOf(fields: Fields, name: string): readonly string[] {
  let values: string[] | undefined
  for (let i = 0; i < fields.length; i += 2) {
    if (fields[i]!.length !== name.length || fields[i]!.toLowerCase() !== name) continue
    values ??= []
    values.push(fields[i + 1]!)
  }
  return values ?? NONE
}

/** The members of a comma-separated value, trimmed, in lower case, without empty ones. */
export function membersOf(value: string): readonly string[] {
  if (value === '') return NONE
  return value
    .toLowerCase()
    .split(',')
    .map((member) => member.trim())
    .filter(Boolean)
}

/** Whether the value of Connection names a field that would pass else (RFC 9110 §7.6.1). */
export function namesFurther(connection: string, passes: (lower: string) => boolean): boolean {
  if (connection === '' || connection === 'keep-alive' || connection === 'close') return false
  return membersOf(connection).some((member) => member !== 'close' && passes(member))
}

/** The fields that Connection names to be of this hop; seldom any, so mostly undefined. */
export function namedInConnection(list: Fields): Set<string> | undefined {
  return namedIn(valuesOf(list, 'connection').join())
}

/** As namedInConnection, of its value. */
export function namedIn(connection: string): Set<string> | undefined {
  const named = membersOf(connection).filter((member) => member !== 'close' && member !== 'keep-alive')
  return named.length > 0 ? new Set(named) : undefined
}
