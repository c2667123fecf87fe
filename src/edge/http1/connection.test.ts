import { Duplex } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import { expect, test } from 'vitest'
import { settled } from '../../../test/support/line.ts'
import type { EngineParts, Exchange } from '../engine.ts'
import { FieldSection } from '../field-section.ts'
import { TIMEOUTS } from '../timeouts.ts'
import { createTurn } from '../turn.ts'
import { Http1Connection } from './connection.ts'

/** A visitor over a socket in memory, whose writes are done when the test says so. */
function createVisitor(onExchange: EngineParts['onExchange'], { allowHalfOpen = true } = {}) {
  const seen = { written: '', hasEnded: false }
  const held: (() => void)[] = []
  const socket = new Duplex({
    allowHalfOpen,
    read() {},
    write(chunk: Buffer, _encoding, done) {
      seen.written += chunk.toString('latin1')
      held.push(done)
    },
    final(done) {
      seen.hasEnded = true
      done()
    },
  })
  const connection = { servername: undefined, peer: '192.0.2.1', covers: () => true }
  const parts = { timeouts: TIMEOUTS, turn: createTurn(), isDraining: () => false, onExchange, http2ErrorSent() {} }
  const visitor = new Http1Connection(socket as TLSSocket, connection, parts)
  const release = async () => {
    for (const done of held.splice(0)) done()
    await settled()
  }
  return { visitor, socket, seen, release }
}

const answerWhole = (exchange: Exchange, refusedWith?: number) => {
  exchange.answer({ status: refusedWith ?? 200, reason: 'OK', fields: FieldSection.EMPTY, body: 5 })
  exchange.write(Buffer.from('whole'))
  exchange.end()
}

test('an answer that has not left when its connection closes has the time of any body, and only then a moment more', async () => {
  const { visitor, socket, seen, release } = createVisitor(answerWhole)
  const soon = () => performance.now() + 10_000
  const beganMs = performance.now()
  socket.push('GET / HTTP/1.1\r\nHost: shop.customer.com\r\nConnection: close\r\n\r\n')
  await settled()
  expect(seen.written).toMatch(/^HTTP\/1\.1 200 OK\r\n[\s\S]*whole$/)
  visitor.look(soon())
  expect(socket.destroyed).toBe(false)
  await release()
  visitor.look(beganMs)
  expect(socket.destroyed).toBe(false)
  visitor.look(soon())
  expect(socket.destroyed).toBe(true)
})

const GET = 'GET / HTTP/1.1\r\nHost: shop.customer.com\r\n\r\n'

test('a whole answer that has not left is not lost with the one behind it that has to be cut', async () => {
  const exchanges: Exchange[] = []
  const { socket, seen, release } = createVisitor((exchange) => {
    exchanges.push(exchange)
    if (exchanges.length === 1) return answerWhole(exchange)
    exchange.answer({ status: 200, reason: 'OK', fields: FieldSection.EMPTY, body: 'unknown' })
    exchange.write(Buffer.from('part'))
  })
  socket.push(GET + GET)
  await settled()
  let outcome = 'open'
  exchanges[1]!.onGone(() => (outcome = 'gone'))
  exchanges[1]!.abort()
  expect([outcome, socket.destroyed, seen.hasEnded]).toEqual(['gone', false, false])
  for (let i = 0; i < 3; i += 1) await release()
  expect(seen.written).toMatch(/whole[\s\S]*\r\n4\r\npart\r\n$/)
  expect(seen.hasEnded).toBe(true)
})

const MALFORMED_POST = 'POST /2 HTTP/1.1\r\nHost: shop.customer.com\r\nTransfer-Encoding: chunked\r\n\r\nno size\r\n'

test('a malformed upload cuts the answer under way, and no whole one before it that has not left', async () => {
  let outcome = 'open'
  const { socket, seen, release } = createVisitor((exchange) => {
    if (exchange.method === 'GET') return answerWhole(exchange)
    exchange.onGone(() => (outcome = 'gone'))
    exchange.answer({ status: 200, reason: 'OK', fields: FieldSection.EMPTY, body: 'unknown' })
    exchange.write(Buffer.from('part'))
  })
  socket.push(GET + MALFORMED_POST)
  await settled()
  expect([outcome, socket.destroyed, seen.hasEnded]).toEqual(['gone', false, false])
  for (let i = 0; i < 3; i += 1) await release()
  expect(seen.written).toMatch(/whole[\s\S]*\r\n4\r\npart\r\n$/)
  expect(seen.hasEnded).toBe(true)
})

test('a malformed upload does not cut its own answer that is whole and leaves slowly', async () => {
  const bytes = 256 * 1024
  const { socket, seen, release } = createVisitor((exchange) => {
    exchange.answer({ status: 200, reason: 'OK', fields: FieldSection.EMPTY, body: bytes })
    exchange.write(Buffer.alloc(bytes, '.'))
    exchange.end()
  })
  socket.push(MALFORMED_POST)
  await settled()
  expect(socket.destroyed).toBe(false)
  for (let i = 0; i < 3; i += 1) await release()
  expect(seen.written.split('\r\n\r\n')[1]).toHaveLength(bytes)
  expect(seen.hasEnded).toBe(true)
})

test('an answer under way to who has ended its own side is cut, and not ended as if it were complete', async () => {
  const { socket, seen, release } = createVisitor(
    (exchange) => {
      exchange.answer({ status: 200, reason: 'OK', fields: FieldSection.EMPTY, body: 'unknown' })
      exchange.write(Buffer.from('half'))
    },
    { allowHalfOpen: false },
  )
  socket.on('error', () => {})
  socket.push('GET / HTTP/1.0\r\n\r\n')
  await settled()
  await release()
  socket.push(null)
  await settled()
  await release()
  expect(seen.written).toMatch(/half$/)
  expect([socket.destroyed, seen.hasEnded]).toEqual([true, false])
})

test('an empty line behind a request begins nothing, also in two pieces, and one before the first has the time of a head', async () => {
  const { visitor, socket, seen, release } = createVisitor(answerWhole)
  socket.push('\r')
  await settled()
  socket.push('\nGET / HTTP/1.1\r\nHost: shop.customer.com\r\n\r\n')
  await settled()
  await release()
  for (const piece of ['\r', '\n']) {
    socket.push(piece)
    await settled()
  }
  visitor.look(performance.now() + TIMEOUTS.requestHeadMs + 1_000)
  await release()
  expect(seen.written).not.toContain('408')
  expect(seen.hasEnded).toBe(false)
  socket.push('\r')
  await settled()
  visitor.look(performance.now() + TIMEOUTS.requestHeadMs + 1_000)
  await settled()
  expect(seen.written).toContain('HTTP/1.1 408')
})

test('a visitor that takes nothing of the rest of an answer is let go in time, and not said to have gone', async () => {
  const gone: boolean[] = []
  const { visitor, socket } = createVisitor((exchange) => {
    exchange.onGone((isStalled) => void gone.push(isStalled))
    exchange.answer({ status: 200, reason: 'OK', fields: FieldSection.EMPTY, body: 100_000 })
    exchange.write(Buffer.alloc(100_000))
    exchange.end()
  })
  socket.push(GET)
  await settled()
  visitor.look(performance.now() + TIMEOUTS.bodyIdleMs - 1_000)
  await settled()
  expect(gone).toEqual([])
  visitor.look(performance.now() + TIMEOUTS.bodyIdleMs)
  await settled()
  expect(gone).toEqual([true])
})

test.each([
  ['has gone before all of a complete answer has left', 0, 1],
  ['has taken all of it, and goes', 3, 0],
])('a visitor that %s', async (_, writes, wentTooSoon) => {
  let gone = 0
  const { socket, release } = createVisitor((exchange) => {
    exchange.onGone(() => (gone += 1))
    exchange.answer({ status: 200, reason: 'OK', fields: FieldSection.EMPTY, body: 100_000 })
    exchange.write(Buffer.alloc(100_000))
    exchange.end()
  })
  socket.push('GET / HTTP/1.1\r\nHost: shop.customer.com\r\n\r\n')
  await settled()
  for (let n = 0; n < writes; n += 1) await release()
  socket.destroy()
  await settled()
  expect(gone).toBe(wentTooSoon)
})
