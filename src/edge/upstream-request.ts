import type { RequestBody } from './engine.ts'
import type { ForwardedFields } from './forwarded-lines.ts'
import type { RequestFields } from './forwarded-request.ts'
import type { Unsent } from './unsent.ts'

/** A request as an upstream gets it, whatever the protocol. */
export type UpstreamRequest = {
  method: string
  target: string
  authority: string
  /** The end-to-end ones; Host, framing and what concerns the connection are not among them. */
  fields: Pick<ForwardedFields, 'list' | 'addTo'>
  body: RequestBody | undefined
  expectsContinue: boolean
  /** The protocols that the visitor asks to change to. */
  upgrade: string | undefined
  /** What the visitor's fields mean for the way. */
  said: Pick<RequestFields, 'acceptsTrailers' | 'authenticatesConnection'>
}

/** Those that expect a body: without one it is said that there is none (RFC 9110 §8.6). */
const METHODS_WITH_BODY = new Set(['POST', 'PUT', 'PATCH'])

/** Adds the whole head as it goes on the wire of HTTP/1.1. */
export function addRequestHead(unsent: Unsent, request: UpstreamRequest): void {
  unsent.gather()
  unsent.addText(request.method)
  unsent.addText(' ')
  unsent.addText(request.target)
  request.fields.addTo(unsent)
  unsent.addText(`${framingLines(request)}${connectionLines(request)}\r\n`)
}

function framingLines({ method, body, expectsContinue }: UpstreamRequest): string {
  if (!body) return METHODS_WITH_BODY.has(method) ? 'Content-Length: 0\r\n' : ''
  const framing = body.length === undefined ? 'Transfer-Encoding: chunked\r\n' : `Content-Length: ${body.length}\r\n`
  return expectsContinue ? `${framing}Expect: 100-continue\r\n` : framing
}

function connectionLines({ upgrade, said }: UpstreamRequest): string {
  if (upgrade !== undefined) return `Connection: Upgrade\r\nUpgrade: ${upgrade}\r\n`
  return said.acceptsTrailers ? 'Connection: TE\r\nTE: trailers\r\n' : ''
}
