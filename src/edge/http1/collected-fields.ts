import { CLASSES, type FieldSpans, SPACE, VALUE } from '../field-lines.ts'
import { membersOf, namesFurther } from '../fields.ts'
import { passesOn, REQUEST_NAMES, RequestFields, type RequestKind, sortRequestFields } from '../forwarded-request.ts'
import { KeptBytes, REMEMBERED_BYTES_MAX } from '../kept-bytes.ts'

export const CONTINUE = '100-continue'

/** The fields, and what of them decides how the request is read. */
export class CollectedFields {
  fields = new RequestFields()
  host: string | undefined
  /** Where the value of Host lay. */
  hostAt = 0
  hostEnd = 0
  length: string | undefined
  coding: string | undefined
  connection = ''
  /** Of several one that is not ours, if there is any. */
  expect: string | undefined
  upgrade: string | undefined
  isTwofold = false

  /** A text of its own: it is compared, hashed and written so often that to look for it within that of all fields would cost more. */
  noteHost(bytes: Buffer, at: number, end: number): void {
    this.host = this.#once(this.host, bytes.toString('latin1', at, end))
    this.hostAt = at
    this.hostEnd = end
  }

  note(kind: RequestKind, value: string): void {
    switch (kind) {
      case 'expect':
        if (this.expect === undefined || this.expect === CONTINUE) this.expect = value.toLowerCase()
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
    const valueAt = offsets[i + 2]!
    const valueEnd = offsets[i + 3]!
    if (kind === 'host') collected.noteHost(bytes, valueAt, valueEnd)
    else collected.note(kind, text.slice(valueAt - from, valueEnd - from))
    if (!arePlain || kind === 'authorization') continue
    if (nameAt - from > keptFrom) fields.passing += text.slice(keptFrom, nameAt - from)
    keptFrom = valueEnd - from + 2
    if (kind === 'vouched') fields.vouched += text.slice(nameAt - from, keptFrom)
  }
  if (!arePlain || namesFurther(collected.connection, passesOn)) collected.fields = sortRequestFields(spans.list(bytes))
  else fields.passing += text.slice(keptFrom)
  return collected
}

/**
 * The field section of a connection's last head. Clients say the same again with each request, proxies for the visitors of many hostnames all but
 * Host: the same bytes need not be read twice.
 */
export class LastFields {
  /** The value of Host where the section was found again, which may be another one. */
  host: string | undefined
  readonly #kept = new KeptBytes()
  /** Where the value of Host begins and ends. */
  #hostAt = 0
  #hostEnd = 0
  #hostVaries = false
  #collected: CollectedFields | undefined

  /** Where the section ends when it stands in `bytes` at `at` again, its Host apart; what was collected from it is `collected` then. */
  endIn(bytes: Buffer, at: number, limit: number): number | undefined {
    if (this.#collected === undefined) return undefined
    if (!this.#hostVaries && this.#kept.isIn(bytes, at, limit)) {
      this.host = this.#collected.host
      return at + this.#kept.length
    }
    return this.#endWithHost(bytes, at, limit)
  }

  get collected(): CollectedFields {
    return this.#collected!
  }

  remember(bytes: Buffer, from: number, end: number, collected: CollectedFields): void {
    const isSmall = end - from <= REMEMBERED_BYTES_MAX
    this.#collected = isSmall ? collected : undefined
    if (!isSmall) return
    this.#hostAt = collected.hostAt - from
    this.#hostEnd = collected.hostEnd - from
    this.#hostVaries = false
    this.#kept.keep(bytes, from, end)
  }

  /** A value without blanks at its ends alone: of any other it is for the reader of lines to say what it is. */
  #endWithHost(bytes: Buffer, at: number, limit: number): number | undefined {
    if (this.#hostEnd <= this.#hostAt || !this.#kept.isIn(bytes, at, limit, 0, this.#hostAt)) return undefined
    const hostAt = at + this.#hostAt
    let hostEnd = hostAt
    while (hostEnd < limit && bytes[hostEnd]! > SPACE && CLASSES[bytes[hostEnd]!]! & VALUE) hostEnd += 1
    if (hostEnd === hostAt || !this.#kept.isIn(bytes, hostEnd, limit, this.#hostEnd)) return undefined
    this.#hostVaries = true
    this.host = bytes.toString('latin1', hostAt, hostEnd)
    return hostEnd + this.#kept.length - this.#hostEnd
  }
}
