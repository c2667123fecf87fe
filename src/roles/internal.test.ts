import { expect, onTestFinished, test } from 'vitest'
import { freePort } from '../../test/support/ports.ts'
import { createLog } from '../log.ts'
import { serveInternal } from './internal.ts'
import type { ProcessReport, RoleContext } from './role.ts'

const FINDER = { findInCopy: async () => undefined }
const SERVED = { name: 'served_total', type: 'counter', help: 'served', aggregator: 'sum', values: [{ value: 5, labels: {} }] }

test('a scrape fails while the supervisor says nothing of any process, and not while a process is down', async () => {
  let reports: ProcessReport[] = [{ role: 'edge', pid: 0, ready: false, details: {}, metrics: [SERVED] }]
  const port = await freePort()
  const context = {
    config: { baseUrl: new URL('https://api.namesake.test') },
    log: createLog('test-internal', 'fatal'),
    listen: { internal: { host: '127.0.0.1', port } },
    roles: ['edge'],
    gather: async () => reports,
  } as unknown as RoleContext
  const internal = await serveInternal(context, FINDER)
  onTestFinished(() => internal.stop())
  const scrape = async () => {
    const answer = await fetch(`http://127.0.0.1:${port}/metrics`)
    return [answer.status, await answer.text()]
  }
  expect(await scrape()).toEqual([200, expect.stringContaining('served_total 5')])
  reports = []
  expect(await scrape()).toEqual([503, 'the supervisor does not answer\n'])
})
