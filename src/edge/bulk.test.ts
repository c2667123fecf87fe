import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestCa } from '../../test/support/certificates.ts'
import { openHttp2, openTls, RawReader } from '../../test/support/raw-visitor.ts'
import { startUpstream, type Upstream } from '../../test/support/upstream.ts'
import { findEdgeRuntime } from '../edge-runtime.ts'
import type { BulkOrder } from './bulk.fixture.ts'

const IS_BUN = process.env.TEST_EDGE_RUNTIME === 'bun'
const HOST = 'shop.customer.com'
const GIGABYTE = 1_000_000_000
/** Bun keeps what bodies leave for a minute (docs/decisions/0091). */
const MEMORY_MB_MAX = IS_BUN ? 250 : 150
const TEST_TIMEOUT_MS = 120_000

let upstream: Upstream
let child: ChildProcess
let target: { port: number; hostname: string; ca: string }

beforeAll(async () => {
  upstream = await startUpstream()
  const ca = await createTestCa()
  const runtime = findEdgeRuntime({ edgeRuntime: IS_BUN ? 'bun' : 'node' })
  const script = fileURLToPath(new URL('./bulk.fixture.ts', import.meta.url))
  const env = { ...process.env, ...runtime.env }
  child = spawn(runtime.program, [...runtime.flags, script], { env, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  const order: BulkOrder = { hostname: HOST, upstreamUrl: upstream.url, ...(await ca.issue([HOST])) }
  child.send(order)
  const [port] = (await once(child, 'message')) as [number]
  target = { port, hostname: HOST, ca: ca.certPem }
})
afterAll(async () => {
  const gone = once(child, 'exit')
  child.disconnect()
  await gone
  await upstream.stop()
})

/** The most memory that the edge's process ever had resident, in megabytes. */
function memoryPeak(): number {
  return Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))![1]) / 1_000
}

test(`a gigabyte up passes within ${MEMORY_MB_MAX} MB of memory`, { timeout: TEST_TIMEOUT_MS }, async () => {
  const socket = await openTls(target)
  const reader = new RawReader(socket)
  const block = Buffer.alloc(1_000_000, 'u')
  socket.write(`POST /count-upload HTTP/1.1\r\nHost: ${HOST}\r\nContent-Length: ${GIGABYTE}\r\n\r\n`)
  for (let sent = 0; sent < GIGABYTE; sent += block.length) if (!socket.write(block)) await once(socket, 'drain')
  expect((await reader.answer()).body).toContain(`"bytes":${GIGABYTE}`)
  expect(memoryPeak()).toBeLessThan(MEMORY_MB_MAX)
  socket.destroy()
})

test(`a gigabyte down passes within ${MEMORY_MB_MAX} MB of memory`, { timeout: TEST_TIMEOUT_MS }, async () => {
  const socket = await openTls(target)
  socket.write(`GET /bytes?count=${GIGABYTE} HTTP/1.1\r\nHost: ${HOST}\r\nConnection: close\r\n\r\n`)
  let bytes = 0
  for await (const chunk of socket) bytes += (chunk as Buffer).length
  expect(bytes).toBeGreaterThan(GIGABYTE)
  expect(memoryPeak()).toBeLessThan(MEMORY_MB_MAX)
})

test(`a gigabyte down over HTTP/2 passes within ${MEMORY_MB_MAX} MB of memory`, { timeout: TEST_TIMEOUT_MS }, async () => {
  const session = await openHttp2(target)
  const stream = session.request({ ':path': `/bytes?count=${GIGABYTE}`, ':authority': HOST })
  let bytes = 0
  for await (const chunk of stream) bytes += (chunk as Buffer).length
  expect(bytes).toBe(GIGABYTE)
  expect(memoryPeak()).toBeLessThan(MEMORY_MB_MAX)
  session.close()
})
