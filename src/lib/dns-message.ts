/** The record types that we read and write, with their numbers (RFC 1035 §3.2.2, RFC 3596, RFC 4034, RFC 6672, RFC 8659). */
export const TYPE_NUMBERS = { A: 1, NS: 2, CNAME: 5, SOA: 6, MX: 15, TXT: 16, AAAA: 28, DNAME: 39, DS: 43, DNSKEY: 48, CAA: 257 } as const
const TYPES = new Map<number, RecordType>(Object.entries(TYPE_NUMBERS).map(([type, number]) => [number, type as RecordType]))

export type RecordType = keyof typeof TYPE_NUMBERS

/** `recurse` asks a resolver to look further (RD); `unchecked` asks it not to validate DNSSEC (CD, RFC 4035 §3.2.2). */
export type Question = { name: string; type: RecordType; recurse: boolean; unchecked: boolean }

/** `value`: an address, a name (case kept), a text; of an SOA its primary server; of an MX the mail server; of a CAA its value, with flags and tag beside it; of a DS or DNSKEY nothing. */
export type ResourceRecord = { name: string; type: RecordType; ttl: number; value: string; caa?: { critical: boolean; tag: string } }

/** What stands in the OPT record (RFC 6891 §6.1.3): the size of the datagrams that its sender takes, and the version. */
export type Edns = { udpBytes: number; version: number }

export type Message = {
  id: number
  response: boolean
  opcode: number
  authoritative: boolean
  truncated: boolean
  recursionAvailable: boolean
  rcode: number
  /** Undefined unless there is exactly one. */
  question: { name: string; type: number; class: number } | undefined
  answers: ResourceRecord[]
  authority: ResourceRecord[]
  additional: ResourceRecord[]
  edns: Edns | undefined
}

export const RCODE = { noError: 0, formatError: 1, serverFailure: 2, noSuchName: 3, notImplemented: 4, refused: 5 } as const

export const HEADER_BYTES = 12
const NAME_BYTES_MAX = 255 // RFC 1035 §2.3.4
const LABEL_BYTES_MAX = 63
/** Of a name, and of a message: no server needs as many, and who sends more wants us to read them. */
const JUMPS_MAX = 16
const RECORDS_MAX = 1_024
/** Of all names of a message, written out: two bytes can stand for one of 255, in two thousand places. */
const NAMES_BYTES_MAX = 32 * 1024
export const UDP_PAYLOAD_BYTES = 1_232 // what passes everywhere without fragments (DNS flag day 2020)
export const OPT_BYTES = 11
const ASKABLE = /^[^.\\]{1,63}(\.[^.\\]{1,63})*$/
const OPT_TYPE = 41
const MX_PREFERENCE_BYTES = 2
export const CLASS_IN = 1
const RESPONSE = 0x80 // of the third byte
const RCODE_BITS = 0x0f // of the fourth
/** What a byte of a label is written as. */
const TEXT_OF = Array.from({ length: 256 }, (_, byte) => textOf(byte))

/** Whether a name can stand in a query: not the root, no escaped bytes, no label or name that is too long. */
export function isAskable(name: string): boolean {
  return name.length + 2 <= NAME_BYTES_MAX && ASKABLE.test(name)
}

/** One query in wire format (RFC 1035 §4.1), with an EDNS record unless told otherwise (RFC 6891). The name must be askable. */
export function encodeQuery(id: number, question: Question, edns = true): Buffer {
  const nameEnd = HEADER_BYTES + question.name.length + 2
  const buffer = Buffer.alloc(nameEnd + 4 + (edns ? OPT_BYTES : 0))
  buffer.writeUInt16BE(id, 0)
  buffer.writeUInt16BE((question.recurse ? 0x0100 : 0) | (question.unchecked ? 0x0010 : 0), 2)
  buffer.writeUInt16BE(1, 4)
  buffer.writeUInt16BE(edns ? 1 : 0, 10)
  writeName(buffer, HEADER_BYTES, question.name)
  buffer.writeUInt16BE(TYPE_NUMBERS[question.type], nameEnd)
  buffer.writeUInt16BE(CLASS_IN, nameEnd + 2)
  if (edns) writeOpt(buffer, nameEnd + 4)
  return buffer
}

/** Writes an OPT record that says how large a datagram we take (RFC 6891 §6.1); `extendedRcode` are the upper bits of the code. */
export function writeOpt(buffer: Buffer, at: number, extendedRcode = 0): void {
  buffer.writeUInt16BE(OPT_TYPE, at + 1)
  buffer.writeUInt16BE(UDP_PAYLOAD_BYTES, at + 3)
  buffer.writeUInt8(extendedRcode, at + 5)
}

/** Writes a name uncompressed, and returns where it ends. The name must be askable. */
export function writeName(buffer: Buffer, start: number, name: string): number {
  let at = start
  for (const label of name.split('.')) {
    buffer[at] = label.length
    buffer.write(label, at + 1, 'latin1')
    at += label.length + 1
  }
  return at + 1
}

/**
 * Whether the bytes are an answer to the question that was asked, as far as their beginning says: it repeats the question, its name without regard to case, or
 * says that the query was not understood (RFC 6891 §7). To be looked at before a message is read, of which a stranger can send any number.
 */
export function answersQuestion(bytes: Buffer, question: Question): boolean {
  if (bytes.length < HEADER_BYTES || (bytes[2]! & RESPONSE) === 0) return false
  const rcode = bytes[3]! & RCODE_BITS
  const questions = bytes.readUInt16BE(4)
  if (questions === 0) return rcode === RCODE.formatError || rcode === RCODE.notImplemented
  const asked = encodeQuery(0, question, false)
  if (questions > 1 || bytes.length < asked.length) return false
  for (let at = HEADER_BYTES; at < asked.length; at++) if (lowerCase(bytes[at]!) !== lowerCase(asked[at]!)) return false
  return true
}

/** Lengths of labels, and the types and the class that we ask for, are no letters. */
function lowerCase(byte: number): number {
  return byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte
}

/**
 * Reads a message. Names keep their case; a byte that would make a name ambiguous, such as a dot inside a label, is escaped as in RFC 1035 §5.1,
 * so the one label `edge\.example` never reads as two. Records of types that are not listed above are left out. Throws RangeError when malformed.
 */
export function decodeMessage(bytes: Buffer): Message {
  const flags = bytes.readUInt16BE(2)
  const reader: Reader = { bytes, at: HEADER_BYTES, namesBytes: 0, edns: undefined }
  const questions = bytes.readUInt16BE(4)
  if (questions > 1) throw new RangeError('a message has one question at most') // RFC 9619
  if (recordsIn(bytes) > RECORDS_MAX) throw new RangeError('too many records')
  const question = questions === 1 ? { name: readName(reader), type: readUInt16(reader), class: readUInt16(reader) } : undefined
  return {
    id: bytes.readUInt16BE(0),
    response: (flags & 0x8000) !== 0,
    opcode: (flags >> 11) & 0x000f,
    authoritative: (flags & 0x0400) !== 0,
    truncated: (flags & 0x0200) !== 0,
    recursionAvailable: (flags & 0x0080) !== 0,
    rcode: flags & 0x000f,
    question,
    answers: readRecords(reader, bytes.readUInt16BE(6)),
    authority: readRecords(reader, bytes.readUInt16BE(8)),
    additional: readRecords(reader, bytes.readUInt16BE(10)),
    edns: reader.edns,
  }
}

/** How many records a message says that it has beside its question. */
export function recordsIn(bytes: Buffer): number {
  return bytes.readUInt16BE(6) + bytes.readUInt16BE(8) + bytes.readUInt16BE(10)
}

type Reader = { bytes: Buffer; at: number; namesBytes: number; edns: Edns | undefined }

function readUInt16(reader: Reader): number {
  const value = reader.bytes.readUInt16BE(reader.at)
  reader.at += 2
  return value
}

function readRecords(reader: Reader, count: number): ResourceRecord[] {
  const records: ResourceRecord[] = []
  for (let n = 0; n < count; n++) {
    const name = readName(reader)
    const number = readUInt16(reader)
    const type = TYPES.get(number)
    const recordClass = readUInt16(reader)
    const ttl = reader.bytes.readUInt32BE(reader.at)
    const length = reader.bytes.readUInt16BE(reader.at + 4)
    const start = reader.at + 6
    reader.at = start + length
    if (reader.at > reader.bytes.length) throw new RangeError('a record reaches beyond the message')
    if (number === OPT_TYPE) readOpt(reader, name, { udpBytes: recordClass, version: (ttl >> 16) & 0xff })
    if (type !== undefined && recordClass === CLASS_IN) records.push(readRecord(reader, { name, type, ttl }, start, length))
  }
  return records
}

function readOpt(reader: Reader, name: string, edns: Edns): void {
  if (reader.edns || name !== '') throw new RangeError('a message has one OPT record at most, and the root is its name') // RFC 6891 §6.1.1
  reader.edns = edns
}

function readRecord(reader: Reader, head: { name: string; type: RecordType; ttl: number }, start: number, length: number): ResourceRecord {
  const { bytes } = reader
  switch (head.type) {
    case 'A':
      if (length !== 4) throw new RangeError('an A record has four bytes')
      return { ...head, value: `${bytes[start]}.${bytes[start + 1]}.${bytes[start + 2]}.${bytes[start + 3]}` }
    case 'AAAA':
      if (length !== 16) throw new RangeError('an AAAA record has sixteen bytes')
      return { ...head, value: formatIpv6(bytes, start) }
    case 'TXT':
      return { ...head, value: readText(bytes, start, length) }
    case 'MX':
      if (length < MX_PREFERENCE_BYTES) throw new RangeError('an MX record begins with its preference')
      return { ...head, value: readNameAt(reader, start + MX_PREFERENCE_BYTES) }
    case 'CAA':
      return { ...head, ...readCaa(bytes, start, length) }
    case 'DS':
    case 'DNSKEY':
      return { ...head, value: '' }
    default:
      return { ...head, value: readNameAt(reader, start) }
  }
}

function formatIpv6(bytes: Buffer, start: number): string {
  const groups = Array.from({ length: 8 }, (_, n) => bytes.readUInt16BE(start + n * 2).toString(16))
  return new URL(`http://[${groups.join(':')}]/`).hostname.slice(1, -1)
}

function readText(bytes: Buffer, start: number, length: number): string {
  const chunks: Buffer[] = []
  for (let at = start; at < start + length; at += bytes[at]! + 1) {
    if (at + 1 + bytes[at]! > start + length) throw new RangeError('a text reaches beyond its record')
    chunks.push(bytes.subarray(at + 1, at + 1 + bytes[at]!))
  }
  return Buffer.concat(chunks).toString('utf8')
}

function readCaa(bytes: Buffer, start: number, length: number): { value: string; caa: { critical: boolean; tag: string } } {
  const tagEnd = start + 2 + (bytes[start + 1] ?? 0)
  if (length < 2 || tagEnd > start + length) throw new RangeError('a CAA tag reaches beyond its record')
  const tag = bytes.toString('latin1', start + 2, tagEnd).toLowerCase()
  return { value: bytes.toString('latin1', tagEnd, start + length), caa: { critical: (bytes[start]! & 0x80) !== 0, tag } }
}

/** A name within what has been read. */
function readNameAt(reader: Reader, at: number): string {
  const { at: end } = reader
  reader.at = at
  const name = readName(reader)
  reader.at = end
  return name
}

/** Without the final dot; the root is the empty string. Compression pointers lead backwards only and are few, so reading soon ends. */
function readName(reader: Reader): string {
  const { bytes } = reader
  const labels: string[] = []
  let at = reader.at
  let ceiling = at
  let jumps = 0
  let total = 1
  for (;;) {
    const length = bytes[at]
    if (length === undefined) throw new RangeError('a name reaches beyond the message')
    if (length >= 0xc0) {
      const target = bytes.readUInt16BE(at) & 0x3fff
      if (target >= ceiling) throw new RangeError('a compression pointer does not lead backwards')
      if (jumps === 0) reader.at = at + 2
      jumps += 1
      if (jumps > JUMPS_MAX) throw new RangeError('a name of too many pieces')
      at = target
      ceiling = target
      continue
    }
    if (length > LABEL_BYTES_MAX) throw new RangeError('a label of an unknown kind')
    if (length === 0) break
    total += length + 1
    if (total > NAME_BYTES_MAX || at + 1 + length > bytes.length) throw new RangeError('a name is too long')
    labels.push(readLabel(bytes, at + 1, at + 1 + length))
    at += length + 1
  }
  if (jumps === 0) reader.at = at + 1
  reader.namesBytes += total
  if (reader.namesBytes > NAMES_BYTES_MAX) throw new RangeError('too many names')
  return labels.join('.') // in one piece: names are kept
}

function readLabel(bytes: Buffer, start: number, end: number): string {
  let label = ''
  for (let at = start; at < end; at++) label += TEXT_OF[bytes[at]!]!
  return label
}

function textOf(byte: number): string {
  const character = String.fromCharCode(byte)
  if (byte === 0x2e || byte === 0x5c) return `\\${character}`
  return byte > 0x20 && byte < 0x7f ? character : `\\${String(byte).padStart(3, '0')}`
}
