import { once } from 'node:events'
import { createServer } from 'node:http'
import { createServer as createHttp2Server } from 'node:http2'
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net'
import { afterAll, expect, test } from 'vitest'
import { frame, GOAWAY, PUSH_PROMISE, RST_STREAM, requestBlock, SETTINGS, word } from '../../test/support/http2-frames.ts'
import type { UpstreamProtocol } from '../edge/upstream.ts'
import { createUpstreamCheck } from './upstream-check.ts'

const upstreamCheck = createUpstreamCheck({ addressesOf: async ({ host }) => [host] }, [])
const check = (url: URL, protocol: UpstreamProtocol) => upstreamCheck(url, protocol, 'ada@vendor.test')
const plain = createServer((_request, response) => response.writeHead(418).end('no'))
const http2 = createHttp2Server((_request, response) => response.writeHead(418).end('no'))
afterAll(() => {
  plain.close()
  http2.close()
})

async function addressOf(server: Server): Promise<URL> {
  if (!server.listening) await once(server.listen(0, '127.0.0.1'), 'listening')
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
}

test('an upstream is asked in the protocol in which it is spoken to', async () => {
  expect(await check(await addressOf(plain), 'http1')).toEqual({ kind: 'answered', status: 418 })
  expect(await check(await addressOf(http2), 'h2c')).toEqual({ kind: 'answered', status: 418 })
})

test('an upstream that speaks another protocol does not answer', async () => {
  const sentence = (protocol: string) =>
    expect.stringMatching(`does not answer yet: it does not speak ${protocol}\\. Visitors get a 502 until it does`)
  expect(await check(await addressOf(plain), 'h2c')).toEqual({ kind: 'unreachable', sentence: sentence('HTTP/2') })
  expect(await check(await addressOf(http2), 'http1')).toEqual({ kind: 'unreachable', sentence: sentence('HTTP/1.1') })
})

test.each([
  ['where nothing listens', 'http', undefined, 'nothing there accepts connections (ECONNREFUSED)'],
  ['that hangs up', 'http', '', 'the connection was broken off (ECONNRESET)'],
  ['that speaks no TLS', 'https', '220 mail.vendor.test ESMTP\r\n', 'no secure connection came about (ERR_SSL_'],
])('an upstream %s is described in words, with the code behind them', async (_, scheme, greeting, reason) => {
  const server = createTcpServer((socket) => socket.on('error', () => {}).end(greeting ?? ''))
  const url = new URL(`${scheme}://${(await addressOf(server)).host}`)
  if (greeting === undefined) server.close()
  const answer = await check(url, 'http1')
  server.close()
  expect(answer).toMatchObject({ kind: 'unreachable', sentence: expect.stringContaining(`${url.origin} does not answer yet: ${reason}`) })
})

test('a change of protocol that nobody asked for is an answer too', async () => {
  const server = createTcpServer((socket) => socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n'))
  expect(await check(await addressOf(server), 'http1')).toEqual({ kind: 'answered', status: 101 })
  server.close()
})

test.each<[string, (socket: Socket) => unknown]>([
  ['takes back', (socket) => socket.write(frame(RST_STREAM, 0, 2, word(2)))],
  ['ends the session behind', (socket) => socket.write(frame(GOAWAY, 0, 0, Buffer.concat([word(0), word(2)])))],
  ['breaks the connection behind', (socket) => socket.resetAndDestroy()],
])('an upstream that pushes what nobody asked for, and %s it, is told as one without HTTP/2', async (_, go) => {
  const server = createTcpServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', () => {
      const promised = frame(PUSH_PROMISE, 4, 1, Buffer.concat([word(2), requestBlock('127.0.0.1')]))
      socket.write(Buffer.concat([frame(SETTINGS, 0, 0), frame(SETTINGS, 1, 0), promised]), () => setTimeout(go, 50, socket))
    })
  })
  expect(await check(await addressOf(server), 'h2c')).toMatchObject({ kind: 'unreachable' })
  server.close()
})
