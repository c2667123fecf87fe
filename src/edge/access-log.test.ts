import { afterEach, expect, test, vi } from 'vitest'
import { LineBytes } from '../lib/line-bytes.ts'
import { createAccessLog, LastSaid, type LoggedVisit } from './access-log.ts'
import { noOutcome } from './outcome.ts'

afterEach(() => void vi.useRealTimers())

const VISIT: LoggedVisit = {
  exchange: { method: 'GET', target: '/cart?session=secret', protocol: 'HTTP/1.1', bytesSent: 700 },
  requestId: 'abc',
  hostname: 'shop.customer.com',
  project: 'acme',
  client: '192.0.2.1',
  outcome: { ...noOutcome(), status: 200, upstreamMs: 1.25 },
  tunnelBytes: 0,
  view: { lastSaid: new LastSaid() },
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

test('a line says what its own request was, whatever the lines of the same connection said before', () => {
  const line = new LineBytes(1_000)
  const log = createAccessLog({ line, ended() {} }, 1, Date.now)
  const changes: {
    hostname?: string
    project?: string | undefined
    method?: string
    protocol?: 'HTTP/1.0'
    client?: string
    path?: string
  }[] = [
    {},
    {},
    {},
    { hostname: 'www.customer.com' },
    { hostname: 'www.customer.com' },
    { hostname: 'www.customer.com', project: 'a "quoted" one' },
    { project: undefined },
    { project: undefined },
    { method: 'POST' },
    { method: 'POST', client: '2001:db8::1' },
    { method: 'A"B' },
    { client: '2001:db8::1' },
    { client: '2001:db8::1', protocol: 'HTTP/1.0', path: '/"' },
    {},
    { path: `/${'x'.repeat(600)}` },
    {},
  ]
  const view = { lastSaid: new LastSaid() }
  for (const { method, protocol, path, ...others } of changes) {
    const exchange = { ...VISIT.exchange, method: method ?? 'GET', target: path ?? '/', ...(protocol && { protocol }) }
    log({ ...VISIT, ...others, exchange, view }, 3.4)
  }
  const lines = line.take().toString().trimEnd().split('\n')
  expect(lines.map((text) => JSON.parse(text))).toEqual(
    changes.map(({ method, protocol, path, ...others }) =>
      expect.objectContaining({
        hostname: VISIT.hostname,
        client: VISIT.client,
        ...('project' in others && others.project === undefined ? {} : { project: VISIT.project }),
        ...JSON.parse(JSON.stringify(others)),
        method: method ?? 'GET',
        protocol: protocol ?? 'HTTP/1.1',
        path: path ?? '/',
        status: 200,
      }),
    ),
  )
  for (const text of lines.filter((_, i) => 'project' in changes[i]! && changes[i]!.project === undefined))
    expect(text).not.toContain('project')
})

test('of a method that somebody made up a line says the beginning', () => {
  const line = new LineBytes(1_000)
  const log = createAccessLog({ line, ended() {} }, 1, Date.now)
  const view = { lastSaid: new LastSaid() }
  for (let time = 1; time <= 3; time += 1) log({ ...VISIT, exchange: { ...VISIT.exchange, method: 'M'.repeat(30_000) }, view }, 3.4)
  const lines = line.take().toString().trimEnd().split('\n')
  expect(lines.map((text) => JSON.parse(text).method)).toEqual(Array(3).fill('M'.repeat(64)))
})
