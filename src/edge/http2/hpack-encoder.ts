import { writeLatin1 } from '../../lib/latin1.ts'
import { Lru } from '../../lib/lru.ts'
import type { Fields } from '../engine.ts'
import type { FieldSection } from '../field-section.ts'
import { STATIC_TABLE } from './hpack-table.ts'
import { neverIndexed, SECRET_NAMES } from './never-indexed.ts'
import { RememberedBlocks } from './remembered-blocks.ts'

const NAMES_REMEMBERED_MAX = 1_000
/** Longer ones are nobody's, and would hold memory for good. */
const NAME_CHARACTERS_MAX = 64
/** Name index or length, value length. */
const FIELD_OVERHEAD_BYTES = 10
/** A change of the table's size, and a status. */
const BEGINNING_BYTES = 8
const LITERAL = 0x00
const LITERAL_NEVER_INDEXED = 0x10
const NO_TABLE = 0x20

const INDEX_OF_STATUS = new Map<number, number>()
const INDEX_OF_NAME = new Map<string, number>()
STATIC_TABLE.forEach(({ name, value }, i) => {
  if (name === ':status') INDEX_OF_STATUS.set(Number(value), i + 1)
  if (!INDEX_OF_NAME.has(name)) INDEX_OF_NAME.set(name, i + 1)
})

/**
 * Encodes heads with the static table and literals, so that it needs no state of a connection: one encoder is for all. Keeps what it made of
 * names, and of whole sections of late.
 */
export class HpackEncoder {
  #names = new Lru<string, Uint8Array>(NAMES_REMEMBERED_MAX)
  #blocks = new RememberedBlocks()
  #madeWith = neverIndexed.changes

  /** Enough bytes for these fields and a status. */
  roomFor(fields: Fields): number {
    let room = BEGINNING_BYTES
    for (let i = 0; i < fields.length; i += 1) room += fields[i]!.length + FIELD_OVERHEAD_BYTES
    return room
  }

  /** Tells the peer that we do not use its table; needed once it has made the table smaller (RFC 7541 §4.2). Returns where to go on. */
  putNoTable(into: Buffer, at: number): number {
    into[at] = NO_TABLE
    return at + 1
  }

  putStatus(into: Buffer, at: number, status: number): number {
    const index = INDEX_OF_STATUS.get(status)
    const kind = literalOf(':status')
    if (index !== undefined && kind === LITERAL) {
      into[at] = 0x80 | index
      return at + 1
    }
    return putText(into, putInteger(into, at, kind, 0x0f, INDEX_OF_NAME.get(':status')!), String(status))
  }

  /** Names become lower case. */
  putFields(into: Buffer, from: number, fields: Fields): number {
    this.#forgetStale()
    let at = from
    for (let i = 0; i < fields.length; i += 2) {
      const name = this.#names.get(fields[i]!) ?? this.#encodeName(fields[i]!)
      for (let k = 0; k < name.length; k += 1) into[at++] = name[k]!
      at = putText(into, at, fields[i + 1]!)
    }
    return at
  }

  putLength(into: Buffer, at: number, length: number): number {
    const index = INDEX_OF_NAME.get('content-length')!
    return putText(into, putInteger(into, at, literalOf('content-length'), 0x0f, index), String(length))
  }

  /** The section as putFields encodes it. Nobody may write into what is returned. */
  blockOf(section: FieldSection): Uint8Array {
    this.#forgetStale()
    section.block ??= this.#blocks.get(section) ?? this.#encodeBlock(section)
    return section.block
  }

  /** What was made before another name came to those that are never indexed. */
  #forgetStale(): void {
    if (this.#madeWith === neverIndexed.changes) return
    this.#names = new Lru(NAMES_REMEMBERED_MAX)
    this.#blocks = new RememberedBlocks()
    this.#madeWith = neverIndexed.changes
  }

  #encodeBlock(section: FieldSection): Uint8Array {
    const fields = section.list
    const bytes = Buffer.allocUnsafeSlow(this.roomFor(fields))
    const block = new Uint8Array(bytes.subarray(0, this.putFields(bytes, 0, fields)))
    if (!hasSecret(fields)) this.#blocks.set(section, block)
    return block
  }

  #encodeName(name: string): Uint8Array {
    const lower = name.toLowerCase()
    const kind = literalOf(lower)
    const bytes = Buffer.allocUnsafeSlow(lower.length + FIELD_OVERHEAD_BYTES)
    const index = INDEX_OF_NAME.get(lower)
    const end = index === undefined ? putText(bytes, putInteger(bytes, 0, kind, 0x0f, 0), lower) : putInteger(bytes, 0, kind, 0x0f, index)
    const encoded = new Uint8Array(bytes.subarray(0, end))
    // A text of its own: a part of a longer one holds on to all of it.
    if (name.length <= NAME_CHARACTERS_MAX) this.#names.set(Buffer.from(name, 'latin1').toString('latin1'), encoded)
    return encoded
  }
}

/** How a field is said whose name, in lower case, is this. */
function literalOf(name: string): number {
  return neverIndexed.has(name) ? LITERAL_NEVER_INDEXED : LITERAL
}

function hasSecret(fields: Fields): boolean {
  for (let i = 0; i < fields.length; i += 2) if (SECRET_NAMES.has(fields[i]!.toLowerCase())) return true
  return false
}

/** RFC 7541 §5.1. Returns where to go on. */
export function putInteger(into: Buffer, from: number, first: number, mask: number, value: number): number {
  let at = from
  if (value < mask) {
    into[at++] = first | value
    return at
  }
  into[at++] = first | mask
  let rest = value - mask
  while (rest > 127) {
    into[at++] = (rest & 127) | 128
    rest >>>= 7
  }
  into[at++] = rest
  return at
}

function putText(into: Buffer, from: number, text: string): number {
  return writeLatin1(into, text, putInteger(into, from, 0, 0x7f, text.length))
}
