import type { Fields, RequestBody } from './engine.ts'

/** A request as an upstream gets it, whatever the protocol. */
export type UpstreamRequest = {
  method: string
  target: string
  authority: string
  /** The end-to-end ones; Host, framing and what concerns the connection are not among them. */
  fields: { readonly list: Fields }
  body: RequestBody | undefined
  expectsContinue: boolean
  /** The protocols that the visitor asks to change to. */
  upgrade: string | undefined
  acceptsTrailers: boolean
}
