import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { createTcpServer } from './tcp.ts'

const NOBODY = { respond: async () => undefined, slip: () => undefined }

/** One connection after the other, each as if it came from its address; says how many the server lets in. */
async function admitted(addresses: readonly string[]): Promise<number> {
  let dropped = 0
  const { server, stop } = createTcpServer({ ...NOBODY, count: () => (dropped += 1) })
  const clients: Socket[] = []
  const front = createServer()
  onTestFinished(async () => {
    for (const client of clients) client.destroy()
    front.close()
    await stop()
  })
  await once(front.listen(0, '127.0.0.1'), 'listening')
  for (const address of addresses) {
    const accepted = once(front, 'connection')
    clients.push(connect((front.address() as AddressInfo).port, '127.0.0.1').on('error', () => {}))
    const [socket] = (await accepted) as [Socket]
    server.emit('connection', Object.defineProperty(socket, 'remoteAddress', { value: address }))
  }
  return addresses.length - dropped
}

const thirty = (addressOf: (n: number) => string) => Array.from({ length: 30 }, (_, n) => addressOf(n))

test.for<[string, string[], number]>([
  ['an IPv4 address', thirty(() => '203.0.113.1'), 20],
  ['an IPv4 address, written in two ways', thirty((n) => (n % 2 ? '203.0.113.1' : '::ffff:203.0.113.1')), 20],
  ['neighbours in IPv4', thirty((n) => `203.0.113.${n}`), 30],
  ['an IPv6 /64', thirty((n) => `2001:db8:1:200::${n + 1}`), 20],
  ['an IPv6 /56', thirty((n) => `2001:db8:1:2${(16 + n).toString(16)}::1`), 20],
  ['networks in IPv6', thirty((n) => `2001:db8:${n + 1}::1`), 30],
])('of 30 connections, those of %s have their place', async ([, addresses, expected]) => {
  expect(await admitted(addresses)).toBe(expected)
})
