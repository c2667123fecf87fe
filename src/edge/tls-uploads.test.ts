import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { createTestCa, type TestCa } from '../../test/support/certificates.ts'
import { startTestEdge } from '../../test/support/edge.ts'
import { PLAIN } from '../../test/support/plain-request.ts'
import { speak } from '../../test/support/raw-visitor.ts'
import { ArrivingBody } from './arriving-body.ts'
import { TIMEOUTS } from './timeouts.ts'
import type { TlsApplicationOrder } from './tls-application.fixture.ts'
import { createTurn } from './turn.ts'
import { readUpstream, type Upstream } from './upstream.ts'
import { createConnect } from './upstream-connect.ts'
import { createUpstreamPools, type UpstreamPools } from './upstream-pools.ts'
import type { UpstreamRequest } from './upstream-request.ts'
import { createUpstreamRoom } from './upstream-room.ts'

// Uploads to an application over TLS, which is near but has a loop of its own: what is written counts as sent when its answer may be there already.

const HOST = 'shop.customer.com'
const RECORD_BYTES = 16 * 1024
const LANES = 10
const REQUESTS_PER_LANE = 11

let ca: TestCa
let application: ChildProcess
let port: number
beforeAll(async () => {
  ca = await createTestCa()
  const script = fileURLToPath(new URL('./tls-application.fixture.ts', import.meta.url))
  application = spawn(process.execPath, [script], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  application.send((await ca.issue(['localhost'])) satisfies TlsApplicationOrder)
  ;[port] = (await once(application, 'message')) as [number]
})
afterAll(async () => {
  const gone = once(application, 'exit')
  application.disconnect()
  await gone
})

/** Has it answer early what it was asked, and tells how many connections it has accepted so far. */
async function nudge(): Promise<number> {
  const said = once(application, 'message')
  application.send('nudge')
  return (await said)[0] as number
}

/** Ways to the application, and how much of what was sent on the last connection has not been taken yet, as far as that is known. */
function openPools() {
  const guard = { addressesOf: async () => ['127.0.0.1'] }
  const connect = createConnect({ guard, connectTimeoutMs: 5_000, sourceIps: [], ca: [ca.certPem] })
  let socket: Socket | undefined
  const connectLast = async (upstream: Upstream) => {
    socket = await connect(upstream)
    return socket
  }
  const room = createUpstreamRoom()
  const pools = createUpstreamPools({ connect: connectLast, room, timeouts: TIMEOUTS, turn: createTurn(), visitorsMax: 100 })
  onTestFinished(() => pools.destroy())
  return { pools, untaken: () => socket!.writableLength }
}

/** Resolves with the status and what is known of the connections when the answer ends. */
async function ask(pools: UpstreamPools, request: Partial<UpstreamRequest>) {
  const connection = await pools.acquire(readUpstream(`https://localhost:${port}`, 'http1', 'one'))
  const answered = Promise.withResolvers<{ status: number; idle: number }>()
  let status = 0
  connection.send(
    { ...PLAIN, ...request },
    {
      ...{ onInterim() {}, onData() {}, onUpgrade() {} },
      onHead: (head) => {
        status = head.status
      },
      onEnd: () => answered.resolve({ status, idle: pools.counts().idle }),
      onBroken: () => answered.reject(new Error('the exchange broke')),
    },
  )
  return answered.promise
}

test("a connection is not the next one's while the system has not taken all of an upload that was answered early", async () => {
  const { pools, untaken } = openPools()
  const body = new ArrivingBody(undefined, () => {})
  const answer = ask(pools, { method: 'POST', target: '/early', body })
  await expect.poll(() => pools.counts().connections).toBe(1)
  const isHeldUp = async () => {
    body.push(Buffer.alloc(RECORD_BYTES, 'u'))
    for (let turns = 0; turns < 20; turns += 1) await nextTurn()
    return untaken() > 0
  }
  while (!(await isHeldUp()));
  const held = untaken()
  body.end([])
  await expect.poll(untaken).toBeGreaterThan(held)
  await nudge()
  expect((await answer).status).toBe(401)
  await expect.poll(() => pools.counts().connections).toBe(0)
})

test('a connection that carried no upload is free with its answer', async () => {
  const { pools } = openPools()
  for (let n = 0; n < 50; n += 1) expect(await ask(pools, {})).toEqual({ status: 200, idle: 1 })
})

test('connections whose uploads are answered at once are used again, however many there are', async () => {
  const edge = await startTestEdge({ upstream: { ca: [ca.certPem] } })
  onTestFinished(() => edge.stop(0))
  await edge.route(HOST, `https://localhost:${port}`)
  const before = await nudge()
  const lane = async (nth: number) => {
    const reader = await speak({ port: edge.httpsPort, hostname: HOST, ca: edge.ca.certPem }, '')
    for (let n = 0; n < REQUESTS_PER_LANE; n += 1) {
      const bytes = 2_000 + (((nth * REQUESTS_PER_LANE + n) * 7_919) % 200_000)
      reader.socket.write(`POST / HTTP/1.1\r\nHost: ${HOST}\r\nContent-Length: ${bytes}\r\n\r\n`)
      reader.socket.write(Buffer.alloc(bytes))
      expect((await reader.answer()).body).toBe(String(bytes))
    }
    reader.socket.destroy()
  }
  await Promise.all(Array.from({ length: LANES }, (_, nth) => lane(nth)))
  const opened = (await nudge()) - before
  expect(opened).toBeLessThanOrEqual(2 * LANES)
})
