import { KeptBytes } from '../kept-bytes.ts'
import { HeaderField } from './header-field.ts'
import { DynamicTable, STATIC_TABLE } from './hpack-table.ts'
import { decodeHuffman } from './huffman.ts'
import { neverIndexed } from './never-indexed.ts'
import { ConnectionError, ERROR_CODE } from './protocol.ts'

/** What a string may take of a block before it is decoded apart. */
const STRING_BYTES_USUAL = 64 * 1024
/** What every encoder may use before it has been told anything else; we never tell it. */
const TABLE_BYTES_MAX = 4_096
const INTEGER_BYTES_MAX = 4
/** The shortest code has five bits. */
const EXPANSION_MAX = 8 / 5

/** `fields` ends where the list grew too large. */
export type DecodedHead = {
  readonly fields: readonly HeaderField[]
  readonly bytes: number
  readonly isProper: boolean
  readonly isTooLarge: boolean
}

// What a string is decoded into, before it becomes one: nothing stays in it from one string to the next.
const scratch = Buffer.allocUnsafeSlow(roomFor(STRING_BYTES_USUAL))

/** Decodes the header blocks of one connection (RFC 7541). Every block must pass through here, whatever becomes of it. */
export class HpackDecoder {
  readonly #table = new DynamicTable(TABLE_BYTES_MAX)
  readonly #listBytesMax: number
  readonly #last = new LastBlock()
  #bytes: Buffer = scratch
  #at = 0
  #end = 0

  /** `listBytesMax` counts as SETTINGS_MAX_HEADER_LIST_SIZE does (RFC 9113 §6.5.2). */
  constructor(listBytesMax: number) {
    this.#listBytesMax = listBytesMax
  }

  /** Throws ConnectionError: after an error the tables of both sides differ, and nothing can be read any more. */
  decode(bytes: Buffer, start: number, end: number): DecodedHead {
    const { changes } = this.#table
    const again = this.#last.again(bytes, start, end, changes)
    if (again) return again
    const head = this.#read(bytes, start, end)
    if (this.#table.changes === changes) this.#last.remember(bytes, start, end, changes, head)
    return head
  }

  #read(bytes: Buffer, start: number, end: number): DecodedHead {
    this.#bytes = bytes
    this.#at = start
    this.#end = end
    const fields: HeaderField[] = []
    const head = { fields, bytes: 0, isProper: true, isTooLarge: false }
    this.#readSizeUpdates()
    while (this.#at < end) {
      const field = this.#readField(bytes[this.#at]!)
      head.bytes += field.size
      if (head.bytes > this.#listBytesMax) {
        head.isTooLarge = true
        continue
      }
      if (!field.isProper) head.isProper = false
      fields.push(field)
    }
    this.#bytes = scratch // else the last block of a connection would stay in memory
    return head
  }

  #readSizeUpdates(): void {
    while (this.#at < this.#end && (this.#bytes[this.#at]! & 0xe0) === 0x20) {
      const size = this.#readInteger(0x1f)
      if (size > TABLE_BYTES_MAX) throw broken('a dynamic table larger than allowed')
      this.#table.resize(size)
    }
  }

  #readField(first: number): HeaderField {
    if (first & 0x80) return this.#lookUp(this.#readInteger(0x7f))
    if ((first & 0xe0) === 0x20) throw broken('a change of the table behind a field')
    const isKept = (first & 0x40) !== 0
    const index = this.#readInteger(isKept ? 0x3f : 0x0f)
    const name = index === 0 ? this.#readString() : this.#lookUp(index).name
    const field = new HeaderField(name, this.#readString())
    if (isKept) this.#table.add(field)
    else if ((first & 0x10) !== 0 && field.isProper) neverIndexed.add(name)
    return field
  }

  #lookUp(index: number): HeaderField {
    const field = index <= STATIC_TABLE.length ? STATIC_TABLE[index - 1] : this.#table.at(index - STATIC_TABLE.length - 1)
    if (!field) throw broken('an index without an entry')
    return field
  }

  /** RFC 7541 §5.1; more than we would ever take is an error here already. */
  #readInteger(mask: number): number {
    let value = this.#bytes[this.#at++]! & mask
    if (value < mask) return value
    for (let i = 0; i < INTEGER_BYTES_MAX; i += 1) {
      if (this.#at >= this.#end) throw broken('an integer without end')
      const byte = this.#bytes[this.#at++]!
      value += (byte & 0x7f) * 2 ** (7 * i)
      if (byte < 0x80) return value
    }
    throw broken('an integer too large')
  }

  #readString(): string {
    if (this.#at >= this.#end) throw broken('a field without a value')
    const isHuffman = (this.#bytes[this.#at]! & 0x80) !== 0
    const length = this.#readInteger(0x7f)
    const start = this.#at
    this.#at += length
    if (this.#at > this.#end) throw broken('a string that ends behind its block')
    if (!isHuffman) return this.#bytes.toString('latin1', start, this.#at)
    const into = length > STRING_BYTES_USUAL ? Buffer.allocUnsafeSlow(roomFor(length)) : scratch
    const count = decodeHuffman(this.#bytes, start, this.#at, into)
    if (count < 0) throw broken('a string that is not of the Huffman code')
    return into.toString('latin1', 0, count)
  }
}

/** Longer blocks are seldom the same again. */
const BLOCK_BYTES_MAX = 64

/** A connection's last block, if that left the table as it was: who asks for one thing again and again says so in the same few bytes, which mean the same until the table changes. */
class LastBlock {
  readonly #kept = new KeptBytes()
  #changes = 0
  #head: DecodedHead | undefined

  again(bytes: Buffer, start: number, end: number, changes: number): DecodedHead | undefined {
    if (!this.#head || changes !== this.#changes || end - start !== this.#kept.length) return undefined
    return this.#kept.isIn(bytes, start, end) ? this.#head : undefined
  }

  remember(bytes: Buffer, start: number, end: number, changes: number, head: DecodedHead): void {
    this.#head = undefined
    if (end - start > BLOCK_BYTES_MAX) return
    this.#kept.keep(bytes, start, end)
    this.#changes = changes
    this.#head = head
  }
}

function roomFor(bytes: number): number {
  return Math.ceil(bytes * EXPANSION_MAX)
}

function broken(what: string): ConnectionError {
  return new ConnectionError(ERROR_CODE.compression, what)
}
