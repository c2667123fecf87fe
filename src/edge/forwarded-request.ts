import type { Fields } from './engine.ts'
import { membersOf, namedInConnection } from './fields.ts'
import { ForwardedLines } from './forwarded-lines.ts'
import { NameTable } from './name-table.ts'

/**
 * What becomes of a request's field on its way to the upstream. Most pass. `hop`: of this hop alone, or said anew by us. `ours`: replaced by us
 * always. `vouched`: further ones by which an application learns who the visitor is; only a trusted proxy may send them. `authorization` passes, and is
 * looked at.
 */
export type RequestKind =
  | 'pass'
  | 'authorization'
  | 'hop'
  | 'ours'
  | 'vouched'
  | ControlKind
  | 'te'
  | 'forwarded-for'
  | 'cdn-loop'
  | 'request-id'
/** What decides how an HTTP/1.1 request is read. */
export type ControlKind = 'host' | 'length' | 'coding' | 'connection' | 'expect' | 'upgrade'

/** What other proxies say of the visitor, or of what was asked for, and frameworks believe. */
const VOUCHED_BY_PROXIES = [
  ...['x-forwarded-ssl', 'x-forwarded-scheme', 'x-forwarded-server', 'x-forwarded-prefix', 'x-url-scheme', 'front-end-https'],
  ...['client-ip', 'x-client-ip', 'x-cluster-client-ip', 'true-client-ip', 'x-original-url', 'x-rewrite-url'],
]

export const REQUEST_NAMES = new NameTable<RequestKind>(
  [
    ['host', 'host'],
    ['content-length', 'length'],
    ['transfer-encoding', 'coding'],
    ['connection', 'connection'],
    ['expect', 'expect'],
    ['upgrade', 'upgrade'],
    ['te', 'te'],
    ['authorization', 'authorization'],
    ['keep-alive', 'hop'],
    ['proxy-connection', 'hop'],
    ['proxy-authenticate', 'hop'],
    ['proxy-authorization', 'hop'],
    ['http2-settings', 'hop'],
    ['x-forwarded-for', 'forwarded-for'],
    ['cdn-loop', 'cdn-loop'],
    ['x-request-id', 'request-id'],
    ['x-forwarded-proto', 'ours'],
    ['x-forwarded-host', 'ours'],
    ['x-real-ip', 'vouched'],
    ['x-forwarded-port', 'vouched'],
    ['forwarded', 'vouched'],
    ...VOUCHED_BY_PROXIES.map((name) => [name, 'vouched'] as const),
    ['proxy', 'hop'], // CGI makes HTTP_PROXY of it, and programs a proxy of that
  ],
  'pass',
)

const EDGE_NAME = 'namesake'
/** Our name among the members of CDN-Loop. By one pattern: HPACK can say thousands of members in forty bytes, again and again. */
const LOOPED = new RegExp(`(?:^|,)[\\t ]*${EDGE_NAME}[\\t ]*(?:[;,]|$)`, 'i')
/** Schemes that say who the visitor is to a whole connection (RFC 4559 §6; RFC 9110 §3.3 forbids it, and they do). */
const OF_THE_CONNECTION = /^(?:NTLM|Negotiate)(?![\w-])/i
const GIVEN_ID = /^[\w.-]{1,128}$/

/** A request's fields, sorted by what becomes of them. */
export class RequestFields {
  /** The end-to-end lines that go on whoever sent them. */
  passing = ''
  /** The lines that go on from a trusted proxy only. */
  vouched = ''
  forwardedFor = ''
  cdnLoop = ''
  /** What whoever sent the request calls it. */
  requestId: string | undefined
  acceptsTrailers = false
  /** Whoever uses the upstream connection after this request may be taken for its visitor. */
  authenticatesConnection = false

  /** Keeps the value of what we say anew with it, or what it says of the connection. */
  note(kind: RequestKind, value: string): void {
    if (kind === 'forwarded-for') this.forwardedFor = join(this.forwardedFor, value)
    else if (kind === 'cdn-loop') this.cdnLoop = join(this.cdnLoop, value)
    else if (kind === 'request-id') this.requestId = GIVEN_ID.test(value) ? value : undefined
    else if (kind === 'te') this.acceptsTrailers ||= membersOf(value).includes('trailers')
    else if (kind === 'authorization') this.authenticatesConnection ||= OF_THE_CONNECTION.test(value)
  }

  /** What the visitor would like to get, read from the lines: nobody asks but for a page of our own. */
  get accept(): string {
    return Array.from(this.passing.matchAll(/^accept:([^\r\n]*)/gim), ([, value]) => value!).join(',')
  }

  /** Whether the request was here before (RFC 8586). */
  get hasLooped(): boolean {
    return this.cdnLoop !== '' && LOOPED.test(this.cdnLoop)
  }
}

/** Sorts a request's fields, names and values in turn. A field that an application could mistake for one of ours, such as `X_Forwarded_For`, is left out. */
export function sortRequestFields(list: Fields): RequestFields {
  const fields = new RequestFields()
  const named = namedInConnection(list)
  for (let i = 0; i < list.length; i += 2) {
    const lower = list[i]!.toLowerCase()
    const kind = REQUEST_NAMES.kindOf(lower)
    if (kind !== 'pass' && kind !== 'vouched') fields.note(kind, list[i + 1]!)
    if (!passesAs(kind) || named?.has(lower) || isDisguised(lower)) continue
    if (kind !== 'vouched') fields.passing += `${list[i]!}: ${list[i + 1]!}\r\n`
    else fields.vouched += `${list[i]!}: ${list[i + 1]!}\r\n`
  }
  return fields
}

/** Whether the field goes on when nothing else is said of it. */
export function passesOn(lower: string): boolean {
  return passesAs(REQUEST_NAMES.kindOf(lower))
}

function passesAs(kind: RequestKind): boolean {
  return kind === 'pass' || kind === 'vouched' || kind === 'authorization'
}

/** Who connected. `isTrusted`: it is one of the proxies whose word on the visitor counts. */
export type ForwardedFor = { peer: string; isTrusted: boolean }

/** The visitor's own lines without its words on addresses, then what only we can know. */
export function forwardedLines(fields: RequestFields, { peer, isTrusted }: ForwardedFor): ForwardedLines {
  const { passing, vouched, forwardedFor, cdnLoop } = fields
  const said = isTrusted ? passing + vouched : passing
  const chain = isTrusted ? join(forwardedFor, peer) : peer
  return new ForwardedLines({ said, chain, loop: join(cdnLoop, EDGE_NAME) })
}

/** Whether an application could take the field for one of those that mean something to us. */
export function isDisguised(lower: string): boolean {
  return lower.includes('_') && REQUEST_NAMES.kindOf(lower.replaceAll('_', '-')) !== 'pass'
}

function join(list: string, member: string): string {
  return list === '' ? member : `${list}, ${member}`
}
