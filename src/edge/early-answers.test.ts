import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http2'
import type { AddressInfo, Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Worker } from 'node:worker_threads'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { createTestCa } from '../../test/support/certificates.ts'
import { startTestEdge, type TestEdge } from '../../test/support/edge.ts'
import { openHttp2, openTls, RawReader, speak } from '../../test/support/raw-visitor.ts'
import { startRawUpstream } from '../../test/support/upstream.ts'

// What an application says of an upload before it has read all of it, if it reads any.

const HOST = 'shop.customer.com'
const TOO_LARGE = 'HTTP/1.1 413 Content Too Large\r\nContent-Length: 9\r\nConnection: close\r\n\r\ntoo large'
const UPLOAD_BYTES = 5_000_000
const HELD_BACK_MS = 300 // until then an application reads nothing, and takes no more

let edge: TestEdge
let folder: string
let file: string
beforeAll(async () => {
  edge = await startTestEdge()
  folder = mkdtempSync(join(tmpdir(), 'namesake-upload-'))
  file = join(folder, 'upload')
  writeFileSync(file, Buffer.alloc(UPLOAD_BYTES))
})
afterAll(async () => {
  await edge.stop(0)
  rmSync(folder, { recursive: true })
})
const target = (at = edge) => ({ port: at.httpsPort, hostname: HOST, ca: at.ca.certPem })

async function lead(onConnection: (socket: Socket) => void, at = edge): Promise<void> {
  const upstream = await startRawUpstream(onConnection)
  onTestFinished(() => upstream.stop())
  await at.route(HOST, upstream.url)
}

const readsOn = (socket: Socket) => void socket.removeAllListeners('data').resume().write(TOO_LARGE)
const closes = (socket: Socket) => {
  socket.pause()
  socket.write(TOO_LARGE, () => socket.destroy())
}

/** In a thread of its own it closes while we write. */
const CLOSES_BY_TLS = `
  const { parentPort, workerData } = require('node:worker_threads')
  const server = require('node:tls').createServer(workerData, (socket) => {
    socket.on('error', () => {}).once('data', () => socket.pause().write(workerData.answer, () => socket.destroy()))
  })
  server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port))`

test('who sends all of its upload before it reads has the answer too', async () => {
  await lead(readsOn)
  const socket = await openTls(target())
  socket.pause()
  socket.write(`POST / HTTP/1.1\r\nHost: ${HOST}\r\nContent-Length: ${10 * UPLOAD_BYTES}\r\n\r\n`)
  for (let n = 0; n < 10; n += 1) await new Promise((sent) => socket.write(Buffer.alloc(UPLOAD_BYTES), sent))
  const reader = new RawReader(socket)
  socket.resume()
  expect((await reader.answer()).status).toBe(413)
  socket.destroy()
})

test('who asks whether its body is wanted and gets the answer at once finds the connection closed: what came next could be either', async () => {
  await lead((socket) => void socket.write('HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\nno'))
  const head = `POST / HTTP/1.1\r\nHost: ${HOST}\r\nContent-Length: 300\r\nExpect: 100-continue\r\n\r\n`
  const reader = await speak(target(), head)
  reader.socket.on('error', () => {})
  const answer = await reader.answer()
  expect([answer.status, answer.field('connection')]).toEqual([401, 'close'])
  reader.socket.write(`GET /next HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
  expect(await reader.closed()).toBe('')
})

test('the answer of an application that reads nothing of an upload and closes reaches the visitor', async () => {
  await lead(closes)
  const reader = await speak(target(), `POST / HTTP/1.1\r\nHost: ${HOST}\r\nContent-Length: ${UPLOAD_BYTES}\r\n\r\n`)
  reader.socket.write(Buffer.alloc(900_000))
  expect((await reader.answer()).status).toBe(413)
  reader.socket.destroy()
})

test('so does that of one by https, each time', async () => {
  const ca = await createTestCa()
  const { chainPem: cert, keyPem: key } = await ca.issue(['localhost'])
  const upstream = new Worker(CLOSES_BY_TLS, { eval: true, workerData: { cert, key, answer: TOO_LARGE } })
  onTestFinished(async () => void (await upstream.terminate()))
  const [port] = (await once(upstream, 'message')) as [number]
  const at = await startTestEdge({ upstream: { ca: [ca.certPem] } })
  onTestFinished(() => at.stop(0))
  await at.route(HOST, `https://localhost:${port}`)
  const statuses = new Set<number>()
  for (let n = 0; n < 60; n += 1) {
    const reader = await speak(target(at), `POST / HTTP/1.1\r\nHost: ${HOST}\r\nContent-Length: ${UPLOAD_BYTES}\r\n\r\n`)
    reader.socket.on('error', () => {}).write(Buffer.alloc(900_000))
    statuses.add((await reader.answer()).status)
    reader.socket.destroy()
  }
  expect([...statuses]).toEqual([413])
})

test.each(['--http1.1', '--http2'])('curl %s has the answer that comes before its upload has ended', async (protocol) => {
  await lead(readsOn)
  const to = `${HOST}:${edge.httpsPort}`
  const args = ['-sk', protocol, '--max-time', '20', '--resolve', `${to}:127.0.0.1`, '-H', 'Expect:', '-w', ' %{http_code}']
  for (let n = 0; n < 5; n += 1) {
    const { stdout } = await promisify(execFile)('curl', [...args, '--data-binary', `@${file}`, `https://${to}/`])
    expect(stdout).toBe('too large 413')
  }
})

test.each(['http1', 'h2c'] as const)(
  'who sends all of its upload over HTTP/2 before it reads, with small windows, has the answer of an upstream by %s',
  async (protocol) => {
    const long = 'x'.repeat(40_000) // more than a visitor takes that does not read, and one read of an upstream
    if (protocol === 'http1')
      await lead((socket) => {
        socket.pause()
        setTimeout(() => socket.write(`HTTP/1.1 413 Content Too Large\r\nContent-Length: ${long.length}\r\n\r\n${long}`), HELD_BACK_MS)
      })
    else {
      const upstream = createServer().on('stream', (stream) => {
        stream.on('error', () => {}).pause()
        stream.respond({ ':status': 413 })
        setTimeout(() => stream.end(long), HELD_BACK_MS)
      })
      await once(upstream.listen(0, 'localhost'), 'listening')
      onTestFinished(() => void upstream.close())
      await edge.route(HOST, `http://localhost:${(upstream.address() as AddressInfo).port}`, { upstreamProtocol: 'h2c' })
    }
    const session = await openHttp2(target(), { initialWindowSize: 1_000 })
    onTestFinished(() => session.destroy())
    const stream = session.request({ ':path': '/', ':method': 'POST' }, { endStream: false })
    for (let n = 0; n < 5; n += 1) await new Promise((sent) => stream.write(Buffer.alloc(UPLOAD_BYTES), sent))
    let bytes = 0
    stream.on('data', (chunk: Buffer) => (bytes += chunk.length)).end()
    await once(stream, 'end')
    expect(bytes).toBe(long.length)
  },
)

test('an empty line behind a body begins no request that would be late', async () => {
  const hasty = await startTestEdge({ timeouts: { requestHeadMs: 1_000 } })
  onTestFinished(() => hasty.stop(0))
  await lead((socket) => void socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'), hasty)
  const reader = await speak(target(hasty), `POST / HTTP/1.1\r\nHost: ${HOST}\r\nContent-Length: 2\r\n\r\nhi\r\n`)
  expect((await reader.answer()).body).toBe('ok')
  await new Promise((resolve) => setTimeout(resolve, 2_500)) // a head has a second here
  reader.socket.write(`GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
  expect((await reader.answer()).body).toBe('ok')
  reader.socket.destroy()
})
