/** One member of an object as raw JSON texts: the key with its quotes, and the value. */
export type JsonMember = readonly [keyText: string, valueText: string]

const BLANK = /[ \t\n\r]*/y
const STRING = /"[^"\\]*(?:\\.[^"\\]*)*"/y
const NAMES = /"[^"\\]*(?:\\.[^"\\]*)*"(\s*:)?|[{}]/g // with the colon that tells a name from a value
const PLAIN = /[^"{}[\],]+/y // inside a value: anything up to the next character that means structure

/**
 * Splits the top level of a valid JSON object text into its members, in order, keys and values untouched. The text must have passed JSON.parse as an object;
 * anything else throws.
 */
export function splitMembers(json: string): JsonMember[] {
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

/** A name that one object of a valid JSON text has twice, at whatever depth: JSON.parse takes the last, and other readers another (RFC 8259 §4). */
export function repeatedName(json: string): string | undefined {
  const open: (Set<string> | undefined)[] = []
  for (const [token, colon] of json.matchAll(NAMES)) {
    if (token === '{') open.push(undefined)
    else if (token === '}') open.pop()
    else if (colon !== undefined) {
      const name = JSON.parse(token.slice(0, -colon.length)) as string
      open[open.length - 1] ??= new Set()
      const names = open.at(-1)!
      if (names.has(name)) return name
      names.add(name)
    }
  }
  return undefined
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
