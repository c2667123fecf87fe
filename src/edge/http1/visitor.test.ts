import { Duplex } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import { expect, test } from 'vitest'
import { settled } from '../../../test/support/http2-pair.ts'
import { FieldSection } from '../field-section.ts'
import { TIMEOUTS } from '../timeouts.ts'
import { createTurn } from '../turn.ts'
import { Http1Visitor } from './visitor.ts'

test('an answer that has not left when its connection closes has the time of any body, and only then a moment more', async () => {
  let written = ''
  const held: (() => void)[] = []
  const socket = new Duplex({
    read() {},
    write(chunk: Buffer, _encoding, done) {
      written += chunk.toString('latin1')
      held.push(done)
    },
  })
  const visitor = new Http1Visitor(
    socket as TLSSocket,
    { servername: undefined, peer: '192.0.2.1', covers: () => true },
    {
      timeouts: TIMEOUTS,
      turn: createTurn(),
      isDraining: () => false,
      onExchange(exchange) {
        exchange.answer({ status: 200, reason: 'OK', fields: FieldSection.EMPTY, body: 5 })
        exchange.write(Buffer.from('whole'))
        exchange.end()
      },
    },
  )
  const soon = () => performance.now() + 10_000
  socket.push('GET / HTTP/1.1\r\nHost: shop.customer.com\r\nConnection: close\r\n\r\n')
  await settled()
  expect(written).toMatch(/^HTTP\/1\.1 200 OK\r\n[\s\S]*whole$/)
  visitor.look(soon())
  expect(socket.destroyed).toBe(false)
  for (const done of held) done()
  await settled()
  visitor.look(performance.now())
  expect(socket.destroyed).toBe(false)
  visitor.look(soon())
  expect(socket.destroyed).toBe(true)
})
