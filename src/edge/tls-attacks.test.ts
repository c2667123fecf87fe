import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { startTestEdge, type TestEdge } from '../../test/support/edge.ts'
import { openHttp2, requestHttp2 } from '../../test/support/raw-visitor.ts'
import { type ByHand, openByHand } from '../../test/support/tls-by-hand.ts'
import { keyUpdate, MESSAGE, message, RECORD } from '../../test/support/tls-records.ts'
import { startUpstream, type Upstream } from '../../test/support/upstream.ts'

const HOST = 'shop.customer.com'
const FLOOD = 40_000 // new keys of a megabyte
const CPU_MS_MAX = 700 // a twentieth of it ends a connection; this machine and this process do other things too

let edge: TestEdge
let upstream: Upstream
const open: ByHand[] = []

beforeAll(async () => {
  upstream = await startUpstream()
  edge = await startTestEdge()
  await edge.route(HOST, upstream.url)
})
afterEach(() => {
  for (const { wire } of open.splice(0)) wire.destroy()
})
afterAll(async () => {
  await edge.stop(1_000)
  await upstream.stop()
})
const target = () => ({ port: edge.httpsPort, hostname: HOST, ca: edge.ca.certPem })

async function ask(): Promise<unknown> {
  const session = await openHttp2(target())
  const { headers } = await requestHttp2(session, { ':path': '/', ':authority': HOST })
  session.destroy()
  return headers[':status']
}

test.each<[string, 'TLSv1.2' | 'TLSv1.3', (visitor: ByHand) => Buffer]>([
  ['new keys', 'TLSv1.3', ({ seal }) => keyUpdate(seal)],
  ['new keys that ask for ours', 'TLSv1.3', ({ seal }) => keyUpdate(seal, { andYours: true })],
  ['empty records', 'TLSv1.3', ({ seal }) => seal(RECORD.data, Buffer.alloc(0))],
  ['warnings', 'TLSv1.2', ({ seal }) => seal(RECORD.alert, Buffer.of(1, 90))],
  ['handshakes that begin anew', 'TLSv1.2', ({ seal }) => seal(RECORD.handshake, message(MESSAGE.clientHello))],
])('a flood of %s ends the connection, costs little, and others are served meanwhile', async (_name, version, attack) => {
  const visitor = await openByHand(target(), version)
  open.push(visitor)
  const flood = Buffer.concat(Array.from({ length: FLOOD }, () => attack(visitor)))
  const closed = new Promise((resolve) => visitor.wire.once('close', resolve)) // by a reset, perhaps
  const before = process.cpuUsage()
  const other = ask()
  visitor.wire.write(flood)
  await closed
  const { user, system } = process.cpuUsage(before)
  expect((user + system) / 1_000).toBeLessThan(CPU_MS_MAX)
  expect(await other).toBe(200)
  expect(await ask()).toBe(200)
})
