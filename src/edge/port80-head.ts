import type { IncomingMessage } from 'node:http'
import { isFieldValue, isTarget, isToken } from './fields.ts'
import { REQUEST_FIELDS_MAX } from './request-limits.ts'
import { authorityIn, readTarget } from './request-target.ts'

/** A request's head on port 80, as far as the edge answers by it. */
export type PlainHead = { kind: 'head'; target: string; authority: string } | { kind: 'refused'; status: number }

/**
 * What a request is for, or why it is not served. llhttp in its strict mode has refused already what is no HTTP; this closes what it
 * still lets pass: a second Host, other transfer codings than chunked, foreign versions, fragments, and a Host that contradicts the target.
 */
export function readPlainHead(request: IncomingMessage): PlainHead {
  const { rawHeaders, httpVersion, method = '', url = '' } = request
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return refused(505)
  if (rawHeaders.length / 2 > REQUEST_FIELDS_MAX) return refused(431)
  let host: string | undefined
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!
    if (!isToken(name) || !isFieldValue(rawHeaders[i + 1]!)) return refused(400)
    if (name.length === 4 && name.toLowerCase() === 'host') {
      if (host !== undefined) return refused(400)
      host = rawHeaders[i + 1]!
    }
  }
  const coding = request.headers['transfer-encoding']
  if (coding !== undefined && httpVersion === '1.0') return refused(400) // RFC 9112 §6.1: such framing is faulty
  if (coding !== undefined && coding.toLowerCase() !== 'chunked') return refused(501)
  if (host === undefined && httpVersion === '1.1') return refused(400)
  const authority = host ?? authorityIn(url)
  const target = isTarget(url) ? readTarget(method, url, authority) : undefined
  return target === undefined ? refused(400) : { kind: 'head', target, authority }
}

function refused(status: number): PlainHead {
  return { kind: 'refused', status }
}
