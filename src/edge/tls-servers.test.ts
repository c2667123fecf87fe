import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import type { Server } from 'node:tls'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestCa, type TestCa, type TestCertificate } from '../../test/support/certificates.ts'
import { openTls } from '../../test/support/raw-visitor.ts'
import { parseHostname } from '../hostname.ts'
import { createTlsServers } from './tls-servers.ts'

const HOST = 'shop.customer.com'
const BOUND = 20

let ca: TestCa
let certificate: TestCertificate
let begin: Server
const door = createServer((socket) => void begin.emit('connection', socket))

beforeAll(async () => {
  ca = await createTestCa()
  certificate = await ca.issue([HOST, '*.customer.net'])
  door.listen(0, '127.0.0.1')
  await once(door, 'listening')
})
afterAll(() => void door.close())

const create = (max = BOUND) =>
  createTlsServers({ handshakeMs: 5_000, ticketKeys: undefined, listen: (server) => server.on('tlsClientError', () => {}), max })
const handshakeAt = (server: Server) => {
  begin = server
  return openTls({ port: (door.address() as AddressInfo).port, hostname: HOST, ca: ca.certPem })
}

test('three times as many names as the bound: memory holds the bound, and a name that left handshakes again', async () => {
  const servers = create()
  const names = Array.from({ length: 3 * BOUND }, (_, i) => `shop-${i}:1`)
  const first = servers.serverFor({ id: names[0]!, ...certificate })
  const living = await handshakeAt(first.server)
  for (const id of names) servers.serverFor({ id, ...certificate })
  expect(servers.counts()).toEqual({ kept: BOUND, made: 3 * BOUND })

  const again = servers.serverFor({ id: names[0]!, ...certificate })
  expect(again).not.toBe(first)
  expect(servers.counts()).toEqual({ kept: BOUND, made: 3 * BOUND + 1 })
  const second = await handshakeAt(again.server)
  expect([living.destroyed, second.getPeerCertificate().subject.CN]).toEqual([false, HOST])
  living.destroy()
  second.destroy()
})

test('the names that are visited stay, whatever number of others comes once', () => {
  const servers = create()
  const visited = servers.serverFor({ id: 'visited:1', ...certificate })
  for (let i = 0; i < 10 * BOUND; i += 1) {
    servers.serverFor({ id: `once-${i}:1`, ...certificate })
    expect(servers.serverFor({ id: 'visited:1', ...certificate })).toBe(visited)
  }
})

test('a new certificate of the same name is another one, and new ticket keys leave none of the old', () => {
  const servers = create()
  const old = servers.serverFor({ id: 'shop:1', ...certificate })
  expect(servers.serverFor({ id: 'shop:2', ...certificate })).not.toBe(old)
  const keys = Buffer.alloc(48, 1)
  servers.setTicketKeys(keys)
  expect(servers.counts().kept).toBe(0)
  const after = servers.serverFor({ id: 'shop:1', ...certificate })
  servers.setTicketKeys(Buffer.from(keys)) // told again, as after the link to the follower was lost
  expect(servers.serverFor({ id: 'shop:1', ...certificate })).toBe(after)
})

test.each([
  [HOST, true],
  ['www.customer.net', true],
  ['a.www.customer.net', false],
  ['customer.net', false],
  ['other.customer.com', false],
])('whether a certificate for shop.customer.com and *.customer.net is for %s: %s', (name, expected) => {
  expect(
    create()
      .serverFor({ id: '1', ...certificate })
      .isFor(parseHostname(name)),
  ).toBe(expected)
})
