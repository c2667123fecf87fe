import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { expect, onTestFinished, test } from 'vitest'
import { createTestCa } from '../../test/support/certificates.ts'
import { chainOf } from '../../test/support/chains.ts'
import { type Records, startTls13Server } from '../../test/support/tls13-server.ts'
import { readUpstream } from './upstream.ts'
import { createConnect } from './upstream-connect.ts'

/** Who connects to it, one after the other. */
async function startUpstream() {
  const from: string[] = []
  const server = createServer((socket) => void from.push(socket.remoteAddress!))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void server.close())
  return { from, upstream: readUpstream(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, 'http1', 'one') }
}

const connecting = (sourceIps: string[], addresses = ['127.0.0.1'], ca: string[] = [], connectTimeoutMs = 5_000) =>
  createConnect({ guard: { addressesOf: async () => addresses }, connectTimeoutMs, sourceIps, ca })

test.each([
  [['127.0.0.2', '127.0.0.3'], ['127.0.0.1']],
  [
    ['127.0.0.2', '127.0.0.3', '127.0.0.4'],
    ['127.0.0.1', '127.0.0.9'],
  ],
  [
    ['127.0.0.2', '127.0.0.3'],
    ['127.0.0.9', '127.0.0.1'], // nobody listens at the first
  ],
])('the sources %j are used in turn, for an upstream with the addresses %j', async (sources, addresses) => {
  const { from, upstream } = await startUpstream()
  const connect = connecting(sources, addresses)
  for (let n = 1; n <= 2 * sources.length; n += 1) {
    ;(await connect(upstream)).destroy()
    await expect.poll(() => from.length).toBe(n)
  }
  expect(from.slice(sources.length)).toEqual(from.slice(0, sources.length))
  expect(from.slice(0, sources.length).sort()).toEqual(sources)
})

test('an address that no source fits is not tried', async () => {
  const { upstream } = await startUpstream()
  await expect(connecting(['::1'])(upstream)).rejects.toThrow('no source address fits')
})

test('an address that took no connection is tried last for a while, so that each new one need not wait for it', async () => {
  const { from, upstream } = await startUpstream()
  const connect = connecting([], ['127.0.0.9', '127.0.0.1'])
  ;(await connect(upstream)).destroy()
  const first = createServer((socket) => void socket.destroy())
  await once(first.listen(upstream.port, '127.0.0.9'), 'listening')
  onTestFinished(() => void first.close())
  ;(await connect(upstream)).destroy()
  await expect.poll(() => from.length).toBe(2)
})

const NOT_OURS = ['192.0.2.1', '2001:db8::1'] // addresses for documentation (RFC 5737, RFC 3849)

test('what this machine lacks is told as that, and held against no address of the upstream', async () => {
  const { upstream } = await startUpstream()
  const other = createServer((socket) => void socket.destroy())
  await once(other.listen(upstream.port, '127.0.0.9'), 'listening')
  onTestFinished(() => void other.close())
  const addresses = ['127.0.0.1']
  const connect = connecting([NOT_OURS[0]!, '127.0.0.1'], addresses)
  await expect(connect(upstream)).rejects.toMatchObject({
    reason: 'busy',
    message: expect.stringContaining('NAMESAKE_UPSTREAM_SOURCE_IPS'),
  })
  addresses.push('127.0.0.9')
  ;(await connect(upstream)).destroy()
})

test('where one address of an upstream refused and this machine could not try the other, it is the refusal that is told', async () => {
  const { upstream } = await startUpstream()
  const connect = connecting(['127.0.0.1', NOT_OURS[1]!], ['127.0.0.9', '::1'])
  await expect(connect(upstream)).rejects.toMatchObject({ reason: 'refused' })
})

/** An application over TLS at 127.0.0.1, and before it, at 127.0.0.9, what takes connections and does no TLS. */
async function startSecure(onConnection: (socket: Socket) => void) {
  const ca = await createTestCa()
  const { keyPem: key, chainPem: cert } = await ca.issue(['localhost'])
  const good = createTlsServer({ key, cert }, (socket) => void socket.on('error', () => {}))
  await once(good.listen(0, '127.0.0.1'), 'listening')
  const { port } = good.address() as AddressInfo
  const accepted: Socket[] = []
  const dead = createServer((socket) => {
    accepted.push(socket.on('error', () => {}))
    onConnection(socket)
  })
  await once(dead.listen(port, '127.0.0.9'), 'listening')
  onTestFinished(() => {
    for (const socket of accepted) socket.destroy()
    for (const server of [good, dead]) server.close()
  })
  return {
    accepted,
    addresses: ['127.0.0.9', '127.0.0.1'],
    ca: [ca.certPem],
    upstream: readUpstream(`https://localhost:${port}`, 'http1', 'one'),
  }
}

test('an address that takes a connection and no TLS is one that failed: the next one is tried, and it comes last for a while', async () => {
  const { accepted, addresses, ca, upstream } = await startSecure((socket) => void socket.destroy())
  const connect = connecting([], addresses, ca)
  for (let n = 0; n < 2; n += 1) {
    ;(await connect(upstream)).destroy() // only the other one speaks TLS
  }
  expect(accepted.length).toBe(1)
})

test('an address that takes a connection and then says nothing fails one connection, and not the next', async () => {
  const { addresses, ca, upstream } = await startSecure(() => {})
  const connect = connecting([], addresses, ca, 500)
  await expect(connect(upstream)).rejects.toMatchObject({ reason: 'timeout' })
  ;(await connect(upstream)).destroy()
})

test('a name with a final dot, which means something in DNS, is said without it in TLS', async () => {
  const ca = await createTestCa()
  const { keyPem: key, chainPem: cert } = await ca.issue(['localhost'])
  const names: unknown[] = []
  const server = createTlsServer({ key, cert }, (socket) => void names.push(socket.on('error', () => {}).servername))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void server.close())
  const upstream = readUpstream(`https://localhost.:${(server.address() as AddressInfo).port}`, 'http1', 'one')
  const socket = await connecting([], ['127.0.0.1'], [ca.certPem])(upstream)
  await expect.poll(() => names).toEqual(['localhost'])
  socket.destroy()
})

test('who resumes does not trust a certificate for longer than it is valid', async () => {
  const ca = await createTestCa()
  const { keyPem: key, chainPem: cert } = await ca.issue(['localhost'], 'P-256', 10_000)
  const resumed: boolean[] = []
  const server = createTlsServer({ key, cert }, (socket) => {
    resumed.push(socket.isSessionReused())
    socket.on('error', () => {}).end('behind the tickets')
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void server.close())
  const upstream = readUpstream(`https://localhost:${(server.address() as AddressInfo).port}`, 'http1', 'one')
  const connect = connecting([], ['127.0.0.1'], [ca.certPem])
  const visit = async () => {
    const socket = await connect(upstream)
    await once(socket.resume(), 'close')
  }
  await visit()
  await visit()
  expect(resumed).toEqual([false, true])
  await expect.poll(() => visit().catch(({ reason }) => reason), { timeout: 40_000 }).toBe('tls')
})

const NO_RECORD = Buffer.from('17030300050102030405', 'hex')

test.each<[string, (records: Records) => Buffer[]]>([
  ['a ticket', ({ tickets }) => [tickets(1)]],
  ['an alert', ({ alert }) => [alert(40)]],
  ['bytes that are no record', () => [NO_RECORD]],
])('an upstream without HTTP/2 that says %s with its handshake is told so, and harms nobody else', async (_, behind) => {
  const ca = await createTestCa()
  const server = await startTls13Server(await ca.issue(['localhost', '127.0.0.1']), behind)
  onTestFinished(server.close)
  const upstream = readUpstream(`https://127.0.0.1:${server.port}`, 'h2', 'one')
  await expect(connecting([], ['127.0.0.1'], [ca.certPem])(upstream)).rejects.toThrow('does not offer HTTP/2')
})

test('a ticket that comes in the same bytes as an answer that nobody asked for harms nobody else', async () => {
  const ca = await createTestCa()
  const server = await startTls13Server(await ca.issue(['localhost', '127.0.0.1']), ({ data, tickets }) => [data('HTTP'), tickets(1)])
  onTestFinished(server.close)
  const socket = await connecting([], ['127.0.0.1'], [ca.certPem])(readUpstream(`https://127.0.0.1:${server.port}`, 'http1', 'one'))
  const closed = once(socket, 'close')
  socket.once('data', () => socket.destroy())
  await closed
})

test.each<[string, (records: Records) => Buffer[]]>([
  ['gives tickets', ({ tickets }) => [tickets(100)]],
  ['takes new keys', ({ keyUpdates }) => [keyUpdates(5_000)]],
])('an upstream that %s without end is left, since each takes time of all', async (_, behind) => {
  const ca = await createTestCa()
  const server = await startTls13Server(await ca.issue(['localhost', '127.0.0.1']), behind)
  onTestFinished(server.close)
  const socket = await connecting([], ['127.0.0.1'], [ca.certPem])(readUpstream(`https://127.0.0.1:${server.port}`, 'http1', 'one'))
  await once(socket, 'close')
})

/** A server that shows `certificate` until `show` changes it, and a way to it. */
async function startSecureUpstream() {
  const ca = await createTestCa()
  const { chainPem: cert, keyPem: key } = await ca.issue(['127.0.0.1'])
  const server = createTlsServer({ key, cert }, (socket) => void socket.on('error', () => {}))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void server.close())
  const upstream = readUpstream(`https://127.0.0.1:${(server.address() as AddressInfo).port}`, 'http1', 'one')
  const connect = connecting([], ['127.0.0.1'], [ca.certPem])
  const long = await chainOf(29)
  return {
    showShort: () => server.setSecureContext({ key, cert }),
    showLong: () => server.setSecureContext({ key: long.keyPem, cert: long.chainPem }),
    async visit(): Promise<string> {
      try {
        ;(await connect(upstream)).destroy()
        return 'connected'
      } catch (error) {
        return (error as Error).message
      }
    },
  }
}

const COSTLY = expect.stringContaining('its TLS costs too much: 30 certificates')

test('what an upstream shows is looked at before it is reckoned with, which may take long, each time', async () => {
  const { showShort, showLong, visit } = await startSecureUpstream()
  showLong()
  expect(await visit()).toEqual(COSTLY)
  showShort()
  expect(await visit()).toBe('connected')
  showLong()
  expect(await visit()).toEqual(COSTLY)
})

test('no upstream chooses the numbers that are reckoned with: it may choose such large ones that all others wait', async () => {
  const ca = await createTestCa()
  const { chainPem, keyPem } = await ca.issue(['127.0.0.1'], 'RSA')
  const ciphers = 'DHE-RSA-AES128-GCM-SHA256'
  const server = createTlsServer({ cert: chainPem, key: keyPem, ciphers, dhparam: 'auto', maxVersion: 'TLSv1.2' })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void server.close())
  const upstream = readUpstream(`https://127.0.0.1:${(server.address() as AddressInfo).port}`, 'http1', 'one')
  await expect(connecting([], ['127.0.0.1'], [ca.certPem])(upstream)).rejects.toMatchObject({ reason: 'tls' })
})
