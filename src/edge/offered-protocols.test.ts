import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { connect, createServer, type TLSSocket } from 'node:tls'
import { expect, test } from 'vitest'
import { createTestCa } from '../../test/support/certificates.ts'
import { forgetOfferedProtocols } from './offered-protocols.ts'

const optionsOf = (socket: TLSSocket) => (socket as unknown as { _tlsOptions: { ALPNProtocols: Buffer | undefined } })._tlsOptions

test.skipIf(process.versions.bun !== undefined)(
  'the list goes from one connection, which keeps what was agreed on, and from no other',
  async () => {
    const { chainPem, keyPem } = await (await createTestCa()).issue(['shop.customer.com'])
    const server = createServer({ cert: chainPem, key: keyPem, ALPNProtocols: ['h2', 'http/1.1'] }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const open = async () => {
      const accepted = once(server, 'secureConnection')
      connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ALPNProtocols: ['h2'] }).on('error', () => {})
      const [socket] = (await accepted) as [TLSSocket]
      return socket.on('error', () => {})
    }
    const first = await open()
    const second = await open()
    expect(optionsOf(first).ALPNProtocols).toBeInstanceOf(Buffer) // else this node has nothing to forget, and the function can go
    forgetOfferedProtocols(first)
    expect([optionsOf(first).ALPNProtocols, first.alpnProtocol]).toEqual([undefined, 'h2'])
    expect(optionsOf(second).ALPNProtocols).toBeInstanceOf(Buffer)
    const third = await open()
    expect(third.alpnProtocol).toBe('h2')
    for (const socket of [first, second, third]) socket.destroy()
    server.close()
  },
)
