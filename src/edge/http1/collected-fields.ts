import type { FieldSpans } from '../field-lines.ts'
import { membersOf, namesFurther } from '../fields.ts'
import { passesOn, REQUEST_NAMES, RequestFields, type RequestKind, sortRequestFields } from '../forwarded-request.ts'

/** The fields, and what of them decides how the request is read. */
export class CollectedFields {
  fields = new RequestFields()
  host: string | undefined
  length: string | undefined
  coding: string | undefined
  connection = ''
  expect: string | undefined
  upgrade: string | undefined
  isTwofold = false

  note(kind: RequestKind, value: string): void {
    switch (kind) {
      case 'host':
        this.host = this.#once(this.host, value)
        return
      case 'expect':
        this.expect = value.toLowerCase()
        return
      case 'upgrade':
        this.upgrade = this.upgrade === undefined ? value : `${this.upgrade}, ${value}`
        return
      case 'connection':
        this.connection = this.connection === '' ? value.toLowerCase() : `${this.connection},${value.toLowerCase()}`
        return
      case 'length':
        this.length = this.#once(this.length, value)
        return
      case 'coding':
        this.coding = this.#once(this.coding, value)
        return
      default:
        this.fields.note(kind, value)
    }
  }

  /** Whether Connection has the member. */
  connects(member: string): boolean {
    if (this.connection === '' || this.connection === member) return this.connection !== ''
    return membersOf(this.connection).includes(member)
  }

  #once(before: string | undefined, value: string): string {
    if (before !== undefined) this.isTwofold = true
    return value
  }
}

/** Where field lines begin in some bytes, and their text without the empty line behind them. */
type Section = { from: number; text: string }

/**
 * Sorts the fields whose lines lie in `bytes`. Where all can go on as they came, what passes is the text itself without the lines that do not;
 * else they are looked at one by one.
 */
export function collectFields(bytes: Buffer, { from, text }: Section, spans: FieldSpans): CollectedFields {
  const collected = new CollectedFields()
  const { fields } = collected
  const { offsets, count, arePlain } = spans
  let keptFrom = 0
  for (let i = 0; i < count * 4; i += 4) {
    const nameAt = offsets[i]!
    const kind = REQUEST_NAMES.kindIn(bytes, nameAt, offsets[i + 1]!)
    if (kind === 'pass') continue
    const valueEnd = offsets[i + 3]! - from
    collected.note(kind, text.slice(offsets[i + 2]! - from, valueEnd))
    if (!arePlain) continue
    if (nameAt - from > keptFrom) fields.passing += text.slice(keptFrom, nameAt - from)
    keptFrom = valueEnd + 2
    if (kind === 'vouched') fields.vouched += text.slice(nameAt - from, keptFrom)
  }
  if (!arePlain || namesFurther(collected.connection, passesOn)) collected.fields = sortRequestFields(spans.list(bytes))
  else fields.passing += text.slice(keptFrom)
  return collected
}

/** Longer ones are seldom the same again, and would hold memory for an idle connection. */
const REMEMBERED_BYTES_MAX = 4 * 1024
const STEP_BYTES = 128
const NOTHING = Buffer.alloc(0)

/** The field section of a connection's last head. Clients say the same again with each request: the same bytes need not be read twice. */
export class LastFields {
  /** Memory of its own: connections are idle for long, and what arrives shares its memory with others. */
  #bytes: Buffer = NOTHING
  #length = 0
  #collected: CollectedFields | undefined

  /** Where the section ends when it stands in `bytes` at `at` again; what was collected from it is `collected` then. */
  endIn(bytes: Buffer, at: number, limit: number): number | undefined {
    const end = at + this.#length
    if (this.#collected === undefined || end > limit) return undefined
    return bytes.compare(this.#bytes, 0, this.#length, at, end) === 0 ? end : undefined
  }

  get collected(): CollectedFields {
    return this.#collected!
  }

  remember(bytes: Buffer, from: number, end: number, collected: CollectedFields): void {
    this.#length = end - from
    const isSmall = this.#length <= REMEMBERED_BYTES_MAX
    this.#collected = isSmall ? collected : undefined
    if (!isSmall) return
    if (this.#bytes.length < this.#length) this.#bytes = Buffer.allocUnsafeSlow(Math.ceil(this.#length / STEP_BYTES) * STEP_BYTES)
    bytes.copy(this.#bytes, 0, from, end)
  }
}
