import { type Http2Head, type LastHttp2Head, readHttp2Head, tooLargeHead } from '../http2-head.ts'
import type { HeaderField } from './header-field.ts'
import type { DecodedHead } from './hpack-decoder.ts'

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
