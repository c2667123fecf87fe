import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestEdge, type TestEdge } from '../../test/support/edge.ts'
import { speak } from '../../test/support/raw-visitor.ts'

let edge: TestEdge
const HOST = 'shop.customer.com'
const ANSWER = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'
/** What is between a visitor's request and its way to the upstream takes fewer. */
const TURNS = 16
const TRIES = 4
/** A busy system hands on what was sent later than in the next turns. */
const HEARD_AFTER_TURNS = 100_000

beforeAll(async () => {
  edge = await startTestEdge()
})
afterAll(() => edge.stop(1_000))

/** Answers what comes, and can end the connection that it kept while it still hears whether another request came over it. */
async function startEndingUpstream() {
  const kept: Socket[] = []
  const heardAfterEnd = new Set<Socket>()
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    kept.push(socket)
    socket.on('error', () => {})
    socket.on('data', (data) => {
      if (socket.writableEnded) heardAfterEnd.add(socket)
      else if (data.includes('\r\n\r\n')) socket.write(ANSWER)
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return { url: `http://127.0.0.1:${(server.address() as { port: number }).port}`, kept, heardAfterEnd, server }
}

test.each([
  ['a POST with a body', 'POST / HTTP/1.1\r\nContent-Length: 4', 'body'],
  ['a POST without one', 'POST / HTTP/1.1\r\nContent-Length: 0', ''],
])('%s is sent over no kept connection whose end has come, however late it came', async (_what, request, body) => {
  const upstream = await startEndingUpstream()
  await edge.route(HOST, upstream.url)
  const visitor = await speak({ port: edge.httpsPort, hostname: HOST, ca: edge.ca.certPem }, '')
  const unserved: string[] = []
  for (let turns = 0; turns < TURNS * TRIES; turns += 1) {
    visitor.socket.write(`GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
    await visitor.answer()
    const ending = upstream.kept.at(-1)!
    visitor.socket.write(`${request}\r\nHost: ${HOST}\r\n\r\n${body}`)
    for (let turn = 0; turn < turns % TURNS; turn += 1) await nextTurn()
    ending.end()
    const { status } = await visitor.answer()
    const isHeard = () => upstream.heardAfterEnd.has(ending)
    for (let turn = 0; turn < TURNS || (status !== 200 && turn < HEARD_AFTER_TURNS && !isHeard()); turn += 1) await nextTurn()
    if (status !== 200 && !isHeard()) unserved.push(`${status} after ${turns % TURNS} turns`)
  }
  expect(unserved).toEqual([])
  visitor.socket.destroy()
  for (const socket of upstream.kept) socket.destroy()
  upstream.server.close()
})
