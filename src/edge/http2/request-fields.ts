import type { Fields } from '../engine.ts'
import { CONNECTION_FIELDS, type Http2Head, readHttp2Head } from '../http2-head.ts'
import type { DecodedHead } from './hpack-decoder.ts'

const PSEUDO_FIELDS = [':method', ':scheme', ':path', ':authority']
const REQUIRED = 0b0111 // the authority can be said by Host too

/** What a request is for, or why it is not served; undefined when it is malformed (RFC 9113 §8.1.1). */
export function readRequest({ fields, isProper, isTooLarge }: DecodedHead, endsStream: boolean): Http2Head | undefined {
  if (isTooLarge) return { kind: 'refused', status: 431, method: fields[fields.indexOf(':method') + 1] ?? '' }
  if (!isProper || !isWellFormedRequest(fields)) return undefined
  const head = readHttp2Head(fields)
  return head.kind === 'head' && endsStream && (head.length ?? 0) > 0 ? undefined : head
}

/**
 * Whether a request's pseudo fields come first, once each, and none is missing (RFC 9113 §8.3.1), and no field belongs to a connection of
 * HTTP/1.1 (§8.2.2). `:protocol` is not offered (RFC 8441), so it is like any unknown one.
 */
function isWellFormedRequest(fields: Fields): boolean {
  let seen = 0
  let isConnect = false
  let i = 0
  for (; i < fields.length && fields[i]!.startsWith(':'); i += 2) {
    const place = PSEUDO_FIELDS.indexOf(fields[i]!)
    if (place < 0 || seen & (1 << place) || fields[i + 1]! === '') return false
    seen |= 1 << place
    if (place === 0) isConnect = fields[i + 1] === 'CONNECT'
  }
  if ((seen & REQUIRED) !== REQUIRED && !isConnect) return false
  return areEndToEnd(fields, i)
}

/** Whether trailers are such as may follow a body: no pseudo fields, none of a connection. */
export function areWellFormedTrailers(fields: Fields): boolean {
  return areEndToEnd(fields, 0)
}

function areEndToEnd(fields: Fields, from: number): boolean {
  for (let i = from; i < fields.length; i += 2) {
    const name = fields[i]!
    if (name.startsWith(':') || CONNECTION_FIELDS.has(name)) return false
    if (name === 'te' && fields[i + 1]!.toLowerCase() !== 'trailers') return false
  }
  return true
}
