import { expect, test } from 'vitest'
import { freePort } from '../../test/support/ports.ts'
import { parseHostname } from '../hostname.ts'
import type { Log } from '../log.ts'
import { createLiveVisits } from './live-visits.ts'

const hostname = parseHostname('shop.customer.com')

test('why a request did not come through is told to its owner in words, and to the operator with its code', async () => {
  const logged: unknown[] = []
  const log = { info: (...line: unknown[]) => void logged.push(line) } as unknown as Log
  const port = await freePort()
  const leadsToEdge = async () => ({ kind: 'yes' as const, addresses: ['127.0.0.1'] })
  const visit = createLiveVisits({ leadsToEdge, port, proxyProtocol: 'off', log })
  expect(await visit(hostname, 'none', [])).toEqual({
    kind: 'not-seen',
    sentence: `Our own request to https://${hostname} did not come through: port ${port} of 127.0.0.1: nothing there accepts connections.`,
  })
  const causes = [expect.stringContaining('ECONNREFUSED')]
  expect(logged).toEqual([[{ hostname, addresses: ['127.0.0.1'], port, causes }, 'our own request did not come through']])
})
