import type { IncomingHttpHeaders } from 'node:http2'
import type { Socket } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestEdge, type TestEdge } from '../../test/support/edge.ts'
import { openHttp2, speak } from '../../test/support/raw-visitor.ts'
import { type RawUpstream, startRawUpstream } from '../../test/support/upstream.ts'
import { pause } from '../lib/back-off.ts'

const HOST = 'shop.customer.com'
const EARLY = 'HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\nConnection: X-Hop\r\nX-Hop: 1\r\nAlt-Svc: h3=":443"\r\n\r\n'
const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'

/** Says what its path is the name of. */
const SAYINGS: Record<string, (say: (text: string) => void, socket: Socket) => void> = {
  '/early': (say) => {
    say(EARLY)
    setTimeout(() => say(OK), 100)
  },
  '/processing': (say) => say(`HTTP/1.1 102 Processing\r\n\r\n${EARLY}${OK}`),
  '/fine': (say) => say(OK),
  '/broken': (say, socket) => {
    say(EARLY)
    setTimeout(() => socket.destroy(), 20)
  },
  '/endless': (say) => say(EARLY.repeat(101)),
  '/protocols': (say) => say('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n'),
  '/deaf': (say, socket) => {
    say(EARLY)
    socket.once('data', () => say(OK))
  },
  '/late': (say, socket) => {
    setTimeout(() => say('HTTP/1.1 100 Continue\r\n\r\n'.repeat(2)), 1_300) // the edge waits a second for it
    socket.once('data', () => say(OK))
  },
  '/upgrade': (say) => say('HTTP/1.1 426 Upgrade Required\r\nUpgrade: foo/2\r\nConnection: upgrade\r\nContent-Length: 2\r\n\r\nok'),
}

let edge: TestEdge
let upstream: RawUpstream
const target = () => ({ port: edge.httpsPort, hostname: HOST, ca: edge.ca.certPem })
beforeAll(async () => {
  upstream = await startRawUpstream((socket, _connection, request) => {
    const path = /^\S+ (\S+) /.exec(request)![1]!
    SAYINGS[path]!((text) => void socket.write(text), socket)
  })
  edge = await startTestEdge()
  await edge.route(HOST, upstream.url)
})
afterAll(async () => {
  await edge.stop(0)
  await upstream.stop()
})

const get = (path: string, version = '1.1') => speak(target(), `GET ${path} HTTP/${version}\r\nHost: ${HOST}\r\n\r\n`)

test('an interim answer goes on when it comes, without what is of one hop, and the answer follows', async () => {
  const reader = await get('/early')
  expect(await reader.until('\r\n\r\n')).toBe('HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n')
  expect(await reader.answer()).toMatchObject({ status: 200, body: 'ok' })
  reader.socket.write(`GET /processing HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
  expect(await reader.until('\r\n\r\n')).toBe('HTTP/1.1 102 Processing\r\n\r\n')
  expect(await reader.until('\r\n\r\n')).toMatch(/^HTTP\/1\.1 103 /)
  expect(await reader.answer()).toMatchObject({ status: 200, body: 'ok' })
  reader.socket.destroy()
})

test('of a kept connection that ends behind an interim answer nothing is asked again', async () => {
  const reader = await get('/fine')
  expect((await reader.answer()).status).toBe(200)
  const before = upstream.received.length
  reader.socket.write(`GET /broken HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
  expect(await reader.until('\r\n\r\n')).toMatch(/^HTTP\/1\.1 103 /)
  expect(await reader.until('\r\n\r\n')).toMatch(/^HTTP\/1\.1 502 .*\r\nNamesake-Error: reset\r\n/s)
  expect(upstream.received.length).toBe(before + 1)
  reader.socket.destroy()
})

test('requests that wait behind one another get each its own interim answers; HEAD gets them too', async () => {
  const reader = await speak(
    target(),
    ['GET /early', 'HEAD /early', 'GET /fine'].map((line) => `${line} HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`).join(''),
  )
  expect(await reader.until('\r\n\r\n')).toMatch(/^HTTP\/1\.1 103 /)
  expect(await reader.answer()).toMatchObject({ status: 200, body: 'ok' })
  expect(await reader.until('\r\n\r\n')).toMatch(/^HTTP\/1\.1 103 /)
  expect(await reader.answer({ bodiless: true })).toMatchObject({ status: 200 })
  expect(await reader.until('\r\n\r\n')).toMatch(/^HTTP\/1\.1 200 /)
  reader.socket.destroy()
})

test('an endless row of them is no answer, nor is a change to a protocol that nobody asked for', async () => {
  const endless = await get('/endless')
  expect(await endless.answer()).toMatchObject({ status: 502 })
  endless.socket.destroy()
  const ask = `GET /protocols HTTP/1.1\r\nHost: ${HOST}\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n`
  const changed = await speak(target(), ask)
  expect(await changed.answer()).toMatchObject({ status: 502 })
  changed.socket.destroy()
})

test('HTTP/1.0 knows none of them', async () => {
  const reader = await get('/early', '1.0')
  expect(await reader.until('\r\n\r\n')).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
  reader.socket.destroy()
})

test('over HTTP/2 it is a head of its own', async () => {
  const session = await openHttp2(target())
  const stream = session.request({ ':path': '/early', ':authority': HOST })
  const interim: IncomingHttpHeaders[] = []
  stream.on('headers', (headers) => interim.push(headers))
  const status = await new Promise((resolve) => stream.once('response', (headers) => resolve(headers[':status'])))
  expect(interim).toEqual([expect.objectContaining({ ':status': 103, link: '</a.css>; rel=preload' })])
  expect(Object.keys(interim[0]!)).toEqual([':status', 'link'])
  expect(status).toBe(200)
  session.destroy()
})

test('who waits for 100 gets it, also when another interim answer came first and the application is deaf', async () => {
  const reader = await speak(target(), `POST /deaf HTTP/1.1\r\nHost: ${HOST}\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n`)
  expect(await reader.until('\r\n\r\n')).toMatch(/^HTTP\/1\.1 103 /)
  expect(await reader.until('\r\n\r\n')).toBe('HTTP/1.1 100 Continue\r\n\r\n')
  reader.socket.write('abc')
  expect(await reader.answer()).toMatchObject({ status: 200, body: 'ok' })
  reader.socket.destroy()
})

test('who waits for 100 gets it once, though the application says it late, and twice', async () => {
  const head = `POST /late HTTP/1.1\r\nHost: ${HOST}\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n`
  const reader = await speak(target(), head)
  expect(await reader.until('\r\n\r\n')).toBe('HTTP/1.1 100 Continue\r\n\r\n')
  await pause(600)
  reader.socket.write('abc')
  expect(await reader.until('\r\n\r\n')).toMatch(/^HTTP\/1\.1 200 /)
  reader.socket.destroy()

  const session = await openHttp2(target())
  const asking = { ':path': '/late', ':method': 'POST', ':authority': HOST, expect: '100-continue', 'content-length': 3 }
  const stream = session.request(asking, { endStream: false })
  let told = 0
  stream.on('continue', () => {
    told += 1
    if (told === 1) setTimeout(() => stream.end('abc'), 600)
  })
  const status = await new Promise((resolve) => stream.once('response', (headers) => resolve(headers[':status'])))
  expect([status, told]).toEqual([200, 1])
  session.destroy()
})

test('an answer without Date gets the time; a 426 says over HTTP/1.1 what to ask for', async () => {
  const reader = await get('/upgrade')
  const head = await reader.until('\r\n\r\n')
  expect(head).toMatch(/^HTTP\/1\.1 426 /)
  expect(head).toMatch(/\r\nUpgrade: foo\/2\r\n/)
  expect(Math.abs(Date.parse(/\r\nDate: (.*)\r\n/.exec(head)![1]!) - Date.now())).toBeLessThan(20_000)
  reader.socket.destroy()
  const session = await openHttp2(target())
  const headers = await new Promise<IncomingHttpHeaders>((resolve) =>
    session.request({ ':path': '/upgrade', ':authority': HOST }).once('response', resolve),
  )
  expect(headers).toMatchObject({ ':status': 426, date: expect.stringMatching(/ GMT$/) })
  expect(headers).not.toHaveProperty('upgrade')
  session.destroy()
})
