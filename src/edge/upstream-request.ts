import type { Fields, RequestBody } from './engine.ts'
import type { ReadyHead } from './forwarded-request.ts'
import type { Unsent } from './unsent.ts'

/** The end-to-end fields of a request, as lines and as a list. `ready`: the head of HTTP/1.1 around its `id`, where others were like it. */
export type UpstreamFields = { readonly lines: string; readonly list: Fields; readonly id?: string; readonly ready?: ReadyHead | undefined }

/** A request as an upstream gets it, whatever the protocol. */
export type UpstreamRequest = {
  method: string
  target: string
  authority: string
  /** The end-to-end ones; Host, framing and what concerns the connection are not among them. */
  fields: UpstreamFields
  body: RequestBody | undefined
  expectsContinue: boolean
  /** The protocols that the visitor asks to change to. */
  upgrade: string | undefined
  acceptsTrailers: boolean
}

const METHODS_WITH_BODY = new Set(['POST', 'PUT', 'PATCH'])

/** Adds the whole head as it goes on the wire of HTTP/1.1. */
export function addRequestHead(unsent: Unsent, request: UpstreamRequest): void {
  const { method, target, authority, fields } = request
  const { ready } = fields
  const further = `${framingLines(request)}${connectionLines(request)}\r\n`
  if (!ready) {
    unsent.addText(`${method} ${target} HTTP/1.1\r\nHost: ${authority}\r\n${fields.lines}${further}`)
    return
  }
  const { bytes, idAt } = ready
  unsent.gather()
  unsent.addText(method)
  unsent.addText(' ')
  unsent.addText(target)
  unsent.addBytes(bytes, 0, idAt)
  unsent.addText(fields.id!)
  unsent.addBytes(bytes, idAt, bytes.length)
  unsent.addText(further)
}

function framingLines({ method, body, expectsContinue }: UpstreamRequest): string {
  if (!body) return METHODS_WITH_BODY.has(method) ? 'Content-Length: 0\r\n' : ''
  const framing = body.length === undefined ? 'Transfer-Encoding: chunked\r\n' : `Content-Length: ${body.length}\r\n`
  return expectsContinue ? `${framing}Expect: 100-continue\r\n` : framing
}

function connectionLines({ upgrade, acceptsTrailers }: UpstreamRequest): string {
  if (upgrade !== undefined) return `Connection: Upgrade\r\nUpgrade: ${upgrade}\r\n`
  return acceptsTrailers ? 'Connection: TE\r\nTE: trailers\r\n' : ''
}
