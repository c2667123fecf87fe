import { ChunkedReader, Malformed } from './chunked-reader.ts'
import type { AnswerHead, Fields } from './engine.ts'
import { CLASSES, CR, FieldSpans, LF, readFieldLines, SPACE, VALUE } from './field-lines.ts'
import { FieldSection } from './field-section.ts'
import { isLength, membersOf } from './fields.ts'
import { type AnswerFields, readAnswerFields } from './forwarded-answer.ts'
import type { LastAnswerHead } from './last-answer-head.ts'
import { alone, partOf } from './let-go.ts'
import { UpstreamFailure } from './upstream.ts'

const HEAD_BYTES_MAX = 64 * 1024
const SHORT_HEAD_BYTES = 4 * 1024
const FIELDS_MAX = 2_000
/** Each one keeps the request waiting, and is passed on: an endless row of them would be neither late nor bounded. */
const INTERIM_ANSWERS_MAX = 100
const STATUS_LINE = 'HTTP/1.1 200 '
const MINOR_AT = 7
const STATUS_AT = 9
const REASON_AT = STATUS_LINE.length
const VERSION = Buffer.from('HTTP/1.')
const OK = Buffer.from('OK')
const ZERO = 48
const ONE = 49

const SPANS = new FieldSpans(FIELDS_MAX)
const NO_CRUMBS: Buffer[] = []

/** A 1xx answer other than 101. */
export type InterimHead = { status: number; reason: string; fields: AnswerFields }

export type ParsedHead = Omit<AnswerHead, 'fields'> & { fields: AnswerFields; keepsAlive: boolean }

/** The lines of a head that pass are there until the call with it returns. */
export type AnswerListener = {
  onInterim(head: InterimHead): void
  onHead(head: ParsedHead): void
  /** The chunk is the listener's, but what of it is needed after the call is to be kept (`keep`). */
  onData(chunk: Buffer): void
  /** The answer is complete, and its framing says so. */
  onEnd(trailers: Fields): void
}

type State = 'head' | 'counted' | 'chunked' | 'until-close' | 'done'

/**
 * Reads one answer of an upstream (RFC 9112) as its bytes come. Strict: what two readers could understand differently is malformed, and
 * `feed` throws UpstreamFailure `malformed`. No body byte is copied.
 */
export class AnswerParser {
  readonly #method: string
  readonly #upgrade: string | undefined
  readonly #listener: AnswerListener
  readonly #last: LastAnswerHead
  #state: State = 'head'
  #kept: Buffer | undefined
  /** What has come of a head behind that, without the end of a line. */
  #crumbs = NO_CRUMBS
  #crumbBytes = 0
  #left = 0
  #chunks: ChunkedReader | undefined
  #interimAnswers = 0

  /** `upgrade`: the protocols that were asked for. `last` is the upstream's: a head that is its last one again is not read again. */
  constructor({ method, upgrade }: { method: string; upgrade: string | undefined }, listener: AnswerListener, last: LastAnswerHead) {
    this.#method = method
    this.#upgrade = upgrade
    this.#listener = listener
    this.#last = last
  }

  get isDone(): boolean {
    return this.#state === 'done'
  }

  /** Whether not a single byte of the answer has come, nor of an interim one. */
  get isUntouched(): boolean {
    return this.#state === 'head' && this.#kept === undefined && this.#interimAnswers === 0
  }

  /** Takes what arrived; returns how much of it belongs to this answer. */
  feed(arrived: Buffer): number {
    if (this.#isCrumb(arrived)) return arrived.length
    const before = (this.#kept?.length ?? 0) + this.#crumbBytes
    const bytes = this.#kept ? Buffer.concat([this.#kept, ...this.#crumbs, arrived]) : arrived
    this.#kept = undefined
    this.#crumbs = NO_CRUMBS
    this.#crumbBytes = 0
    let at = 0
    while (at < bytes.length && this.#state !== 'done') {
      const next = this.#step(bytes, at)
      if (next === undefined) {
        this.#kept = alone(bytes.subarray(at))
        return arrived.length
      }
      at = next
    }
    return at - before
  }

  /** A long head that comes in crumbs is read anew with each line at most; in a short one, what is wrong is found at once. */
  #isCrumb(arrived: Buffer): boolean {
    if (this.#state !== 'head' || !this.#kept || arrived.includes(LF)) return false
    const bytes = this.#kept.length + this.#crumbBytes
    if (bytes < SHORT_HEAD_BYTES || bytes + arrived.length >= HEAD_BYTES_MAX) return false
    if (this.#crumbs === NO_CRUMBS) this.#crumbs = []
    this.#crumbs.push(Buffer.from(arrived)) // what it came in is used again
    this.#crumbBytes += arrived.length
    return true
  }

  /** The connection was closed. Returns whether that completes the answer; if so, `onEnd` was called. */
  close(): boolean {
    if (this.#state !== 'until-close') return this.#state === 'done'
    this.#end([])
    return true
  }

  /** Consumes from `at` and returns where to go on; undefined when more bytes are needed. */
  #step(bytes: Buffer, at: number): number | undefined {
    switch (this.#state) {
      case 'head':
        return this.#readHead(bytes, at)
      case 'counted':
        return this.#readCounted(bytes, at)
      case 'chunked':
        return this.#readChunked(bytes, at)
      case 'until-close':
        this.#listener.onData(partOf(bytes, at, bytes.length))
        return bytes.length
      case 'done':
        return at
    }
  }

  #readHead(bytes: Buffer, at: number): number | undefined {
    const again = at === 0 ? this.#last.again(bytes) : undefined
    if (again) {
      this.#tell(again.status, again.reason, again.fields, again.isHttp11)
      return again.bytes
    }
    const end = Math.min(bytes.length, at + HEAD_BYTES_MAX)
    const lineEnd = lineEndIn(bytes, at, end)
    if (lineEnd < 0) {
      if (end - at === HEAD_BYTES_MAX) throw malformed('the head is too large')
      if (!couldBeHttp(bytes, at)) throw malformed('this is not HTTP')
      return undefined
    }
    const status = statusIn(bytes, at, lineEnd)
    if (status === undefined) throw malformed('the status line')
    const fieldsEnd = readFieldLines(bytes, lineEnd + 2, end, SPANS)
    if (fieldsEnd === 'malformed') throw malformed('a field line')
    if (fieldsEnd === 'too-many' || (fieldsEnd === 'incomplete' && end - at === HEAD_BYTES_MAX)) throw malformed('the head is too large')
    if (fieldsEnd === 'incomplete') return undefined
    const reason = reasonIn(bytes, at + REASON_AT, lineEnd)
    const isHttp11 = bytes[at + MINOR_AT] === ONE
    const copy = at === 0 && status >= 200 ? this.#last.copyOf(bytes, fieldsEnd) : undefined
    const fields = readAnswerFields(copy ?? bytes, lineEnd + 2, fieldsEnd, SPANS)
    if (copy) this.#last.remember({ status, reason, fields, isHttp11, bytes: fieldsEnd })
    this.#tell(status, reason, fields, isHttp11)
    if (!copy) fields.passing.leaveBytes()
    return fieldsEnd
  }

  #tell(status: number, reason: string, fields: AnswerFields, isHttp11: boolean): void {
    if (status === 101 && isAmong(fields.upgrade, this.#upgrade)) {
      this.#state = 'done'
      fields.passing = FieldSection.ofLines(fields.passing.lines) // the visitor is told once the connection can be handed over
      this.#listener.onHead({ status, reason, fields, body: 'none', keepsAlive: false })
    } else if (status === 101) {
      throw malformed('a change of protocol that nobody asked for')
    } else if (status < 200) {
      this.#interimAnswers += 1
      if (this.#interimAnswers > INTERIM_ANSWERS_MAX) throw malformed('too many interim answers')
      this.#listener.onInterim({ status, reason, fields })
    } else {
      this.#begin(status, reason, fields, isHttp11)
    }
  }

  /** How the body ends, RFC 9112 §6.3. */
  #begin(status: number, reason: string, fields: AnswerFields, isHttp11: boolean): void {
    const { codings, lengths } = fields
    if (codings > 0 && lengths > 0) throw malformed('both Content-Length and Transfer-Encoding')
    if (codings > 1 || (codings === 1 && fields.coding.toLowerCase() !== 'chunked')) throw malformed('Transfer-Encoding')
    if (codings === 1 && !isHttp11) throw malformed('Transfer-Encoding in HTTP/1.0')
    if (lengths > 1 || (lengths === 1 && !isLength(fields.length))) throw malformed('Content-Length')
    const isForbidden = status === 204 && (codings > 0 || Number(fields.length) > 0) // a body that it announces may follow, and would be the next answer
    const keepsAlive = isHttp11 && !fields.closes && !fields.authenticatesConnection && !isForbidden
    if (this.#method === 'HEAD' || status === 204 || status === 304) {
      this.#listener.onHead({ status, reason, fields, keepsAlive, body: 'none' })
      this.#end([])
    } else if (codings === 1) {
      this.#state = 'chunked'
      this.#chunks = new ChunkedReader({ onData: (chunk) => this.#listener.onData(chunk), onEnd: (trailers) => this.#end(trailers) })
      this.#listener.onHead({ status, reason, fields, keepsAlive, body: 'unknown' })
    } else if (lengths === 1) {
      this.#left = Number(fields.length)
      this.#state = 'counted'
      this.#listener.onHead({ status, reason, fields, keepsAlive, body: this.#left })
      if (this.#left === 0) this.#end([])
    } else {
      this.#state = 'until-close'
      this.#listener.onHead({ status, reason, fields, keepsAlive: false, body: 'unknown' })
    }
  }

  #readCounted(bytes: Buffer, at: number): number {
    const end = Math.min(bytes.length, at + this.#left)
    this.#left -= end - at
    this.#listener.onData(partOf(bytes, at, end))
    if (this.#left === 0) this.#end([])
    return end
  }

  #readChunked(bytes: Buffer, at: number): number | undefined {
    try {
      return this.#chunks!.step(bytes, at)
    } catch (error) {
      throw error instanceof Malformed ? malformed(error.message) : error
    }
  }

  #end(trailers: Fields): void {
    this.#state = 'done'
    this.#listener.onEnd(trailers)
  }
}

/** Where the status line ends, -1 when its CRLF has not come. */
function lineEndIn(bytes: Buffer, at: number, end: number): number {
  let lineEnd = at
  while (lineEnd < end && CLASSES[bytes[lineEnd]!]! & VALUE) lineEnd += 1
  if (lineEnd < end && bytes[lineEnd] !== CR) throw malformed('the status line')
  if (lineEnd + 1 >= end) return -1
  if (bytes[lineEnd + 1] !== LF) throw malformed('the status line')
  return lineEnd
}

/** RFC 9112 §4: `HTTP/1.x`, a space, three digits, and a reason behind another space, which some leave out with it. */
function statusIn(bytes: Buffer, at: number, lineEnd: number): number | undefined {
  if (lineEnd - at < REASON_AT - 1 || (lineEnd - at >= REASON_AT && bytes[at + REASON_AT - 1] !== SPACE)) return undefined
  for (let i = 0; i < VERSION.length; i += 1) if (bytes[at + i] !== VERSION[i]) return undefined
  const minor = bytes[at + MINOR_AT]
  if ((minor !== ZERO && minor !== ONE) || bytes[at + STATUS_AT - 1] !== SPACE) return undefined
  let status = 0
  for (let i = STATUS_AT; i < STATUS_AT + 3; i += 1) {
    const digit = bytes[at + i]! - ZERO
    if (digit < 0 || digit > 9) return undefined
    status = status * 10 + digit
  }
  return status < 100 ? undefined : status
}

/** Nearly always the same two letters, which need not become another string for each answer. */
function reasonIn(bytes: Buffer, from: number, end: number): string {
  const isOk = end - from === OK.length && bytes[from] === OK[0] && bytes[from + 1] === OK[1]
  return isOk ? 'OK' : bytes.toString('latin1', from, end)
}

function couldBeHttp(bytes: Buffer, at: number): boolean {
  const start = bytes.toString('latin1', at, at + 7)
  return 'HTTP/1.'.startsWith(start)
}

function malformed(what: string): UpstreamFailure {
  return new UpstreamFailure('malformed', `the upstream's answer is not proper HTTP/1.1: ${what}`)
}

/** Whether the application says to which protocol it changes, and was asked for that (RFC 9110 §7.8). */
function isAmong(chosen: string, asked: string | undefined): boolean {
  if (asked === undefined) return false
  const offered = new Set(membersOf(asked)) // as many as fit a head
  const protocols = membersOf(chosen)
  return protocols.length > 0 && protocols.every((protocol) => offered.has(protocol))
}
