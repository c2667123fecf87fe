import type { Fields } from './engine.ts'
import { valuesOf } from './fields.ts'

/** Of gRPC itself; its kind for browsers, `application/grpc-web`, says in its body what trailers say here. */
const CONTENT_TYPE = /^application\/grpc(?:[+;\t ]|$)/i

/** Trailers of a call that its server did not complete: its client asks anew, or elsewhere. A stream that is reset is INTERNAL to it. */
export const UNAVAILABLE: Fields = ['grpc-status', '14', 'grpc-message', 'the application ended the stream before the call was complete']

/** Whether a request with these fields is a call of gRPC. */
export function isGrpc(fields: Fields): boolean {
  return valuesOf(fields, 'content-type').some((type) => CONTENT_TYPE.test(type))
}
