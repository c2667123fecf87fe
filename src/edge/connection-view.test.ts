import { expect, test } from 'vitest'
import { heapBytes } from '../../test/support/heap.ts'
import { createAddressSet } from '../lib/addresses.ts'
import { createConnectionViews } from './connection-view.ts'
import { RequestFields } from './forwarded-request.ts'
import { REMEMBERED_BYTES_MAX } from './kept-bytes.ts'

test('a connection that rests does not hold a long head of its last request', () => {
  const [connections, headBytes] = [200, 8 * REMEMBERED_BYTES_MAX]
  const viewOf = createConnectionViews(createAddressSet([]), () => undefined)
  const before = heapBytes()
  const views = Array.from({ length: connections }, (_, i) => {
    const view = viewOf({ peer: '192.0.2.1', servername: undefined } as never)
    const fields = new RequestFields()
    fields.passing = Buffer.alloc(headBytes, String.fromCharCode(97 + (i % 26))).toString('latin1')
    view.forwardedFields(fields, 'shop.customer.com', 'id')
    return view
  })
  expect(heapBytes() - before).toBeLessThan((connections * headBytes) / 4)
  expect(views).toHaveLength(connections)
})

test('a proxy that is trusted has no share, not even that of a visitor in the same network', () => {
  const load = { connections: 1, exchanges: 0, waiting: 0, held: 0 }
  const viewOf = createConnectionViews(createAddressSet(['2001:db8:1:2::1']), () => load)
  expect(viewOf({ peer: '2001:db8:1:2::1', servername: undefined } as never).load).toBe(undefined)
  expect(viewOf({ peer: '2001:db8:1:2::99', servername: undefined } as never).load).toBe(load)
})
