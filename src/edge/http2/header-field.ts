import type { Fields } from '../engine.ts'
import { isFieldValue } from '../fields.ts'
import { isDisguised, REQUEST_NAMES, type RequestKind } from '../forwarded-request.ts'

/** RFC 7541 §4.1. */
export const ENTRY_OVERHEAD_BYTES = 32
/** Of an HTTP/1.1 connection; in HTTP/2 a sign that somebody tries to smuggle (RFC 9113 §8.2.2). */
export const CONNECTION_FIELDS: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
])

const NAME = /^:?[!#$%&'*+\-.^_`|~0-9a-z]+$/
const BLANKS = '\t '

/** The pseudo fields of a request (RFC 9113 §8.3.1). `:protocol` is not offered (RFC 8441), so it is like any unknown one. */
export type PseudoName = ':method' | ':scheme' | ':path' | ':authority'
/** What becomes of a request's field. `never`: it makes the request malformed. `left-out`: it ends here. */
export type RequestRole =
  | PseudoName
  | 'never'
  | 'left-out'
  | 'cookie'
  | Exclude<RequestKind, 'hop' | 'ours' | 'coding' | 'connection' | 'upgrade'>

const PSEUDO_NAMES: ReadonlySet<string> = new Set([':method', ':scheme', ':path', ':authority'])

/** A field as HPACK knows it, looked at once however often a connection's requests refer to it. */
export class HeaderField {
  readonly name: string
  readonly value: string
  /** RFC 7541 §4.1. */
  readonly size: number
  /** Whether name and value are such as HTTP/2 allows (RFC 9113 §8.2.1): no upper case, no control characters. */
  readonly isProper: boolean
  #role: RequestRole | undefined
  #line: string | undefined

  /** Blanks around a value are nobody's meaning, and go: grpc-go and net/http of Go say them, though HTTP/2 forbids it. */
  constructor(name: string, said: string) {
    this.name = name
    this.value = withoutBlanksAround(said)
    this.size = name.length + said.length + ENTRY_OVERHEAD_BYTES
    this.isProper = NAME.test(name) && isFieldValue(this.value) && (this.value === said || !name.startsWith(':'))
  }

  get role(): RequestRole {
    this.#role ??= roleOf(this.name, this.value)
    return this.#role
  }

  /** As HTTP/1.1 says it. */
  get line(): string {
    this.#line ??= `${this.name}: ${this.value}\r\n`
    return this.#line
  }
}

/** By hand: a pattern that looks for blanks at the end looks through a long row of them from each one. */
function withoutBlanksAround(text: string): string {
  let from = 0
  let end = text.length
  while (from < end && BLANKS.includes(text[from]!)) from += 1
  while (end > from && BLANKS.includes(text[end - 1]!)) end -= 1
  return text.slice(from, end)
}

/** Names and values in turn. */
export function listOf(fields: readonly HeaderField[]): Fields {
  const list: string[] = []
  for (const { name, value } of fields) list.push(name, value)
  return list
}

function roleOf(name: string, value: string): RequestRole {
  if (name.startsWith(':')) return PSEUDO_NAMES.has(name) && value !== '' ? (name as PseudoName) : 'never'
  if (CONNECTION_FIELDS.has(name) || (name === 'te' && value.toLowerCase() !== 'trailers')) return 'never'
  if (name === 'cookie') return 'cookie'
  const kind = REQUEST_NAMES.kindOf(name)
  switch (kind) {
    case 'pass':
    case 'vouched':
      return isDisguised(name) ? 'left-out' : kind
    case 'hop':
    case 'ours':
    case 'coding':
    case 'connection':
    case 'upgrade':
      return 'left-out'
    default:
      return kind
  }
}
