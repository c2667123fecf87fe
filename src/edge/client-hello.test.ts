import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import { isValidation, readClientHello } from './client-hello.ts'

/** What a real client sends first. */
async function helloOf(servername: string | undefined, ALPNProtocols?: string[]): Promise<Buffer> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const socket = connect((server.address() as { port: number }).port, '127.0.0.1')
  const [peer] = (await once(server, 'connection')) as [Socket]
  const tls = connectTls({ socket, ALPNProtocols, ...(servername === undefined ? {} : { servername }) })
  tls.on('error', () => {})
  const [hello] = (await once(peer, 'data')) as [Buffer]
  tls.destroy()
  peer.destroy()
  server.close()
  return hello
}

let named: Buffer
beforeAll(async () => {
  named = await helloOf('shop.customer.com')
})

test('the server name of a real handshake is read', async () => {
  expect(readClientHello(named)).toMatchObject({ kind: 'hello', servername: 'shop.customer.com' })
  expect(readClientHello(await helloOf(undefined))).toMatchObject({ kind: 'hello', servername: undefined })
})

test.each<[string[] | undefined, boolean]>([
  [['acme-tls/1'], true],
  [['acme-tls/1', 'h2'], false],
  [['http/1.1', 'acme-tls/1'], false],
  [['acme-tls/2'], false],
  [['h2', 'http/1.1'], false],
  [undefined, false],
])('who offers the protocols %j validates a challenge: %s', async (protocols, validates) => {
  const hello = readClientHello(await helloOf('shop.customer.com', protocols))
  expect(hello.kind === 'hello' && isValidation(hello)).toBe(validates)
})

test('as long as a byte is missing the answer is to wait', () => {
  for (let end = 0; end < named.length; end += 1) expect(readClientHello(named.subarray(0, end)).kind).toBe('incomplete')
})

test('a hello in many records is the same hello', () => {
  const message = named.subarray(5)
  const records: Buffer[] = []
  for (let at = 0; at < message.length; at += 50) {
    const part = message.subarray(at, at + 50)
    records.push(Buffer.from([22, 3, 1, part.length >> 8, part.length & 255]), part)
  }
  expect(readClientHello(Buffer.concat(records))).toMatchObject({ kind: 'hello', servername: 'shop.customer.com' })
})

test('what comes behind the hello is not read, as the early data of a client that has a ticket of another server', () => {
  const record = (type: number, part: Buffer) => Buffer.concat([Buffer.from([type, 3, 3, part.length >> 8, part.length & 255]), part])
  const early = Buffer.concat([record(20, Buffer.from([1])), record(23, Buffer.alloc(16_000)), record(23, Buffer.alloc(300))])
  const message = named.subarray(5)
  for (const hello of [named, Buffer.concat([record(22, message.subarray(0, 3)), record(22, message.subarray(3))])])
    expect(readClientHello(Buffer.concat([hello, early]))).toMatchObject({ kind: 'hello', servername: 'shop.customer.com' })
  expect(readClientHello(Buffer.concat([named.subarray(0, -1), early])).kind).toBe('hello') // its last byte is another one
  expect(readClientHello(Buffer.concat([record(22, message.subarray(0, 100)), early])).kind).toBe('unreadable')
})

test('a hello in crumbs is given up after a few', () => {
  const crumbs = Array.from({ length: 65 }, (_, i) => [22, 3, 1, 0, 1, named[5 + i]!])
  expect(readClientHello(Buffer.from(crumbs.slice(0, 64).flat())).kind).toBe('incomplete')
  expect(readClientHello(Buffer.from(crumbs.flat())).kind).toBe('unreadable')
})

test.each(['GET / HTTP/1.1\r\n\r\n', 'SSH-2.0-x\r\n', '\x16\x02\x01\x00\x01\x01', '\x16\x03\x01\x00\x01\x02'])(
  'what is no TLS is unreadable: %j',
  (text) => {
    expect(readClientHello(Buffer.from(text, 'latin1')).kind).toBe('unreadable')
  },
)

test('no damage to a hello makes the reader fail', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(named.length - 1), fc.nat(255)), { minLength: 1, maxLength: 8 }), (changes) => {
      const damaged = Buffer.from(named)
      for (const [at, value] of changes) damaged[at] = value
      const hello = readClientHello(damaged)
      expect(['hello', 'incomplete', 'unreadable']).toContain(hello.kind)
      if (hello.kind === 'hello') expect(isValidation(hello)).toBe(false)
    }),
    { numRuns: 3_000 },
  )
})
