import type { Exchange, Fields } from './engine.ts'
import { membersOf } from './fields.ts'

export type ForwardedFacts = {
  requestId: string
  /** Whether the peer is one of the trusted proxies, whose word on the visitor's address counts. */
  isTrusted: boolean
}

/** Of this hop alone, or said anew by us: framing, connection management, expectation. */
const HOP_FIELDS = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
  'expect',
  'content-length',
  'host',
])

/** Replaced by us always. */
const OUR_FIELDS = new Set(['x-forwarded-for', 'x-forwarded-proto', 'x-forwarded-host', 'x-request-id', 'cdn-loop'])

/** Further fields by which an application learns who the visitor is: only a trusted proxy may send them. */
const TRUSTED_FIELDS = new Set(['x-real-ip', 'x-forwarded-port', 'forwarded'])

/** Never in a trailer (RFC 9110 §6.5.1): framing, routing, and all that an application believes because the edge vouches for it. */
const NOT_IN_TRAILERS = new Set([
  ...HOP_FIELDS,
  ...OUR_FIELDS,
  ...TRUSTED_FIELDS,
  'trailer',
  'authorization',
  'cookie',
  'set-cookie',
  'content-type',
  'content-encoding',
  'content-range',
  'alt-svc',
])

const EDGE_NAME = 'namesake'
const METHODS_WITH_BODY = new Set(['POST', 'PUT', 'PATCH'])

/** Whether the request was here before (RFC 8586). */
export function hasLooped(fields: Fields): boolean {
  return membersOf(fields, 'cdn-loop').some((member) => member.split(';')[0]!.trim() === EDGE_NAME)
}

/**
 * The head of the request as the upstream gets it: the visitor's Host as sent and its end-to-end fields, then what only we can know.
 * An untrusted visitor's own words on addresses are left out, and so is any field that an application could mistake for one, such as
 * `X_Forwarded_For`.
 */
export function requestHead(exchange: Exchange, facts: ForwardedFacts): string {
  const { fields, connection, body } = exchange
  const named = namedInConnection(fields)
  let head = `${exchange.method} ${exchange.target} HTTP/1.1\r\nHost: ${exchange.authority}\r\n`
  let forwardedFor = ''
  let cdnLoop = ''
  let givenId: string | undefined
  for (let i = 0; i < fields.length; i += 2) {
    const name = fields[i]!
    const lower = name.toLowerCase()
    if (lower === 'x-forwarded-for') forwardedFor = join(forwardedFor, fields[i + 1]!)
    else if (lower === 'cdn-loop') cdnLoop = join(cdnLoop, fields[i + 1]!)
    else if (lower === 'x-request-id') givenId = fields[i + 1]!
    else if (passes(lower, facts.isTrusted) && !named?.has(lower)) head += `${name}: ${fields[i + 1]!}\r\n`
  }
  const requestId = facts.isTrusted && givenId && /^[\w.-]{1,128}$/.test(givenId) ? givenId : facts.requestId
  head += `X-Forwarded-For: ${facts.isTrusted ? join(forwardedFor, connection.peer) : connection.peer}\r\n`
  head += `X-Forwarded-Proto: https\r\nX-Forwarded-Host: ${exchange.authority}\r\n`
  head += `X-Request-Id: ${requestId}\r\nCDN-Loop: ${join(cdnLoop, EDGE_NAME)}\r\n`
  if (body) head += body.length === undefined ? 'Transfer-Encoding: chunked\r\n' : `Content-Length: ${body.length}\r\n`
  else if (METHODS_WITH_BODY.has(exchange.method)) head += 'Content-Length: 0\r\n'
  if (body && exchange.expectsContinue) head += 'Expect: 100-continue\r\n'
  if (exchange.upgrade) head += `Connection: Upgrade\r\nUpgrade: ${exchange.upgrade}\r\n`
  else if (membersOf(fields, 'te').includes('trailers')) head += 'Connection: TE\r\nTE: trailers\r\n'
  return `${head}\r\n`
}

/**
 * An upstream's fields as the visitor gets them: end-to-end ones only, and no `Alt-Svc`, which would lead visitors past the edge. `Trailer`
 * stays only where trailers can follow.
 */
export function answerFields(fields: Fields, { keepLength, keepTrailer }: { keepLength: boolean; keepTrailer: boolean }): string[] {
  const named = namedInConnection(fields)
  const kept: string[] = []
  for (let i = 0; i < fields.length; i += 2) {
    const lower = fields[i]!.toLowerCase()
    if (lower === 'trailer' && !keepTrailer) continue
    if (lower === 'content-length' ? !keepLength : HOP_FIELDS.has(lower) || lower === 'alt-svc' || named?.has(lower)) continue
    kept.push(fields[i]!, fields[i + 1]!)
  }
  return kept
}

/** A 101's fields: as they are, with the change of protocol itself. */
export function upgradeFields(fields: Fields): string[] {
  const upgrade = membersOf(fields, 'upgrade').join(', ')
  return [...answerFields(fields, { keepLength: false, keepTrailer: false }), 'Connection', 'Upgrade', 'Upgrade', upgrade]
}

export function trailersToForward(trailers: Fields): string[] {
  const kept: string[] = []
  for (let i = 0; i < trailers.length; i += 2) {
    if (!NOT_IN_TRAILERS.has(trailers[i]!.toLowerCase().replaceAll('_', '-'))) kept.push(trailers[i]!, trailers[i + 1]!)
  }
  return kept
}

function passes(lower: string, isTrusted: boolean): boolean {
  if (HOP_FIELDS.has(lower) || OUR_FIELDS.has(lower)) return false
  if (TRUSTED_FIELDS.has(lower)) return isTrusted
  if (!lower.includes('_')) return true
  const lookedAt = lower.replaceAll('_', '-')
  return !HOP_FIELDS.has(lookedAt) && !OUR_FIELDS.has(lookedAt) && !TRUSTED_FIELDS.has(lookedAt)
}

/** The fields that Connection declares to be of this hop (RFC 9110 §7.6.1); seldom any, so mostly undefined. */
function namedInConnection(fields: Fields): Set<string> | undefined {
  const members = membersOf(fields, 'connection').filter((member) => member !== 'close' && member !== 'keep-alive')
  return members.length > 0 ? new Set(members) : undefined
}

function join(list: string, member: string): string {
  return list === '' ? member : `${list}, ${member}`
}
