import type { Fields } from './engine.ts'
import type { FieldSpans } from './field-lines.ts'
import { FieldSection, fieldLines } from './field-section.ts'
import { membersOf, namedInConnection, namesFurther } from './fields.ts'
import { NameTable } from './name-table.ts'
import { digitsIn, SeenTexts } from './seen-texts.ts'

/** What becomes of an answer's field on its way to the visitor. `hop`: of this hop alone, or said anew by us; `Alt-Svc` would lead visitors past the edge. */
type AnswerKind = 'pass' | 'hop' | 'length' | 'coding' | 'connection' | 'keep-alive' | 'trailer' | 'upgrade' | NotedKind
/** What passes and tells us something. */
type NotedKind = 'content-type' | 'date' | 'authenticate'

export const ANSWER_NAMES = new NameTable<AnswerKind>(
  [
    ['content-length', 'length'],
    ['transfer-encoding', 'coding'],
    ['connection', 'connection'],
    ['keep-alive', 'keep-alive'],
    ['trailer', 'trailer'],
    ['upgrade', 'upgrade'],
    ['content-type', 'content-type'],
    ['date', 'date'],
    ['www-authenticate', 'authenticate'],
    ['persistent-auth', 'authenticate'],
    ['alt-svc', 'hop'],
    ['proxy-connection', 'hop'],
    ['proxy-authenticate', 'hop'],
    ['proxy-authorization', 'hop'],
    ['te', 'hop'],
    ['http2-settings', 'hop'],
    ['expect', 'hop'],
    ['host', 'hop'],
  ],
  'pass',
)

const IDLE = /timeout=(\d{1,6})/i
/** By these a visitor proves who it is to a connection, and whoever uses it next would be taken for it (RFC 9110 §3.3, RFC 4559 §6). */
const OF_THE_CONNECTION = /(?:^|,)[\t ]*(?:NTLM|Negotiate|true)(?![\w-])/i
const EVENT_STREAM = /^text\/event-stream\b/i
/** Where `text/event-stream` and `text/html` part: most answers need no closer look. */
const PARTING_AT = 5
const LOWER_E = 101
const UPPER_E = 69
const SEEN = new SeenTexts()

/** `keepUpgrade`: what a 426 says must be asked for (RFC 9110 §15.5.22), over HTTP/1.1. */
export type KeptFields = { keepLength: boolean; keepTrailer: boolean; keepUpgrade: boolean }

/** An answer's fields, sorted by what becomes of them. */
export class AnswerFields {
  /** The end-to-end lines. */
  passing = FieldSection.EMPTY
  /** The lines of `Trailer`, which stay only where trailers can follow. */
  trailer = ''
  lengths = 0
  length = ''
  codings = 0
  coding = ''
  /** Members of `Connection`, in lower case. */
  connection = ''
  upgrade = ''
  isEventStream = false
  /** Whether the connection may know its visitor from now on. */
  authenticatesConnection = false
  hasDate = false
  /** For how long the upstream keeps the connection, in milliseconds; infinite when it did not say. */
  idleMs = Number.POSITIVE_INFINITY

  note(kind: AnswerKind, value: string): void {
    switch (kind) {
      case 'length':
        this.lengths += 1
        this.length = value
        return
      case 'coding':
        this.codings += 1
        this.coding = value
        return
      case 'connection':
        this.connection = this.connection === '' ? value.toLowerCase() : `${this.connection},${value.toLowerCase()}`
        return
      case 'keep-alive':
        this.#noteIdle(value)
        return
      case 'upgrade':
        this.upgrade += `,${value}`
        return
      case 'content-type':
        this.isEventStream ||= mayBeEventStream(value.charCodeAt(PARTING_AT)) && EVENT_STREAM.test(value)
        return
      case 'authenticate':
        this.authenticatesConnection ||= OF_THE_CONNECTION.test(value)
        return
      case 'date':
        this.hasDate = true
    }
  }

  get closes(): boolean {
    return this.connection.includes('close') && membersOf(this.connection).includes('close')
  }

  /** What the visitor gets besides what says how the body is framed; with the time, where the application has no clock (RFC 9110 §6.6.1). */
  toVisitor({ keepLength, keepTrailer, keepUpgrade }: KeptFields): FieldSection {
    let further = this.hasDate ? '' : dateLine()
    if (keepUpgrade && this.upgrade !== '') further += this.#upgradeLines()
    if (keepLength && this.lengths > 0) further += `Content-Length: ${this.length}\r\n`
    if (keepTrailer) further += this.trailer
    return further === '' ? this.passing : FieldSection.ofLines(this.passing.lines + further)
  }

  /** A 101's: as they are, with the change of protocol itself. */
  toUpgrade(): FieldSection {
    return FieldSection.ofLines(this.passing.lines + this.#upgradeLines())
  }

  /** Another 1xx's. */
  toInterim(): FieldSection {
    return this.passing
  }

  #upgradeLines(): string {
    return `Connection: Upgrade\r\nUpgrade: ${membersOf(this.upgrade).join(', ')}\r\n`
  }

  /** `Keep-Alive: timeout=5` means that the upstream closes after 5 s: we stop using the connection a second earlier. */
  #noteIdle(value: string): void {
    const seconds = IDLE.exec(value)?.[1]
    if (seconds !== undefined) this.idleMs = Math.min(this.idleMs, Math.max(1, Number(seconds) * 1000 - 1000))
  }
}

/**
 * Sorts the fields of a head whose lines lie in `bytes` from `from` to `end`, the empty line included. Those that pass stay where they are: they are
 * to be used up before `bytes` is another's.
 */
export function readAnswerFields(bytes: Buffer, from: number, end: number, spans: FieldSpans): AnswerFields {
  if (!spans.arePlain) return sortAnswerFields(spans.list(bytes))
  const fields = new AnswerFields()
  const { offsets, count } = spans
  const passing: number[] = []
  let keptFrom = from
  for (let i = 0; i < count * 4; i += 4) {
    const nameAt = offsets[i]!
    const kind = ANSWER_NAMES.kindIn(bytes, nameAt, offsets[i + 1]!)
    if (kind === 'pass') continue
    const valueEnd = offsets[i + 3]!
    fields.note(kind, valueIn(bytes, offsets[i + 2]!, valueEnd, kind))
    if (isNoted(kind)) continue
    if (nameAt > keptFrom) passing.push(keptFrom, nameAt)
    keptFrom = valueEnd + 2
    if (kind === 'trailer') fields.trailer += bytes.toString('latin1', nameAt, keptFrom)
  }
  if (end - 2 > keptFrom) passing.push(keptFrom, end - 2)
  fields.passing = FieldSection.ofRuns(bytes, passing)
  return namesFurther(fields.connection, passesOn) ? sortAnswerFields(spans.list(bytes)) : fields
}

/** What there is to note of a field's value. */
function valueIn(bytes: Buffer, at: number, end: number, kind: AnswerKind): string {
  switch (kind) {
    case 'length':
      return digitsIn(bytes, at, end)
    case 'content-type':
      return mayBeEventStream(bytes[at + PARTING_AT]) ? bytes.toString('latin1', at, end) : ''
    case 'date':
    case 'trailer':
    case 'hop':
      return ''
    default:
      return SEEN.textIn(bytes, at, end)
  }
}

function mayBeEventStream(parting: number | undefined): boolean {
  return parting === LOWER_E || parting === UPPER_E
}

/** Sorts an answer's fields, names and values in turn. */
export function sortAnswerFields(list: Fields): AnswerFields {
  const fields = new AnswerFields()
  const named = namedInConnection(list)
  let passing = ''
  for (let i = 0; i < list.length; i += 2) {
    const lower = list[i]!.toLowerCase()
    const kind = ANSWER_NAMES.kindOf(lower)
    const isOfThisHop = named?.has(lower) === true
    if (kind !== 'date' || !isOfThisHop) fields.note(kind, list[i + 1]!)
    if (isOfThisHop) continue
    const line = fieldLines([list[i]!, list[i + 1]!])
    if (kind === 'pass' || isNoted(kind)) passing += line
    else if (kind === 'trailer') fields.trailer += line
  }
  fields.passing = FieldSection.ofLines(passing)
  return fields
}

function passesOn(lower: string): boolean {
  const kind = ANSWER_NAMES.kindOf(lower)
  return kind === 'pass' || kind === 'trailer' || isNoted(kind)
}

function isNoted(kind: AnswerKind): kind is NotedKind {
  return kind === 'content-type' || kind === 'date' || kind === 'authenticate'
}

let dateS = 0
let date = ''

/** The time, made anew each second. */
function dateLine(): string {
  const nowS = Math.floor(Date.now() / 1_000)
  if (nowS !== dateS) {
    dateS = nowS
    date = `Date: ${new Date(nowS * 1_000).toUTCString()}\r\n`
  }
  return date
}
