import type { Fields } from './engine.ts'
import { isFieldValue, isLength, isTarget, isToken } from './fields.ts'
import { type RequestFields, sortRequestFields } from './forwarded-request.ts'
import { REQUEST_FIELDS_MAX } from './request-limits.ts'
import { readTarget } from './request-target.ts'

export type Http2Head =
  | {
      kind: 'head'
      method: string
      target: string
      authority: string
      fields: RequestFields
      length: number | undefined
      expectsContinue: boolean
    }
  | { kind: 'refused'; status: number; method: string }

/** Of an HTTP/1.1 connection; in HTTP/2 a sign that somebody tries to smuggle (RFC 9113 §8.2.2). */
export const CONNECTION_FIELDS = new Set(['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade'])

/**
 * What a request is for, or why it is not served. nghttp2 has checked the order and number of pseudo fields; this checks that everything
 * can be said in HTTP/1.1 without a second meaning, joins cookie crumbs, and refuses a Host that contradicts :authority.
 */
export function readHttp2Head(raw: Fields): Http2Head {
  const pseudo = new Map<string, string>()
  const fields: string[] = []
  const cookies: string[] = []
  let host: string | undefined
  let length: number | undefined
  let expectsContinue = false
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i]!
    const value = raw[i + 1]!
    if (!isFieldValue(value)) return refused(400, pseudo)
    if (name.startsWith(':')) pseudo.set(name, value)
    else if (!isToken(name) || CONNECTION_FIELDS.has(name)) return refused(400, pseudo)
    else if (name === 'cookie') cookies.push(value)
    else if (name === 'host') {
      if (host !== undefined) return refused(400, pseudo)
      host = value
    } else if (name === 'content-length') {
      if (length !== undefined || !isLength(value)) return refused(400, pseudo)
      length = Number(value)
    } else {
      if (name === 'expect') expectsContinue = value.toLowerCase() === '100-continue'
      fields.push(name, value)
    }
  }
  const method = pseudo.get(':method') ?? ''
  const authority = pseudo.get(':authority') ?? host ?? ''
  if (fields.length / 2 > REQUEST_FIELDS_MAX) return refused(431, pseudo)
  if (host !== undefined && host.toLowerCase() !== authority.toLowerCase()) return refused(400, pseudo)
  if (!isToken(method) || authority === '' || pseudo.has(':protocol')) return refused(400, pseudo)
  if (cookies.length > 0) fields.push('cookie', cookies.join('; ')) // RFC 9113 §8.2.3
  const path = pseudo.get(':path') ?? ''
  const target = isTarget(path) ? readTarget(method, path, authority) : undefined
  if (target === undefined) return refused(400, pseudo)
  return { kind: 'head', method, target, authority, fields: sortRequestFields(fields), length, expectsContinue }
}

function refused(status: number, pseudo: Map<string, string>): Http2Head {
  return { kind: 'refused', status, method: pseudo.get(':method') ?? '' }
}
