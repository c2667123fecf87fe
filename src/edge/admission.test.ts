import { once } from 'node:events'
import { connect, Socket } from 'node:net'
import { afterEach, expect, onTestFinished, test, vi } from 'vitest'
import { startTestEdge, type TestEdge } from '../../test/support/edge.ts'
import { openTls, RawReader, speak } from '../../test/support/raw-visitor.ts'
import { startUpstream } from '../../test/support/upstream.ts'
import { knock, recordClientHello } from '../../test/support/visitor.ts'
import { createAdmission } from './admission.ts'
import { UpstreamLine } from './upstream-line.ts'

const HOST = 'shop.customer.com'
const undo: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step()
})

async function startWith(more: Parameters<typeof startTestEdge>[0]): Promise<TestEdge> {
  const upstream = await startUpstream()
  undo.push(() => upstream.stop())
  const edge = await startTestEdge(more)
  undo.push(() => edge.stop(0))
  await edge.route(HOST, upstream.url)
  return edge
}

/** A connection from an address of 127.0.0.0/8 that says nothing yet. */
async function open(port: number, localAddress: string): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port, localAddress })
  socket.on('error', () => {})
  undo.push(() => void socket.destroy())
  await once(socket, 'connect')
  return socket
}

/** As open, and answered: so it is counted before any that comes later to another port. */
async function openPort80(edge: TestEdge, localAddress: string): Promise<Socket> {
  const socket = await open(edge.httpPort, localAddress)
  const answered = once(socket, 'data')
  socket.write(`GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
  await answered
  return socket
}

const visit = (edge: TestEdge, localAddress: string) => ({
  port: edge.httpsPort,
  hostname: HOST,
  ca: edge.ca.certPem,
  more: { localAddress },
})
const turnedAway = async (edge: TestEdge, ceiling: string) => {
  const value = new RegExp(`^namesake_edge_turned_away_total\\{ceiling="${ceiling}"\\} (\\d+)$`, 'm').exec(await edge.metrics())?.[1]
  return Number(value ?? 0)
}
const warnings = (edge: TestEdge) => edge.lines.filter(({ level }) => level === 40)

test('beyond the ceiling of the process the newest is closed before its handshake, and there is room again when one leaves', async () => {
  const edge = await startWith({ ceilings: { processMax: 2, perClientMax: 0 } })
  const first = await openTls(visit(edge, '127.0.0.2'))
  const plain = await openPort80(edge, '127.0.0.3')
  for (const address of ['127.0.0.4', '127.0.0.5', '127.0.0.6']) await expect(openTls(visit(edge, address))).rejects.toThrow()
  expect(await turnedAway(edge, 'process')).toBe(3)
  expect(await turnedAway(edge, 'client')).toBe(0)
  expect(warnings(edge)).toHaveLength(1)
  expect(warnings(edge)[0]).toMatchObject({
    ceiling: 2,
    connections: 2,
    turnedAway: 1,
    msg: expect.stringMatching(/NAMESAKE_EDGE_CONNECTIONS.*Raise/),
  })

  first.write(`GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
  expect((await new RawReader(first).answer()).status).toBe(200)
  plain.destroy()
  await expect
    .poll(() =>
      speak(visit(edge, '127.0.0.7'), `GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`).then(
        (reader) => reader.answer(),
        () => undefined,
      ),
    )
    .toMatchObject({ status: 200 })
})

test('the gauges show every connection that counts for the ceiling, beside it', async () => {
  const edge = await startWith({ ceilings: { processMax: 3, perClientMax: 0 } })
  const silent = [await open(edge.httpPort, '127.0.0.2'), await open(edge.httpsPort, '127.0.0.2')]
  const gauge = async (name: string) => Number(new RegExp(`^namesake_edge_${name} (\\d+)$`, 'm').exec(await edge.metrics())?.[1])
  await expect.poll(() => gauge('admitted_connections')).toBe(2)
  const third = await openTls(visit(edge, '127.0.0.3'))
  await expect(openTls(visit(edge, '127.0.0.4'))).rejects.toThrow()
  expect([await gauge('admitted_connections'), await gauge('admitted_connections_max')]).toEqual([3, 3])
  for (const socket of [...silent, third]) socket.destroy()
  await expect.poll(() => gauge('admitted_connections')).toBe(0)
})

test('one client at its ceiling leaves room for all others', async () => {
  const edge = await startWith({ ceilings: { processMax: 100, perClientMax: 3 } })
  const held = [await openPort80(edge, '127.0.0.2'), await open(edge.httpsPort, '127.0.0.2'), await open(edge.httpsPort, '127.0.0.2')]
  await expect(openTls(visit(edge, '127.0.0.2'))).rejects.toThrow()
  const other = await openTls(visit(edge, '127.0.0.3'))
  other.destroy()
  expect(await turnedAway(edge, 'client')).toBe(1)
  expect(warnings(edge)).toMatchObject([
    { client: '127.0.0.2', ceiling: 3, msg: expect.stringMatching(/NAMESAKE_CLIENT_CONNECTIONS.*NAMESAKE_TRUSTED_PROXIES/) },
  ])
  held[0]!.destroy()
  await expect
    .poll(async () => {
      const again = await openTls(visit(edge, '127.0.0.2')).catch(() => undefined)
      again?.destroy()
      return again ? 'served' : 'turned away'
    })
    .toBe('served')
})

test('a trusted proxy carries many visitors, and counts for the process only', async () => {
  const edge = await startWith({ trustedProxies: ['127.0.0.2'], ceilings: { processMax: 6, perClientMax: 1 } })
  for (let i = 0; i < 5; i += 1) await open(edge.httpsPort, '127.0.0.2')
  const socket = await openTls(visit(edge, '127.0.0.2'))
  await expect(openTls(visit(edge, '127.0.0.2'))).rejects.toThrow()
  expect([await turnedAway(edge, 'process'), await turnedAway(edge, 'client')]).toEqual([1, 0])
  socket.destroy()
})

test('behind the PROXY protocol it is the visitor’s address that counts, an IPv6 visitor’s /64', async () => {
  const edge = await startWith({ proxyProtocol: 'required', ceilings: { processMax: 100, perClientMax: 1 } })
  const from = async (address: string) => {
    const socket = await open(edge.httpsPort, '127.0.0.2')
    const reader = new RawReader(socket)
    socket.write(`PROXY TCP6 ${address} 2001:db8::1 4096 443\r\n`)
    return { socket, reader }
  }
  const first = await from('2001:db8:0:1::1')
  const second = await from('2001:db8:0:2::1')
  const third = await from('2001:db8:0:1::ffff')
  expect(await third.reader.closed()).toBe('')
  expect([first.reader.isClosed, second.reader.isClosed]).toEqual([false, false])
  expect(await turnedAway(edge, 'client')).toBe(1)
})

test('a refused handshake leaves with its visitor, and does not count for long', async () => {
  const edge = await startWith({ ceilings: { processMax: 100, perClientMax: 5 } })
  const hello = await recordClientHello('unknown.customer.com')
  for (let i = 0; i < 50; i += 1) expect((await knock(edge.httpsPort, hello)).toString('hex')).toBe('15030300020228')
  expect(await turnedAway(edge, 'client')).toBe(0)
})

test('what is turned away is logged once a minute, with how many there were, and every client that left is forgotten', () => {
  let at = 0
  const lines: object[] = []
  const log = { warn: (details: object) => void lines.push(details) } as never
  const ceilings = { processMax: 0, perClientMax: 1 }
  const admission = createAdmission({ log, ceilings, trustedProxies: { has: () => false }, onTurnedAway: () => {}, now: () => at })
  const sockets = Array.from({ length: 3 }, () => connect({ port: 1, host: '127.0.0.1', autoSelectFamily: false }).on('error', () => {}))
  const verdicts = sockets.map((socket) => admission.admitClient(socket, '192.0.2.7'))
  expect(verdicts).toEqual(['admitted', 'turned-away', 'turned-away'])
  at = 59_999
  admission.admitClient(sockets[1]!, '192.0.2.7')
  expect(lines).toMatchObject([{ turnedAway: 1 }])
  at = 60_000
  admission.admitClient(sockets[1]!, '192.0.2.7')
  expect(lines).toMatchObject([{ turnedAway: 1 }, { turnedAway: 3 }])
  for (const socket of sockets) socket.destroy()
})

test('however often the last connection of such a client goes, it is looked at again once', () => {
  vi.useFakeTimers({ toFake: ['setTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const ceilings = { processMax: 0, perClientMax: 2 }
  const admission = createAdmission({ log: {} as never, ceilings, trustedProxies: { has: () => false }, onTurnedAway: () => {} })
  const come = () => {
    const socket = new Socket()
    admission.admitClient(socket, '192.0.2.7')
    return socket
  }
  const first = come()
  admission.loadOf('192.0.2.7')!.waiting = 1
  first.emit('close')
  for (let n = 0; n < 100; n += 1) come().emit('close')
  expect(vi.getTimerCount()).toBe(1)
  admission.loadOf('192.0.2.7')!.waiting = 0
  vi.advanceTimersByTime(10_000)
  expect([vi.getTimerCount(), admission.loadOf('192.0.2.7')]).toEqual([0, undefined])
})

test('a process that drains counts with the connections that it holds, and has no room', () => {
  const ceilings = { processMax: 3, perClientMax: 0 }
  const admission = createAdmission({ log: {} as never, ceilings, trustedProxies: { has: () => false }, onTurnedAway: () => {} })
  expect(admission.admit(new Socket())).toBe('admitted')
  expect(admission.counts()).toEqual({ open: 1, max: 3 })
  admission.drain()
  expect(admission.counts()).toEqual({ open: 1, max: 0 })
})

test('who leaves and comes again is who it was for as long as requests of it wait in a line', async () => {
  const ceilings = { processMax: 0, perClientMax: 2 }
  const admission = createAdmission({ log: {} as never, ceilings, trustedProxies: { has: () => false }, onTurnedAway: () => {} })
  const load = () => admission.loadOf('192.0.2.7')
  const comeAndGo = async () => {
    const socket = new Socket()
    admission.admitClient(socket, '192.0.2.7')
    const counted = load()!
    socket.destroy()
    await once(socket, 'close')
    return counted
  }
  const line = new UpstreamLine<string>()
  const first = await comeAndGo()
  expect(load()).toBe(undefined)
  const socket = new Socket()
  admission.admitClient(socket, '192.0.2.7')
  const waiting = line.wait(10_000, { load: load() })
  socket.destroy()
  await once(socket, 'close')
  expect(await comeAndGo()).toMatchObject({ connections: 0, waiting: 1 })
  expect(first.waiting).toBe(0)
  line.next()!.resolve('a connection')
  await waiting
  await expect.poll(load).toBe(undefined)
})
