import { randomInt } from 'node:crypto'
import type { ClientHttp2Session } from 'node:http2'
import { Agent, request as sendRequest } from 'node:https'
import type { Readable, Writable } from 'node:stream'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestEdge, type TestEdge } from '../../test/support/edge.ts'
import { openHttp2 } from '../../test/support/raw-visitor.ts'
import { startUpstream, type Upstream } from '../../test/support/upstream.ts'
import { pause } from '../lib/back-off.ts'

const HOST = 'shop.customer.com'
const SIZES = [1, 700, 4_095, 16_384, 20_000, 65_536, 98_304, 100_000, 400_000]
const VISITORS = 12
const TURNS = 25
const STREAMS = 4

let edge: TestEdge
let upstream: Upstream
let names = 0

beforeAll(async () => {
  upstream = await startUpstream({
    handle(request, response) {
      const { pathname, searchParams } = new URL(request.url ?? '/', 'http://upstream')
      if (pathname !== '/own') return false
      const body = bodyOf(searchParams.get('name')!, Number(searchParams.get('bytes')))
      response.writeHead(200, searchParams.has('chunked') ? {} : { 'content-length': body.length })
      void sendInPieces(body, response)
      return true
    },
  })
  edge = await startTestEdge({})
  await edge.route(HOST, upstream.url)
})
afterAll(async () => {
  await edge.stop(1_000)
  await upstream.stop()
})

/** So many bytes that nobody else's body has: its name, again and again. */
function bodyOf(name: string, bytes: number): Buffer {
  return Buffer.alloc(bytes, `${name}|`)
}

async function sendInPieces(body: Buffer, to: Writable): Promise<void> {
  for (let at = 0; at < body.length && !to.destroyed; ) {
    const end = at + Math.min(body.length - at, randomInt(1, 150_000))
    const hasRoom = to.write(body.subarray(at, end))
    if (!hasRoom || randomInt(3) === 0) await pause(randomInt(3))
    at = end
  }
  to.end()
}

/** What a visitor asks for next: an answer with or without a length, its own bytes back, or an answer that it leaves in the middle. */
function nextOrder() {
  names += 1
  const name = `visit ${names}`
  const bytes = SIZES[randomInt(SIZES.length)]!
  const isEcho = randomInt(3) === 0
  const query = `name=${encodeURIComponent(name)}&bytes=${bytes}${randomInt(2) === 0 ? '&chunked' : ''}`
  return { body: bodyOf(name, bytes), isEcho, path: isEcho ? '/echo-stream' : `/own?${query}`, isLeft: randomInt(8) === 0 }
}

type Order = ReturnType<typeof nextOrder>

/** Reads the answer, at times slowly, and compares it with what it should be; nothing of another's body may be in what a visitor leaves either. */
async function check(answer: Readable, { body, isLeft }: Order): Promise<void> {
  const isSlow = randomInt(4) === 0
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    bytes += chunk.length
    if (isLeft && bytes > body.length / 2) break
    if (isSlow) await pause(1)
  }
  expect(Buffer.concat(chunks).equals(body.subarray(0, bytes))).toBe(true)
  if (!isLeft) expect(bytes).toBe(body.length)
}

async function visitOverHttp1(agent: Agent, order: Order): Promise<void> {
  const { body, isEcho, path } = order
  const headers = isEcho && randomInt(2) === 0 ? { 'content-length': body.length } : {}
  await new Promise<void>((resolve, reject) => {
    const options = { agent, host: '127.0.0.1', port: edge.httpsPort, servername: HOST, path, method: isEcho ? 'POST' : 'GET' }
    const request = sendRequest({ ...options, headers: { ...headers, host: HOST } }, (answer) => {
      const { socket } = answer
      const checked = check(answer, order).finally(() => {
        if (order.isLeft) socket.destroy() // Node 26 keeps the connection, for nobody, where the rest had arrived unread
      })
      checked.then(resolve, reject)
    })
    request.once('error', reject)
    if (isEcho) void sendInPieces(body, request)
    else request.end()
  })
}

async function visitOverHttp2(session: ClientHttp2Session, order: Order): Promise<void> {
  const { body, isEcho, path } = order
  const stream = session.request({ ':path': path, ':authority': HOST, ':method': isEcho ? 'POST' : 'GET' }, { endStream: !isEcho })
  stream.on('error', () => {}) // of those that are left
  if (isEcho) void sendInPieces(body, stream)
  await check(stream, order)
}

test('what many visitors load and send at once is each one’s own, also when some leave in the middle', async () => {
  const overHttp1 = Array.from({ length: VISITORS }, async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1, ca: edge.ca.certPem })
    for (let turn = 0; turn < TURNS; turn += 1) await visitOverHttp1(agent, nextOrder())
    agent.destroy()
  })
  const overHttp2 = Array.from({ length: VISITORS / 2 }, async () => {
    const session = await openHttp2({ port: edge.httpsPort, hostname: HOST, ca: edge.ca.certPem })
    const streams = Array.from({ length: STREAMS }, async () => {
      for (let turn = 0; turn < TURNS; turn += 1) await visitOverHttp2(session, nextOrder())
    })
    await Promise.all(streams)
    session.close()
  })
  await Promise.all([...overHttp1, ...overHttp2])
})
