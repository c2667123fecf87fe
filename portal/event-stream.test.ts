import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test, vi } from 'vitest'
import { followEvents } from './event-stream.ts'

/** Follows, `pages` times, a stream that is answered so; `asked` are the times at which it was asked for, `stale` how often what is shown may be so. */
async function follow(answer: (response: ServerResponse) => void, pages = 1) {
  const seen = { asked: [] as number[], stale: 0, refused: 0 }
  const server = createServer((_request, response) => {
    seen.asked.push(performance.now())
    answer(response)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const path = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const follower = { path, onEvent() {}, onStale: () => (seen.stale += 1), onRefused: () => (seen.refused += 1) }
  const stops = Array.from({ length: pages }, () => followEvents(follower))
  onTestFinished(() => {
    for (const stop of stops) stop()
    server.closeAllConnections()
    server.close()
  })
  const waitFor = (times: number) => expect.poll(() => seen.asked.length, { timeout: 30_000 }).toBeGreaterThanOrEqual(times)
  return { seen, waitFor }
}

test('after a try that fails the page looks for itself, and the next comes when the service said, not before', async () => {
  const { seen, waitFor } = await follow((response) => response.writeHead(429, { 'retry-after': '5' }).end())
  await waitFor(2)
  expect(seen.stale).toBeGreaterThan(0)
  expect(seen.asked[1]! - seen.asked[0]!).toBeGreaterThan(4_900)
})

test('the page looks for itself once its stream is up, which tells of nothing before', async () => {
  const { seen } = await follow((response) => response.writeHead(200).write(': here\n\n'))
  await expect.poll(() => seen.stale).toBe(1)
})

test('a stream that ends as soon as it is open is asked for ever more rarely', async () => {
  const { seen, waitFor } = await follow((response) => response.writeHead(200).end('retry: 1\n\n'))
  await waitFor(4)
  const [first, second, third, fourth] = seen.asked as [number, number, number, number]
  expect(fourth - third).toBeGreaterThan(1.5 * (second - first))
})

test('pages that lost their streams in one instant do not return in one', async () => {
  const { seen, waitFor } = await follow((response) => response.writeHead(503).end(), 20)
  await waitFor(40)
  expect(seen.asked[39]! - seen.asked[20]!).toBeGreaterThan(250)
})

const PROBLEM = { 'content-type': 'application/problem+json' }

test.each([
  [401, 'session_required'],
  [401, 'connect_link_invalid'],
  [404, 'project_not_found'],
  [404, 'domain_not_found'],
])('a stream that the service refuses with %s %s has ended, and the page is told', async (status, code) => {
  const { seen } = await follow((response) => response.writeHead(status, PROBLEM).end(JSON.stringify({ code })))
  await expect.poll(() => seen.refused).toBe(1)
  expect(seen.stale).toBe(0)
})

test.each([
  [401, 'Sign in to the hotel network'],
  [403, '{"message":"blocked by the firewall"}'],
  [404, 'default backend - 404'],
  [404, 'null'],
])('a %s of somebody in between (%s) is asked again, and ends nothing', async (status, body) => {
  const { seen, waitFor } = await follow((response) => response.writeHead(status).end(body))
  await waitFor(2)
  expect(seen.refused).toBe(0)
  expect(seen.stale).toBeGreaterThan(0)
})

const silences: [string, (response: ServerResponse) => void][] = [
  ['does not begin', () => {}],
  ['falls silent', (response) => response.writeHead(200).write(': here\n\n')],
  ['begins to refuse and stops', (response) => response.writeHead(404, PROBLEM).write('{"code":')],
]

test.each(silences)('a stream that %s is given up after three heartbeats, and asked for again', async (_, answer) => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const { seen, waitFor } = await follow((response) => {
    if (seen.asked.length === 1) answer(response)
    else response.writeHead(200).write(': here\n\n')
  })
  await waitFor(1)
  await vi.advanceTimersByTimeAsync(44_000)
  expect(seen.asked).toHaveLength(1)
  await expect.poll(() => vi.advanceTimersByTimeAsync(1_000).then(() => seen.asked.length)).toBe(2)
})
