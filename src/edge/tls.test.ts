import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { startTestEdge } from '../../test/support/edge.ts'
import { recordClientHello } from '../../test/support/visitor.ts'

test('that a visitor has left is told to who waits for a certificate, and to who begins to wait afterwards', async () => {
  const looking = Promise.withResolvers<void>()
  const told: string[] = []
  const edge = await startTestEdge({
    async certificateFor(_hostname, client) {
      const left = new Promise<void>((resolve) => client.onceGone(resolve))
      looking.resolve()
      await left
      told.push('who waited')
      client.onceGone(() => told.push('who came later'))
      return { kind: 'refused', reason: 'it is gone' }
    },
  })
  const visitor = connect(edge.httpsPort, '127.0.0.1')
  visitor.write(await recordClientHello('shop.customer.com'))
  await looking.promise
  visitor.destroy()
  await expect.poll(() => told).toEqual(['who waited', 'who came later'])
  await edge.stop(0)
})
