import { CLASSES, CR, FieldSpans, LF, readFieldLines, SPACE, TARGET, TOKEN } from '../field-lines.ts'
import { isLength } from '../fields.ts'
import type { RequestFields } from '../forwarded-request.ts'
import { REQUEST_FIELDS_MAX, REQUEST_HEAD_BYTES_MAX, REQUEST_TARGET_BYTES_MAX } from '../request-limits.ts'
import { authorityIn, readTarget } from '../request-target.ts'
import { CONTINUE, type CollectedFields, collectFields, type LastFields } from './collected-fields.ts'
import { isProtocolFor } from './upgrade.ts'

/** How the body of a request ends (RFC 9112 §6.3): there is none, after so many bytes, or with the last chunk, of whose trailers Connection may name some. */
export type RequestFraming = { kind: 'none' } | { kind: 'length'; bytes: number } | { kind: 'chunked'; connection: string }

export type RequestHead = {
  method: string
  /** In origin form, or `*` with OPTIONS. */
  target: string
  isHttp11: boolean
  /** Host as sent; where an HTTP/1.0 request has none, what its absolute target names, and empty without one. */
  authority: string
  fields: RequestFields
  framing: RequestFraming
  keepsAlive: boolean
  expectsContinue: boolean
  /** The protocols that the visitor asks to change to, where that can be granted. */
  upgrade: string | undefined
}

/** `end` is the first byte behind the head. `incomplete`: more bytes decide. A refused head ends its connection. */
export type HeadReading = { kind: 'head'; head: RequestHead; end: number } | { kind: 'incomplete' } | { kind: 'refused'; status: number }

const VERSION = Buffer.from('HTTP/1.')
const GET = Buffer.from('GET')
const SPANS = new FieldSpans(REQUEST_FIELDS_MAX)

const INCOMPLETE: HeadReading = { kind: 'incomplete' }
const NO_BODY: RequestFraming = { kind: 'none' }
const EMPTY_LINES_MAX = 4

/**
 * Reads a request's head in one pass (RFC 9112 §3 and §5). Strict: a bare CR or LF, a folded line, a space before a colon, a control
 * character, a second Host or length, a length beside a coding and any coding but one `chunked` are refused, since two readers could
 * understand them differently. An absolute target must name the same authority as Host. With `last`, which belongs to the connection, fields
 * that were the same bytes in its last head, Host's value apart, are taken from there.
 */
export function readRequestHead(bytes: Buffer, from: number, last?: LastFields): HeadReading {
  const end = Math.min(bytes.length, from + REQUEST_HEAD_BYTES_MAX)
  const isCut = end < bytes.length
  let at = skipEmptyLines(bytes, from, end)
  const outOfBytes = (): HeadReading => (isCut || end - from >= REQUEST_HEAD_BYTES_MAX ? refused(431) : INCOMPLETE)

  const methodAt = at
  while (at < end && CLASSES[bytes[at]!]! & TOKEN) at += 1
  if (at === end) return outOfBytes()
  if (at === methodAt && bytes[at] === CR && at + 1 === end) return outOfBytes()
  if (at === methodAt || bytes[at] !== SPACE) return refused(400)
  const methodEnd = at
  at += 1

  const targetAt = at
  while (at < end && CLASSES[bytes[at]!]! & TARGET) at += 1
  if (at - targetAt > REQUEST_TARGET_BYTES_MAX) return refused(414)
  if (at === end) return outOfBytes()
  if (bytes[at] === CR) return refused(505) // a request line without a version
  if (at === targetAt || bytes[at] !== SPACE) return refused(400)
  const targetEnd = at
  at += 1

  if (end - at < 10) return couldBeVersion(bytes, at, end) ? outOfBytes() : refused(400)
  const minor = bytes[at + 7]! - 48
  for (let i = 0; i < VERSION.length; i += 1) if (bytes[at + i] !== VERSION[i]) return refused(isVersion(bytes, at) ? 505 : 400)
  if (minor !== 0 && minor !== 1) return refused(505)
  if (bytes[at + 8] !== CR || bytes[at + 9] !== LF) return refused(400)
  at += 10

  const again = last?.endIn(bytes, at, end)
  const fieldsEnd = again ?? readFieldLines(bytes, at, end, SPANS)
  if (typeof fieldsEnd !== 'number') return fieldsEnd === 'incomplete' ? outOfBytes() : refused(fieldsEnd === 'too-many' ? 431 : 400)
  const text = bytes.toString('latin1', methodAt, again === undefined ? fieldsEnd - 2 : targetEnd)
  const collected = again === undefined ? collectFields(bytes, { from: at, text: text.slice(at - methodAt) }, SPANS) : last!.collected
  if (again === undefined) last?.remember(bytes, at, fieldsEnd, collected)
  const host = again === undefined ? collected.host : last!.host
  const method = isGet(bytes, methodAt, methodEnd) ? 'GET' : text.slice(0, methodEnd - methodAt)
  const target = text.slice(targetAt - methodAt, targetEnd - methodAt)
  return decide({ method, target, isHttp11: minor === 1, host, collected }, fieldsEnd)
}

type Read = { method: string; target: string; isHttp11: boolean; host: string | undefined; collected: CollectedFields }

function decide({ method, target: raw, isHttp11, host, collected }: Read, end: number): HeadReading {
  const { length, coding, connection, fields, expect } = collected
  if (method === 'CONNECT') return refused(405)
  if (collected.isTwofold) return refused(400)
  if (host === undefined && isHttp11) return refused(400)
  if (coding !== undefined) {
    if (length !== undefined || !isHttp11) return refused(400) // RFC 9112 §6.1: such framing is faulty
    if (coding.toLowerCase() !== 'chunked') return refused(501)
  }
  if (length !== undefined && !isLength(length)) return refused(400)
  const authority = host ?? authorityIn(raw)
  const target = readTarget(method, raw, authority)
  if (target === undefined) return refused(400)
  if (expect !== undefined && expect !== CONTINUE) return refused(417)
  const framing: RequestFraming = coding !== undefined ? { kind: 'chunked', connection } : lengthFraming(length)
  const keepsAlive = isHttp11 ? !collected.connects('close') : collected.connects('keep-alive') && !collected.connects('close')
  const mayUpgrade = collected.upgrade !== undefined && isHttp11 && framing.kind === 'none'
  const upgrade = mayUpgrade && collected.connects('upgrade') && isProtocolFor(collected.upgrade!) ? collected.upgrade : undefined
  const expectsContinue = expect !== undefined && isHttp11
  return {
    kind: 'head',
    end,
    head: { method, target, isHttp11, authority, fields, framing, keepsAlive, expectsContinue, upgrade },
  }
}

function lengthFraming(length: string | undefined): RequestFraming {
  const bytes = length === undefined ? 0 : Number(length)
  return bytes === 0 ? NO_BODY : { kind: 'length', bytes }
}

/** For nearly all requests the method is one and the same string then, and sets that are asked for it need not read it first. */
function isGet(bytes: Buffer, at: number, end: number): boolean {
  return end - at === GET.length && bytes[at] === GET[0] && bytes[at + 1] === GET[1] && bytes[at + 2] === GET[2]
}

/** RFC 9112 §2.2: at least one empty line before a request is ignored. */
function skipEmptyLines(bytes: Buffer, from: number, end: number): number {
  let at = from
  for (let i = 0; i < EMPTY_LINES_MAX && at + 1 < end && bytes[at] === CR && bytes[at + 1] === LF; i += 1) at += 2
  return at
}

/** Of a line of which not all has come: nobody shall wait for the rest of what has ended already. */
function couldBeVersion(bytes: Buffer, at: number, end: number): boolean {
  return /^(?:[^\r\n]{0,8}|[^\r\n]{8}\r)$/.test(bytes.toString('latin1', at, end))
}

function isVersion(bytes: Buffer, at: number): boolean {
  return /^HTTP\/\d\.\d/.test(bytes.toString('latin1', at, at + 8))
}

function refused(status: number): HeadReading {
  return { kind: 'refused', status }
}
