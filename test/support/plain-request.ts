import type { UpstreamRequest } from '../../src/edge/upstream-request.ts'

/** A POST without a body, on its way to an upstream over HTTP/1.1. */
export const PLAIN: UpstreamRequest = {
  method: 'POST',
  target: '/',
  authority: 'shop.customer.com',
  fields: { list: [], addTo: (unsent) => unsent.addText(' HTTP/1.1\r\nHost: shop.customer.com\r\n') },
  body: undefined,
  expectsContinue: false,
  upgrade: undefined,
  said: { acceptsTrailers: false, authenticatesConnection: false },
}
