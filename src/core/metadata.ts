import { ServiceError } from '../errors.ts'
import { type JsonMember, joinMembers, repeatedName, splitMembers } from '../lib/json-members.ts'
import { quoted } from '../lib/quoted.ts'

const METADATA_BYTES_MAX = 16 * 1024
const TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g
const INTEGER_MAX = 2n ** 53n

/**
 * The raw JSON text of a metadata object, checked: it comes back to the vendor exactly as it stands here. Throws `metadata_invalid` when it is no object,
 * is over 16 KB, has a key twice in one object, or holds what PostgreSQL or JavaScript would change: NUL, lone surrogates, numbers that do not survive.
 */
export function readMetadata(json: string): string {
  const value = parse(json)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw invalid('metadata is a JSON object')
  if (!json.isWellFormed()) throw invalid('metadata holds half of a surrogate pair, which is no character')
  for (const [token] of json.matchAll(TOKENS)) refuse(token)
  const key = repeatedName(json)
  if (key !== undefined) throw invalid(`metadata holds the key ${quoted(key)} twice in one object`)
  return withinLimit(json.trim())
}

/** What a second registration leaves: the old members in their places, a newer value for a key that both have, then the new keys. */
export function mergeMetadata(oldJson: string, newJson: string): string {
  const newer = splitMembers(newJson)
  if (newer.length === 0) return oldJson
  const older = splitMembers(oldJson)
  if (older.length === 0) return newJson
  const merged = new Map<string, JsonMember>(older.map((member) => [JSON.parse(member[0]), member]))
  for (const [key, value] of newer) {
    const name = JSON.parse(key) as string
    merged.set(name, [merged.get(name)?.[0] ?? key, value])
  }
  return withinLimit(joinMembers(merged.values()))
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    throw invalid('metadata is not valid JSON')
  }
}

function refuse(token: string): void {
  if (token.startsWith('"')) refuseString(token)
  else refuseNumber(token)
}

function refuseString(token: string): void {
  if (!token.includes('\\u')) return
  const text = JSON.parse(token) as string
  if (text.includes('\0')) throw invalid('metadata holds the character NUL (\\u0000)')
  if (!text.isWellFormed()) throw invalid('metadata holds half of a surrogate pair, which is no character')
}

function refuseNumber(token: string): void {
  if (!Number.isFinite(Number(token))) throw invalid(`the number ${token} is too large: send it as a string`)
  if (token.length < 16 || !/^-?\d+$/.test(token)) return
  const magnitude = BigInt(token.replace('-', ''))
  if (magnitude > INTEGER_MAX) throw invalid(`the integer ${token} is beyond 2^53 and would change on its way: send it as a string`)
}

function withinLimit(json: string): string {
  const bytes = Buffer.byteLength(json)
  if (bytes > METADATA_BYTES_MAX)
    throw invalid(`metadata has at most ${METADATA_BYTES_MAX} bytes, merged with what is stored; this has ${bytes}`)
  return json
}

function invalid(message: string): ServiceError {
  return new ServiceError('metadata_invalid', message)
}
