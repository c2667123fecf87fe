import { CLASS_IN, HEADER_BYTES, OPT_BYTES, RCODE, TYPE_NUMBERS, writeOpt } from '../lib/dns-message.ts'
import type { Head } from './query.ts'
import type { Answer, ZoneRecord } from './zone.ts'

const RESPONSE = 0x8000
const AUTHORITATIVE = 0x0400
const TRUNCATED = 0x0200
const KEPT_FLAGS = 0x7910 // opcode, RD and CD come back as they were
const POINTER = 0xc000
const TYPE_HINFO = 13
const TEXT_BYTES_MAX = 255
// Nobody copies the zone, so its serial never changes; the last number is the negative TTL in seconds (RFC 2308 §4).
const SOA_NUMBERS = [1, 86_400, 7_200, 604_800, 5]

/** A response with a code and nothing else (RFC 1035 §4.1.1); a code above 15 needs the asker's EDNS. */
export function encodeRefusal(head: Head, rcode: number): Buffer {
  return assemble(head, { rcode, flags: 0, sections: [[], [], []] })
}

/** A response that says to ask again over TCP (RFC 2181 §9). */
export function encodeTruncated(head: Head): Buffer {
  return assemble(head, { rcode: RCODE.noError, flags: TRUNCATED, sections: [[], [], []] })
}

/** The answer in wire format; the truncated one when it would have more than `bytesMax`. Every name in it is the zone, or one label below. */
export function encodeAnswer(head: Head, zone: string, answer: Answer, bytesMax: number): Buffer {
  const write = (record: ZoneRecord) => encodeRecord(record, head, zone)
  const sections = [answer.answers, answer.authority, answer.additional].map((records) => records.map(write))
  const encoded = assemble(head, { rcode: answer.rcode, flags: answer.authoritative ? AUTHORITATIVE : 0, sections })
  return encoded.length <= bytesMax ? encoded : encodeTruncated(head)
}

function assemble(head: Head, parts: { rcode: number; flags: number; sections: Buffer[][] }): Buffer {
  const header = Buffer.alloc(HEADER_BYTES)
  const opt = Buffer.alloc(head.hasEdns ? OPT_BYTES : 0)
  if (head.hasEdns) writeOpt(opt, 0, parts.rcode >> 4)
  header.writeUInt16BE(head.id, 0)
  header.writeUInt16BE(RESPONSE | parts.flags | (head.flags & KEPT_FLAGS) | (parts.rcode & 0x000f), 2)
  header.writeUInt16BE(head.questionBytes.length > 0 ? 1 : 0, 4)
  for (const [i, records] of parts.sections.entries()) header.writeUInt16BE(records.length, 6 + i * 2)
  if (head.hasEdns) header.writeUInt16BE(parts.sections[2]!.length + 1, 10)
  return Buffer.concat([header, head.questionBytes, ...parts.sections.flat(), opt])
}

function encodeRecord(record: ZoneRecord, head: Head, zone: string): Buffer {
  const data = encodeData(record, head, zone)
  const fixed = Buffer.alloc(10)
  fixed.writeUInt16BE(record.type === 'HINFO' ? TYPE_HINFO : TYPE_NUMBERS[record.type], 0)
  fixed.writeUInt16BE(CLASS_IN, 2)
  fixed.writeUInt32BE(record.ttl, 4)
  fixed.writeUInt16BE(data.length, 8)
  return Buffer.concat([encodeName(record.name, head, zone), fixed, data])
}

function encodeData({ type, value }: ZoneRecord, head: Head, zone: string): Buffer {
  switch (type) {
    case 'A':
      return Buffer.from(value.split('.').map(Number))
    case 'AAAA':
      return encodeIpv6(value)
    case 'NS':
      return encodeName(value, head, zone)
    case 'TXT':
      return encodeText(value)
    case 'HINFO':
      return Buffer.concat([encodeText(value), encodeText('')])
    case 'SOA': {
      const numbers = Buffer.alloc(SOA_NUMBERS.length * 4)
      for (const [i, number] of SOA_NUMBERS.entries()) numbers.writeUInt32BE(number, i * 4)
      return Buffer.concat([encodeName(value, head, zone), encodeName(`hostmaster.${zone}`, head, zone), numbers])
    }
  }
}

/** The zone's name stands at the end of the question, whoever asked: every name is what precedes it and a pointer to there. */
function encodeName(name: string, { questionBytes }: Head, zone: string): Buffer {
  const label = name.slice(0, -zone.length - 1)
  const zoneAt = HEADER_BYTES + questionBytes.length - 4 - (zone.length + 2)
  const pointer = Buffer.alloc(2)
  pointer.writeUInt16BE(POINTER | zoneAt)
  return label === '' ? pointer : Buffer.concat([Buffer.from([label.length]), Buffer.from(label, 'latin1'), pointer])
}

function encodeText(text: string): Buffer {
  const bytes = Buffer.from(text)
  const parts: Buffer[] = []
  for (let at = 0; at === 0 || at < bytes.length; at += TEXT_BYTES_MAX) {
    const part = bytes.subarray(at, at + TEXT_BYTES_MAX)
    parts.push(Buffer.from([part.length]), part)
  }
  return Buffer.concat(parts)
}

function encodeIpv6(address: string): Buffer {
  const plain = new URL(`http://[${address}]/`).hostname.slice(1, -1)
  const [left = '', right] = plain.split('::')
  const groups = (text: string) => text.split(':').filter((group) => group !== '')
  const zeros = right === undefined ? 0 : 8 - groups(left).length - groups(right).length
  const bytes = Buffer.alloc(16)
  const all = [...groups(left), ...Array.from({ length: zeros }, () => '0'), ...groups(right ?? '')]
  for (const [i, group] of all.entries()) bytes.writeUInt16BE(Number.parseInt(group, 16), i * 2)
  return bytes
}
