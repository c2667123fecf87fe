import { once } from 'node:events'
import { createServer } from 'node:http'
import { createServer as createHttp2Server } from 'node:http2'
import { type AddressInfo, createServer as createTcpServer, type Server } from 'node:net'
import { afterAll, expect, test } from 'vitest'
import { createUpstreamCheck } from './upstream-check.ts'

const check = createUpstreamCheck({ addressesOf: async ({ host }) => [host] }, [])
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
  const sentence = expect.stringMatching(/does not answer yet: .*Visitors get a 502 until it does/)
  expect(await check(await addressOf(plain), 'h2c')).toEqual({ kind: 'unreachable', sentence })
  expect(await check(await addressOf(http2), 'http1')).toEqual({ kind: 'unreachable', sentence })
})

test('a change of protocol that nobody asked for is an answer too', async () => {
  const server = createTcpServer((socket) => socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n'))
  expect(await check(await addressOf(server), 'http1')).toEqual({ kind: 'answered', status: 101 })
  server.close()
})
