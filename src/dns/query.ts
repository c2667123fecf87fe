import { decodeMessage, HEADER_BYTES, RCODE, recordsIn } from '../lib/dns-message.ts'

/** The first part of a message, as it is given back with the answer. `questionBytes` is the question as it was written, in its own case. */
export type Head = { id: number; flags: number; questionBytes: Buffer; hasEdns: boolean }

/** What arrived: a question to look at, something that gets a code and no more, or what is never answered. */
export type Query =
  | { kind: 'question'; head: Head; question: { name: string; type: number; class: number }; udpBytesMax: number }
  | { kind: 'refused'; head: Head; rcode: number }
  | { kind: 'ignored' }

/** Extended code of a version of EDNS that we do not speak (RFC 6891 §9). */
export const BAD_VERSION = 16

const UDP_BYTES_MIN = 512 // RFC 1035 §4.2.1, and what a smaller number in an OPT record counts as (RFC 6891 §6.2.5)
const UDP_BYTES_MAX = 1_232 // what passes everywhere without fragments
/** Beside the question: OPT, and a signature (RFC 8945, RFC 2931). */
const RECORDS_MAX = 4
const RESPONSE = 0x8000
const OPCODE = 0x7800

/** Reads a packet that somebody sent. A response is never answered, or two servers could talk to each other for ever. Never throws. */
export function readQuery(packet: Buffer): Query {
  if (packet.length < HEADER_BYTES) return { kind: 'ignored' }
  const bare: Head = { id: packet.readUInt16BE(0), flags: packet.readUInt16BE(2), questionBytes: Buffer.alloc(0), hasEdns: false }
  if (bare.flags & RESPONSE) return { kind: 'ignored' }
  if (bare.flags & OPCODE) return { kind: 'refused', head: bare, rcode: RCODE.notImplemented }
  if (recordsIn(packet) > RECORDS_MAX) return { kind: 'refused', head: bare, rcode: RCODE.formatError }
  try {
    const { question, edns } = decodeMessage(packet)
    const questionBytes = question && plainQuestion(packet)
    if (!question || !questionBytes) return { kind: 'refused', head: bare, rcode: RCODE.formatError }
    const head = { ...bare, questionBytes, hasEdns: edns !== undefined }
    if (edns && edns.version > 0) return { kind: 'refused', head, rcode: BAD_VERSION }
    const udpBytesMax = Math.min(UDP_BYTES_MAX, Math.max(UDP_BYTES_MIN, edns?.udpBytes ?? 0))
    return { kind: 'question', head, question: { ...question, name: question.name.toLowerCase() }, udpBytesMax }
  } catch {
    return { kind: 'refused', head: bare, rcode: RCODE.formatError }
  }
}

/** The bytes of the one question; undefined when a compression pointer stands in its name, where there is nothing yet to point at. */
function plainQuestion(packet: Buffer): Buffer | undefined {
  let at = HEADER_BYTES
  for (; packet[at] !== 0; at += packet[at]! + 1) if (packet[at]! > 63) return undefined
  return packet.subarray(HEADER_BYTES, at + 5)
}
