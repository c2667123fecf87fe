import { once } from 'node:events'
import { connect as connectTcp } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestEdge, type TestEdge } from '../support/edge.ts'
import { openTls, speak } from '../support/raw-visitor.ts'
import { startUpstream, type Upstream } from '../support/upstream.ts'

const HOST = 'shop.customer.com'
const SLOW_OF_A_KIND = 80
const ADDRESSES = 20
const HEAD_BYTES_MAX = 32 * 1024
const ATTEMPTS = 25
const MOMENT_MS = 200
/** What the answer may take on a busy machine before another crumb is sent. */
const CRUMB_PATIENCE_MS = 2_000

let edge: TestEdge
let upstream: Upstream
const slow: TLSSocket[] = []

beforeAll(async () => {
  upstream = await startUpstream()
  edge = await startTestEdge({ http2Engine: 'own', timeouts: { requestHeadMs: 20_000 } })
  await edge.route(HOST, upstream.url)
})
afterAll(async () => {
  for (const socket of slow) socket.destroy()
  await edge.stop(0)
  await upstream.stop()
})

const H = `Host: ${HOST}\r\n`
const target = () => ({ port: edge.httpsPort, hostname: HOST, ca: edge.ca.certPem })

/** From one of several addresses, as a crowd would come. */
function openFrom(i: number): Promise<TLSSocket> {
  const socket = connectTcp({ port: edge.httpsPort, host: '127.0.0.1', localAddress: `127.0.0.${10 + (i % ADDRESSES)}` })
  const visitor = connectTls({ socket, servername: HOST, ca: edge.ca.certPem, ALPNProtocols: ['http/1.1'] })
  visitor.on('error', () => {})
  slow.push(visitor)
  return new Promise((resolve, reject) =>
    visitor.once('secureConnect', () => resolve(visitor)).once('close', () => reject(new Error('refused'))),
  )
}

async function processorMsOf(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}

async function manyRequests(): Promise<void> {
  for (let i = 0; i < ATTEMPTS; i += 1) {
    const reader = await speak(target(), `POST /${i} HTTP/1.1\r\n${H}Content-Length: 3\r\nConnection: close\r\n\r\nabc`)
    expect((await reader.answer()).status).toBe(200)
    await reader.closed()
  }
}

const aMoment = () => new Promise((resolve) => setTimeout(resolve, MOMENT_MS))

test('hundreds of slow senders and slow readers cost others nothing but their own bytes', async () => {
  await processorMsOf(manyRequests)
  const alone = await processorMsOf(manyRequests)
  const kinds = [
    `GET / HTTP/1.1\r\n${H}X-Slow: `, // a head without end
    `POST /count-upload HTTP/1.1\r\n${H}Content-Length: 100000\r\n\r\n`, // a body without end
    `POST /count-upload HTTP/1.1\r\n${H}Transfer-Encoding: chunked\r\n\r\nff\r\n`, // a chunk without end
    `GET /bytes?count=30000000 HTTP/1.1\r\n${H}\r\n`, // an answer that nobody reads, and that does not fit into the buffers of two sockets
  ]
  for (const [k, bytes] of kinds.entries()) {
    const opened = await Promise.all(Array.from({ length: SLOW_OF_A_KIND }, (_, i) => openFrom(i)))
    for (const visitor of opened) {
      if (k === 3) visitor.pause()
      else visitor.resume()
      visitor.write(bytes)
    }
  }
  await expect.poll(async () => (await edge.report()).exchanges).toBe(SLOW_OF_A_KIND * 3)
  await expect.poll(() => processorMsOf(aMoment)).toBeLessThan(MOMENT_MS / 4) // the sockets between are full
  const drops = setInterval(() => {
    for (const visitor of slow) if (!visitor.isPaused() && visitor.writable) visitor.write('a')
  }, 500)
  const beside = await processorMsOf(manyRequests)
  clearInterval(drops)
  expect(beside).toBeLessThan(alone * 4 + 1_000)
  for (const visitor of slow) visitor.destroy()
  await expect.poll(() => edge.report()).toMatchObject({ http1Connections: 0, exchanges: 0 })
})

test('a head in crumbs without a line end is refused at the size at which a whole one is', async () => {
  const visitor = await openTls(target())
  visitor.setNoDelay(true)
  const answered = once(visitor, 'data')
  const patience = () => new Promise((resolve) => setTimeout(resolve, sent < HEAD_BYTES_MAX ? 0 : CRUMB_PATIENCE_MS))
  const crumb = 'a'.repeat(1_024)
  const begin = `GET / HTTP/1.1\r\n${H}X: `
  visitor.write(begin)
  let sent = begin.length
  let isAnswered = false
  void answered.then(() => (isAnswered = true))
  while (!isAnswered && sent < 2 * HEAD_BYTES_MAX) {
    await new Promise((resolve) => visitor.write(crumb, resolve))
    sent += crumb.length
    await Promise.race([answered, patience()])
  }
  expect((await answered)[0].toString('latin1')).toMatch(/^HTTP\/1\.1 431 /)
  expect(sent).toBeLessThan(HEAD_BYTES_MAX + 8 * crumb.length)
  visitor.destroy()
})
