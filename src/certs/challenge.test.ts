import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { parseHostname } from '../hostname.ts'
import { answerChallenge, CHALLENGE_PATH, selfCheck } from './challenge.ts'

const hostname = parseHostname('shop.customer.com')
const thumbprint = 'LPJNul-wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ'

const ours: RequestListener = (request, response) =>
  void response.end(answerChallenge(request.url!.slice(CHALLENGE_PATH.length), thumbprint))

async function listen(server: Server, address = '127.0.0.1', port = 0): Promise<number> {
  await new Promise<void>((resolve) => server.listen(port, address, resolve))
  onTestFinished(() => void server.close())
  return (server.address() as AddressInfo).port
}

const serve = (listener: RequestListener, address?: string, port?: number) => listen(createServer(listener), address, port)
const check = (port: number, addresses = ['127.0.0.1']) => selfCheck({ hostname, addresses, port, thumbprint })

test('the answer to a challenge is the one of RFC 8555 §8.3', () => {
  expect(answerChallenge('LoqXcYV8q5ONbJQxbmR7SCTNo3tiAXDfowjxAjEuX0s', '9jg46WB3rR_AHD-EBXdN7cBkH1WOu0tA3M9fm21mqTI')).toBe(
    'LoqXcYV8q5ONbJQxbmR7SCTNo3tiAXDfowjxAjEuX0s.9jg46WB3rR_AHD-EBXdN7cBkH1WOu0tA3M9fm21mqTI',
  )
})

test('an edge of ours is recognised, and asked by the hostname', async () => {
  const hosts: unknown[] = []
  const port = await serve((request, response) => {
    hosts.push(request.headers.host)
    ours(request, response)
  })
  expect(await check(port)).toEqual({ kind: 'ours' })
  expect(hosts).toEqual([`${hostname}:${port}`])
})

test.each([
  ['has not heard of the claim yet', 404],
  ['cannot look it up at the moment', 503],
])('an edge that %s is ours a moment later', async (_, status) => {
  let asked = 0
  const port = await serve((request, response) => {
    if (asked++ === 0) response.writeHead(status).end()
    else ours(request, response)
  })
  expect(await check(port)).toEqual({ kind: 'ours' })
})

test('nobody who listens is no connection', async () => {
  const port = await serve(ours)
  const answer = await check(port, ['127.0.0.9'])
  expect(answer).toMatchObject({
    kind: 'cannot-connect',
    sentence: `No connection to http://shop.customer.com/ (port ${port} of 127.0.0.9): nothing there accepts connections (ECONNREFUSED).`,
  })
})

test('a hostname without an address is no connection', async () => {
  expect(await check(80, [])).toMatchObject({ kind: 'cannot-connect', sentence: 'No connection to shop.customer.com: it has no address.' })
})

test('who accepts and says nothing is given up after a deadline', async () => {
  const sockets: Socket[] = []
  const port = await listen(createTcpServer((socket) => void sockets.push(socket)))
  expect(await check(port)).toMatchObject({ kind: 'cannot-connect', sentence: expect.stringContaining('no answer within 3 seconds') })
  for (const socket of sockets) socket.destroy()
})

test('one address of ours suffices when the others cannot be reached', async () => {
  const port = await serve(ours)
  expect(await check(port, ['127.0.0.9', '127.0.0.1'])).toEqual({ kind: 'ours' })
})

test('one address that somebody else answers decides, since an authority may choose it', async () => {
  const port = await serve(ours)
  await serve((_request, response) => void response.end('parked'), '127.0.0.2', port)
  expect(await check(port, ['127.0.0.1', '127.0.0.2'])).toMatchObject({
    kind: 'answered-by-other',
    sentence: expect.stringContaining('127.0.0.2'),
  })
})

test('an IPv6 address is asked too', async () => {
  const port = await serve(ours, '::1')
  expect(await check(port, ['::1'])).toEqual({ kind: 'ours' })
})

test.for<[string, RequestListener, RegExp]>([
  ['another text', (_request, response) => void response.end('<h1>Parked</h1>'), /a text that is not ours/],
  [
    'the answer of another account',
    (request, response) => void response.end(`${request.url!.slice(CHALLENGE_PATH.length)}.other`),
    /a text that is not ours/,
  ],
  [
    'our answer with more behind it',
    (request, response) => void response.end(`${request.url!.slice(CHALLENGE_PATH.length)}.${thumbprint}x`),
    /not ours/,
  ],
  ['an endless text', (_request, response) => void response.end('x'.repeat(5_000_000)), /a text that is not ours/],
  ['a 404 that stays', (_request, response) => void response.writeHead(404).end(), /answers with status 404/],
  ['a 403', (_request, response) => void response.writeHead(403).end(), /answers with status 403/],
  [
    'a redirect to https',
    (request, response) => void response.writeHead(301, { location: `https://${hostname}${request.url}` }).end(),
    /redirects to https:\/\/shop\.customer\.com/,
  ],
])('%s is somebody else', async ([, listener, words]) => {
  const answer = await check(await serve(listener))
  expect(answer).toMatchObject({ kind: 'answered-by-other', sentence: expect.stringMatching(words) })
})

test('who speaks no HTTP is somebody else', async () => {
  const port = await listen(createTcpServer((socket) => void socket.end('220 mail.customer.com ESMTP\r\n').on('error', () => undefined)))
  expect(await check(port)).toMatchObject({ kind: 'answered-by-other', sentence: expect.stringContaining('does not speak HTTP') })
})

test('a change of protocol that nobody asked for is an answer like any other', async () => {
  const port = await listen(
    createTcpServer((socket) => socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n')),
  )
  expect(await check(port)).toMatchObject({ kind: 'answered-by-other', sentence: expect.stringContaining('status 101') })
})
