/** One member of an object as raw JSON texts: the key with its quotes, and the value. */
export type JsonMember = readonly [keyText: string, valueText: string]

const BLANK = /[ \t\n\r]*/y
const STRING = /"[^"\\]*(?:\\.[^"\\]*)*"/y
const PLAIN = /[^"{}[\],]+/y // inside a value: anything up to the next character that means structure

/**
 * Splits the top level of a valid JSON object text into its members, in order, keys and values untouched. Of a key that occurs twice the
 * last value stays, in the first one's place. The text must have passed JSON.parse as an object; anything else throws.
 */
export function splitMembers(json: string): JsonMember[] {
  const members = new Map<string, JsonMember>()
  for (const [key, value] of listMembers(json)) {
    const name = JSON.parse(key) as string
    members.set(name, [members.get(name)?.[0] ?? key, value])
  }
  return [...members.values()]
}

/** As splitMembers, but a key that occurs twice is listed twice. */
export function listMembers(json: string): JsonMember[] {
  const members: JsonMember[] = []
  let at = expect(json, skip(json, 0), '{')
  if (json[at] === '}') return members
  for (;;) {
    const key = match(STRING, json, at)
    const valueAt = expect(json, skip(json, at + key.length), ':')
    const valueEnd = endOfValue(json, valueAt)
    members.push([key, json.slice(valueAt, valueEnd).trimEnd()])
    if (json[valueEnd] === '}') return members
    at = expect(json, valueEnd, ',')
  }
}

/** Puts members together again, without blanks between them. */
export function joinMembers(members: Iterable<JsonMember>): string {
  return `{${Array.from(members, ([key, value]) => `${key}:${value}`).join(',')}}`
}

/** Where the value that begins at `at` gives way to the comma or bracket that follows it. */
function endOfValue(json: string, at: number): number {
  let depth = 0
  while (at < json.length) {
    const character = json[at]!
    if (character === '"') at += match(STRING, json, at).length
    else if (character === '{' || character === '[') [at, depth] = [at + 1, depth + 1]
    else if (depth === 0 && (character === ',' || character === '}')) return at
    else if (character === '}' || character === ']') [at, depth] = [at + 1, depth - 1]
    else at += character === ',' ? 1 : match(PLAIN, json, at).length
  }
  throw notAnObject()
}

function skip(json: string, at: number): number {
  return at + match(BLANK, json, at).length
}

/** Steps over one character that must stand at `at`, and the blanks behind it. */
function expect(json: string, at: number, character: string): number {
  if (json[at] !== character) throw notAnObject()
  return skip(json, at + 1)
}

function match(pattern: RegExp, json: string, at: number): string {
  pattern.lastIndex = at
  const found = pattern.exec(json)
  if (!found) throw notAnObject()
  return found[0]
}

function notAnObject(): Error {
  return new SyntaxError('not the text of a JSON object')
}
