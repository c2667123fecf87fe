import { afterEach, expect, test, vi } from 'vitest'
import { LineBytes } from '../lib/line-bytes.ts'
import { createAccessLog, type LoggedVisit } from './access-log.ts'

afterEach(() => void vi.useRealTimers())

const VISIT: LoggedVisit = {
  exchange: { method: 'GET', target: '/cart?session=secret', protocol: 'HTTP/1.1', bytesSent: 700 },
  requestId: 'abc',
  hostname: 'shop.customer.com',
  project: 'acme',
  client: '192.0.2.1',
  outcome: { status: 200, upstreamMs: 1.25, failure: undefined, heldMs: undefined },
  tunnelBytes: 0,
}

test('a line says to the millisecond when it was written, also when the clock is set back', () => {
  vi.useFakeTimers({ toFake: ['Date'] })
  const line = new LineBytes(1_000)
  const log = createAccessLog({ line, ended() {} }, 1, Date.now)
  const times = ['23:59:58.007', '23:59:58.999', '23:59:59.000', '23:59:59.120', '21:00:00.045'].map((time) => `2026-12-31T${time}Z`)
  for (const time of times) {
    vi.setSystemTime(time)
    log(VISIT, 3.4)
  }
  const lines = line.take().toString().trimEnd().split('\n')
  expect(lines.map((text) => JSON.parse(text).time)).toEqual(times)
})
