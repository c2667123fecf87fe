import { once } from 'node:events'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestEdge, type TestEdge } from '../support/edge.ts'
import { frame, PREFACE, requestBlock } from '../support/http2-frames.ts'
import { openTls, RawReader, speak } from '../support/raw-visitor.ts'
import { type RawUpstream, startRawUpstream } from '../support/upstream.ts'

const HOST = 'shop.customer.com'
const OTHER = 'other.customer.com'

let edge: TestEdge
let application: RawUpstream
/** What the application does with a request; each test sets its own. */
let onRequest: (socket: Socket, text: string) => void

beforeAll(async () => {
  application = await startRawUpstream((socket, _number, text) => {
    if (text.includes(`Host: ${OTHER}\r\n`)) answerOk(socket, OTHER)
    else onRequest(socket, text)
  })
  edge = await startTestEdge({ http2Engine: 'own', timeouts: { requestHeadMs: 5_000 } })
  await edge.route(HOST, application.url)
  await edge.route(OTHER, application.url)
})
afterAll(async () => {
  await edge.stop(0)
  await application.stop()
})

const target = (hostname = HOST) => ({ port: edge.httpsPort, hostname, ca: edge.ca.certPem })
const answerOk = (socket: Socket, body: string) => void socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`)

/** Nobody's socket is left, and somebody else is served as ever. */
async function expectNothingLeft(): Promise<void> {
  const reader = await speak(target(OTHER), `GET / HTTP/1.1\r\nHost: ${OTHER}\r\nConnection: close\r\n\r\n`)
  expect((await reader.answer()).body).toBe(OTHER)
  await reader.closed()
  await expect.poll(() => edge.report()).toMatchObject({ http1Connections: 0, http2Connections: 0, exchanges: 0, tunnels: 0 })
  const { connections, idle } = (await edge.report()).upstream
  expect(connections).toBe(idle)
}

const HEAD = `POST /a HTTP/1.1\r\nHost: ${HOST}\r\nContent-Length: 10\r\n\r\n`
const UPGRADE = `GET /a HTTP/1.1\r\nHost: ${HOST}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`
const SWITCHED = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'
const ANSWER = `HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n`
const silent = () => {}
const says = (text: string) => (socket: Socket) => void socket.write(text)

/** What the visitor has said and heard when it goes, and what the application has said by then. */
const VISITOR_GOES: [state: string, said: string, heard: string, application: (socket: Socket, text: string) => void][] = [
  ['before it has said anything', '', '', silent],
  ['in the middle of a head', HEAD.slice(0, 20), '', silent],
  ['behind a head', HEAD, '', silent],
  ['in the middle of its body', `${HEAD}abcde`, '', silent],
  ['behind its body', `${HEAD}abcdefghij`, '', silent],
  ['in the middle of chunks', `POST /a HTTP/1.1\r\nHost: ${HOST}\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab`, '', silent],
  ['when it waits for 100 Continue', HEAD.replace('\r\n\r\n', '\r\nExpect: 100-continue\r\n\r\n'), '', silent],
  [
    'when it has heard 100 Continue',
    HEAD.replace('\r\n\r\n', '\r\nExpect: 100-continue\r\n\r\n'),
    '100 Continue\r\n\r\n',
    says('HTTP/1.1 100 Continue\r\n\r\n'),
  ],
  ['when half of the answer’s head has come', `${HEAD}abcdefghij`, '', says(ANSWER.slice(0, 20))],
  ['behind the answer’s head', `${HEAD}abcdefghij`, '\r\n\r\n', says(ANSWER)],
  ['in the middle of the answer', `${HEAD}abcdefghij`, 'abc', says(`${ANSWER}abc`)],
  [
    'in the middle of chunks of the answer',
    `${HEAD}abcdefghij`,
    'abc',
    says('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc'),
  ],
  ['behind the answer', `${HEAD}abcdefghij`, 'abcdefghij', says(`${ANSWER}abcdefghij`)],
  ['when it was answered before its body', HEAD, 'abcdefghij', says(`${ANSWER}abcdefghij`)],
  ['with three requests waiting', `${HEAD}abcdefghij${HEAD}abcdefghij${HEAD}`, '', silent],
  ['when it waits for a change of protocol', UPGRADE, '', silent],
  ['when the protocol has changed', UPGRADE, '\r\n\r\n', says(SWITCHED)],
  ['in the middle of a tunnel', UPGRADE, 'tunnel', says(`${SWITCHED}tunnel`)],
]

const LEAVE: [how: string, leave: (socket: TLSSocket) => void][] = [
  ['closes', (socket) => void socket.end()],
  ['is cut off', (socket) => void socket.destroy()],
]

describe.each(LEAVE)('a visitor that %s', (_how, leave) => {
  test.each(VISITOR_GOES)('%s leaves nothing behind', async (_state, said, heard, doing) => {
    onRequest = doing
    const reader = await speak(target(), said)
    if (heard !== '') await reader.until(heard)
    else if (said.includes('\r\n\r\n')) await expect.poll(async () => (await edge.report()).exchanges).toBe(1)
    else await expect.poll(async () => (await edge.report()).http1Connections).toBe(1)
    leave(reader.socket as TLSSocket)
    await expectNothingLeft()
  })
})

/** What the application has said when it goes, and how the visitor's connection then stands: with a whole answer of that status, or cut. */
const APPLICATION_GOES: [state: string, said: string, before: string, outcome: number | 'cut'][] = [
  ['before it has read a body', `${HEAD}abc`, '', 502],
  ['without an answer', `${HEAD}abcdefghij`, '', 502],
  ['behind 100 Continue', HEAD.replace('\r\n\r\n', '\r\nExpect: 100-continue\r\n\r\n'), 'HTTP/1.1 100 Continue\r\n\r\n', 502],
  ['in the middle of a head', `${HEAD}abcdefghij`, ANSWER.slice(0, 20), 502],
  ['behind a head', `${HEAD}abcdefghij`, ANSWER, 'cut'],
  ['in the middle of an answer', `${HEAD}abcdefghij`, `${ANSWER}abc`, 'cut'],
  ['in the middle of a chunk', `${HEAD}abcdefghij`, 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc', 'cut'],
  ['before the last chunk', `${HEAD}abcdefghij`, 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n', 'cut'],
  ['behind the last chunk', `${HEAD}abcdefghij`, 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n', 200],
  ['behind an answer', `${HEAD}abcdefghij`, `${ANSWER}abcdefghij`, 200],
  ['instead of changing the protocol', UPGRADE, '', 502],
  ['in the middle of a tunnel', UPGRADE, `${SWITCHED}tunnel`, 'cut'],
]

const GO: [how: string, go: (socket: Socket, before: string) => void][] = [
  ['closes', (socket, before) => void socket.end(before)],
  [
    'is cut off',
    (socket, before) =>
      void (before === '' ? socket.resetAndDestroy() : socket.write(before, () => setTimeout(() => socket.resetAndDestroy(), 20))),
  ],
]

describe.each(GO)('an application that %s', (_how, go) => {
  test.each(APPLICATION_GOES)('%s costs one exchange, and the visitor is not deceived', async (_state, said, before, outcome) => {
    onRequest = (socket) => go(socket, before)
    const reader = await speak(target(), said)
    if (typeof outcome === 'number') {
      let answer = await reader.answer()
      if (answer.status === 100) answer = await reader.answer()
      expect(answer.status).toBe(outcome)
    } else {
      const text = await reader.closed()
      expect(text.endsWith('\r\n0\r\n\r\n')).toBe(false)
      expect(text.endsWith('abcdefghij')).toBe(false)
    }
    reader.socket.destroy()
    await expectNothingLeft()
  })
})

describe('wherever bytes are cut', () => {
  const request = `POST /cut?a HTTP/1.1\r\nHost: ${HOST}\r\nX-A: b\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\nX-Sum: 1\r\n\r\n`
  const answer = 'HTTP/1.1 200 OK\r\nX-A: b\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\nX-Sum: 1\r\n\r\n'

  const BODY = /^(3\r\nabc|1\r\na\r\n2\r\nbc|2\r\nab\r\n1\r\nc)\r\n0\r\nX-Sum: 1\r\n\r\n$/

  test('a request means the same', async () => {
    const texts: string[] = []
    onRequest = (socket, text) => {
      texts.push(text)
      if (/\r\n0\r\n(X-Sum: 1\r\n)?\r\n$/.test(texts.join(''))) answerOk(socket, HOST)
    }
    const { socket, reader } = await open()
    for (let at = 1; at < request.length; at += 1) {
      texts.length = 0
      await sendCut(socket, request, at)
      expect((await reader.answer()).body).toBe(HOST)
      const all = texts.join('')
      expect(all).toMatch(/^POST \/cut\?a HTTP\/1\.1\r\n/)
      expect(all.slice(all.indexOf('\r\n\r\n') + 4)).toMatch(BODY)
    }
    socket.destroy()
    await expectNothingLeft()
  })

  test('an answer means the same', async () => {
    let at = 0
    onRequest = (socket) => {
      socket.setNoDelay(true)
      void sendCut(socket, answer, at)
    }
    const { socket, reader } = await open()
    for (at = 1; at < answer.length; at += 1) {
      socket.write(`GET /${at} HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
      expect(await reader.until('\r\n\r\n')).toContain('X-A: b')
      expect(await reader.until('\r\n\r\n')).toMatch(BODY)
    }
    socket.destroy()
    await expectNothingLeft()
  })

  async function open(): Promise<{ socket: TLSSocket; reader: RawReader }> {
    const socket = await openTls(target())
    socket.setNoDelay(true)
    return { socket, reader: new RawReader(socket) }
  }

  /** In two pieces that the other end reads one after the other, as far as one end can see to that. */
  async function sendCut(socket: Socket, text: string, at: number): Promise<void> {
    await new Promise((resolve) => socket.write(text.slice(0, at), 'latin1', resolve))
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
    socket.write(text.slice(at), 'latin1')
  }
})

test('a conversation over HTTP/2 that ends at any byte leaves nothing behind', async () => {
  onRequest = (socket) => answerOk(socket, HOST)
  const conversation = Buffer.concat([
    PREFACE,
    frame(4, 0, 0),
    frame(1, 4, 1, requestBlock(HOST, { method: 'POST', path: '/a', more: ['content-length', '3'] })),
    frame(0, 1, 1, Buffer.from('abc')),
    frame(1, 5, 3, requestBlock(HOST)),
  ])
  for (let end = 0; end <= conversation.length; end += 1) {
    const socket = await openTls({ ...target(), more: { ALPNProtocols: ['h2'] } })
    const closed = once(socket, 'close')
    socket.resume()
    socket.end(conversation.subarray(0, end))
    await closed
  }
  await expectNothingLeft()
})
