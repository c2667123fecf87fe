import { STATUS_CODES } from 'node:http'
import type { InterimHead, ParsedHead } from './answer-parser.ts'
import type { Fields } from './engine.ts'
import { isLength } from './fields.ts'
import { sortAnswerFields } from './forwarded-answer.ts'
import { CONNECTION_FIELDS, type HeaderField, listOf } from './http2/header-field.ts'
import type { DecodedHead } from './http2/hpack-decoder.ts'
import { UpstreamFailure } from './upstream.ts'
import type { UpstreamRequest } from './upstream-request.ts'

const STATUS = /^[1-9]\d\d$/

/** A request's fields as HTTP/2 says them, pseudo fields first (RFC 9113 §8.3.1). Of `TE` only `trailers` has a meaning there. */
export function requestFields(request: UpstreamRequest, isTls: boolean): Fields {
  const { method, target, authority, fields, body } = request
  const scheme = isTls ? 'https' : 'http'
  const said = [':method', method, ':scheme', scheme, ':authority', authority, ':path', target, ...fields.list]
  if (body?.length !== undefined) said.push('content-length', String(body.length))
  if (body && request.expectsContinue) said.push('expect', '100-continue')
  if (request.said.acceptsTrailers) said.push('te', 'trailers')
  return said
}

export type AnswerStart = { kind: 'interim'; head: InterimHead } | { kind: 'head'; head: ParsedHead }

/**
 * The head of an answer (RFC 9113 §8.3.2), from which its body's length follows. Throws UpstreamFailure `malformed` for what could not be
 * said in HTTP/1.1 without a second meaning.
 */
export function readAnswerStart(decoded: DecodedHead, { method, endsStream }: { method: string; endsStream: boolean }): AnswerStart {
  if (decoded.isTooLarge) throw malformed('the head is too large')
  const [first, ...rest] = decoded.fields
  if (!decoded.isProper || first?.name !== ':status' || !STATUS.test(first.value)) throw malformed('the head')
  requireEndToEnd(rest)
  const status = Number(first.value)
  if (status < 200) {
    if (endsStream || status === 101) throw malformed('an interim answer that cannot be one')
    return { kind: 'interim', head: { status, reason: STATUS_CODES[status] ?? '', fields: sortAnswerFields(listOf(rest)) } }
  }
  const isBodiless = method === 'HEAD' || status === 204 || status === 304
  const sorted = sortAnswerFields(listOf(rest))
  if (sorted.lengths > 1 || (sorted.lengths === 1 && !isLength(sorted.length))) throw malformed('content-length')
  const length = sorted.lengths === 1 ? Number(sorted.length) : undefined
  if (endsStream && !isBodiless && (length ?? 0) > 0) throw malformed('a body that is shorter than announced')
  const body = isBodiless ? 'none' : endsStream ? 0 : (length ?? 'unknown')
  const mayHaveTrailers = !endsStream && !isBodiless
  return { kind: 'head', head: { status, reason: STATUS_CODES[status] ?? '', fields: sorted, body, mayHaveTrailers, keepsAlive: true } }
}

/** The fields behind a body. Throws UpstreamFailure `malformed`. */
export function readTrailers(decoded: DecodedHead, endsStream: boolean): Fields {
  if (!endsStream || !decoded.isProper || decoded.isTooLarge) throw malformed('the trailers')
  requireEndToEnd(decoded.fields)
  return listOf(decoded.fields)
}

export function malformed(what: string): UpstreamFailure {
  return new UpstreamFailure('malformed', `the upstream's answer is not proper HTTP/2: ${what}`)
}

function requireEndToEnd(fields: readonly HeaderField[]): void {
  for (const { name } of fields) {
    if (name.startsWith(':') || CONNECTION_FIELDS.has(name)) throw malformed(`the field ${name}`)
  }
}
