import { isAuthority } from '../../lib/authority.ts'
import { isLength, isTarget, isToken } from '../fields.ts'
import { RequestFields } from '../forwarded-request.ts'
import { isSameAuthority } from '../host.ts'
import { REMEMBERED_BYTES_MAX } from '../kept-bytes.ts'
import { REQUEST_FIELDS_MAX, REQUEST_TARGET_BYTES_MAX } from '../request-limits.ts'
import type { HeaderField } from './header-field.ts'
import type { DecodedHead } from './hpack-decoder.ts'

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
  /** The target is empty where there is none that could be served. */
  | { kind: 'refused'; status: number; method: string; target: string }

/** What a request is for, or why it is not served; undefined when it is malformed (RFC 9113 §8.1.1). `last` belongs to the connection. */
export function readRequest(
  { fields, isProper, isTooLarge }: DecodedHead,
  endsStream: boolean,
  last: LastHttp2Head,
): Http2Head | undefined {
  if (isTooLarge) return tooLargeHead(fields)
  if (!isProper) return undefined
  const head = last.again(fields) ?? readHttp2Head(fields)
  last.remember(fields, head)
  return head?.kind === 'head' && endsStream && (head.length ?? 0) > 0 ? undefined : head
}

/** Whether trailers are such as may follow a body: no pseudo fields, none of a connection. */
export function areWellFormedTrailers(fields: readonly HeaderField[]): boolean {
  return fields.every(({ name, role }) => role !== 'never' && !name.startsWith(':'))
}

/**
 * What a request with proper fields is for, or why it is not served; undefined when it is malformed: its pseudo fields come first, once each,
 * and none is missing (RFC 9113 §8.3.1), and no field belongs to a connection of HTTP/1.1 (§8.2.2). Refused is what could not be said in
 * HTTP/1.1 without a second meaning, and a Host that contradicts :authority. Cookie crumbs are joined (§8.2.3).
 */
export function readHttp2Head(fields: readonly HeaderField[]): Http2Head | undefined {
  const sorted = new RequestFields()
  let method: string | undefined
  let scheme: string | undefined
  let path: string | undefined
  let named: string | undefined
  let host: string | undefined
  let length: string | undefined
  let cookies: string | undefined
  let expectsContinue = false
  let expectsElse = false
  let isTwofold = false
  let others = 0
  for (let i = 0; i < fields.length; i += 1) {
    const field = fields[i]!
    const { role, value } = field
    switch (role) {
      case 'authorization':
        sorted.note(role, value)
        sorted.passing += field.line
        others += 1
        break
      case 'pass':
        sorted.passing += field.line
        others += 1
        break
      case ':method':
        if (method !== undefined || isBehind(fields, i)) return undefined
        method = value
        break
      case ':scheme':
        if (scheme !== undefined || isBehind(fields, i)) return undefined
        scheme = value
        break
      case ':path':
        if (path !== undefined || isBehind(fields, i)) return undefined
        path = value
        break
      case ':authority':
        if (named !== undefined || isBehind(fields, i)) return undefined
        named = value
        break
      case 'never':
        return undefined
      case 'cookie':
        cookies = cookies === undefined ? value : `${cookies}; ${value}`
        break
      case 'host':
        isTwofold ||= host !== undefined
        host = value
        break
      case 'length':
        isTwofold ||= length !== undefined || !isLength(value)
        length = value
        break
      case 'vouched':
        sorted.vouched += field.line
        others += 1
        break
      case 'expect':
        expectsContinue = value.toLowerCase() === '100-continue'
        expectsElse ||= !expectsContinue
        others += 1
        break
      case 'left-out':
        others += 1
        break
      default:
        sorted.note(role, value)
        others += 1
    }
  }
  if (method === 'CONNECT') return refusedHead(405, method, named ?? '')
  if (method === undefined || scheme === undefined || path === undefined) return undefined
  const authority = named ?? host ?? ''
  const refused = (status: number): Http2Head => refusedHead(status, method, path)
  if (isTwofold) return refused(400)
  if (others > REQUEST_FIELDS_MAX) return refused(431)
  if (host !== undefined && host !== authority && !isSameAuthority(host, authority, scheme)) return refused(400)
  if (!isToken(method) || authority === '') return refused(400)
  if (path.length > REQUEST_TARGET_BYTES_MAX) return refused(414)
  if (!isPath(path, method)) return refused(400)
  if (expectsElse) return refused(417)
  if (cookies !== undefined) sorted.passing += `cookie: ${cookies}\r\n`
  return {
    kind: 'head',
    method,
    target: path,
    authority,
    fields: sorted,
    length: length === undefined ? undefined : Number(length),
    expectsContinue,
  }
}

export function refusedHead(status: number, method: string, target: string): Http2Head {
  const isShown = method === 'CONNECT' ? isAuthority(target) : isPath(target, method)
  return { kind: 'refused', status, method, target: isShown ? target : '' }
}

/** Refused for its size, of which these fields could be read. */
export function tooLargeHead(fields: readonly HeaderField[]): Http2Head {
  const valueIn = (wanted: string) => fields.find(({ name }) => name === wanted)?.value ?? ''
  return refusedHead(431, valueIn(':method'), valueIn(':path'))
}

/** Whether the text, one character a byte, is a path with or without a query, or `*` with OPTIONS (RFC 9113 §8.3.1): an absolute form it is never. */
function isPath(text: string, method: string): boolean {
  return isTarget(text) && (text.startsWith('/') || (text === '*' && method === 'OPTIONS'))
}

/** Whether a pseudo field stands behind one that is none. */
function isBehind(fields: readonly HeaderField[], i: number): boolean {
  return i > 0 && !fields[i - 1]!.name.startsWith(':')
}

const NONE: readonly HeaderField[] = []

/** The last head of a connection. Whoever repeats itself refers to the same entries of its table, which need not be sorted again. */
export class LastHttp2Head {
  #fields = NONE
  #head: (Http2Head & { kind: 'head' }) | undefined

  /** What these fields say when they are those of the last head, but for the target; undefined when they are not. */
  again(fields: readonly HeaderField[]): Http2Head | undefined {
    const head = this.#head
    const last = this.#fields
    if (fields === last) return head
    if (!head || fields.length !== last.length) return undefined
    let { target } = head
    for (let i = 0; i < fields.length; i += 1) {
      if (fields[i] === last[i]) continue
      const { role, value } = fields[i]!
      if (role !== ':path' || last[i]!.role !== ':path' || value.length > REQUEST_TARGET_BYTES_MAX || !isPath(value, head.method))
        return undefined
      target = value
    }
    return target === head.target ? head : { ...head, target }
  }

  remember(fields: readonly HeaderField[], head: Http2Head | undefined): void {
    const isKept = head?.kind === 'head' && head.fields.passing.length + head.fields.vouched.length <= REMEMBERED_BYTES_MAX
    this.#fields = isKept ? fields : NONE
    this.#head = isKept ? head : undefined
  }
}
