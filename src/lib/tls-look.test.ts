import 'reflect-metadata'
import { once } from 'node:events'
import { type AddressInfo, connect as connectTcp, createServer as createTcpServer } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { createServer, type TLSSocket, type TlsOptions } from 'node:tls'
import { Extension } from '@peculiar/x509'
import { beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { createTestCa, type TestCa, type TestCertificate } from '../../test/support/certificates.ts'
import { chainOf, der, type LinkOptions, oddNumber, rsa } from '../../test/support/chains.ts'
import { startTls13Server } from '../../test/support/tls13-server.ts'
import { contextForStrangers } from './stranger-context.ts'
import { lookThroughTls } from './tls-look.ts'

const CPU_MS_MAX = 300

let ca: TestCa
let certificate: TestCertificate
let session: Buffer
beforeAll(async () => {
  ca = await createTestCa()
  certificate = await ca.issue(['localhost'])
})

async function connectTo(port: number, trusted = [ca.certPem], former?: Buffer): Promise<TLSSocket> {
  const socket = connectTcp(port, '127.0.0.1')
  await once(socket, 'connect')
  const secureContext = contextForStrangers({ ca: trusted })
  const tls = lookThroughTls({ socket, servername: 'localhost', secureContext, ...(former && { session: former }) })
  onTestFinished(() => void tls.destroy())
  tls.on('session', (ticket) => (session = ticket))
  await once(tls, 'secureConnect')
  return tls.on('error', () => {})
}

/** A server that says back what it hears. */
async function startEcho(options: TlsOptions): Promise<number> {
  const server = createServer({ cert: certificate.chainPem, key: certificate.keyPem, ...options }, (socket) =>
    socket.on('error', () => {}).pipe(socket),
  )
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void server.close())
  return (server.address() as AddressInfo).port
}

async function echo(tls: TLSSocket, text = 'there and back'): Promise<string> {
  tls.end(text)
  return (await tls.setEncoding('latin1').toArray()).join('')
}

test.each<[string, TlsOptions]>([
  ['TLS 1.3 and AES-128', { ciphers: 'TLS_AES_128_GCM_SHA256' }],
  ['TLS 1.3 and AES-256', { ciphers: 'TLS_AES_256_GCM_SHA384' }],
  ['TLS 1.3 and ChaCha20', { ciphers: 'TLS_CHACHA20_POLY1305_SHA256' }],
  ['TLS 1.3 and a curve that we did not begin with', { ecdhCurve: 'secp384r1' }],
  ['a wish for our certificate', { requestCert: true, rejectUnauthorized: false }],
  ['TLS 1.2', { maxVersion: 'TLSv1.2' }],
])('a server with %s is spoken to', async (_, options) => {
  const tls = await connectTo(await startEcho(options))
  expect(tls.authorized).toBe(true)
  expect(await echo(tls)).toBe('there and back')
})

test.each<TlsOptions>([{}, { maxVersion: 'TLSv1.2' }])('a session resumes, with %j', async (options) => {
  const port = await startEcho(options)
  await echo(await connectTo(port))
  const second = await connectTo(port, undefined, session)
  expect(second.isSessionReused()).toBe(true)
  expect(await echo(second, 'a'.repeat(200_000))).toHaveLength(200_000)
})

test.each<TlsOptions>([{}, { maxVersion: 'TLSv1.2' }])(
  'what a server says before it ends is there for whoever reads it late, with %j',
  async (options) => {
    const bytes = 30_000
    const server = createServer({ cert: certificate.chainPem, key: certificate.keyPem, ...options }, (socket) => {
      socket.on('error', () => {}).once('data', () => socket.end(Buffer.alloc(bytes)))
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    onTestFinished(() => void server.close())
    const tls = await connectTo((server.address() as AddressInfo).port)
    const ended = vi.fn()
    tls.pause().on('end', ended).write('go')
    await pause(300)
    expect(ended).not.toHaveBeenCalled()
    expect((await tls.toArray()).reduce((sum, { length }) => sum + length, 0)).toBe(bytes)
  },
)

const uris = (count: number, text: string) => Array.from({ length: count }, () => der(0x86, Buffer.from(text)))
const names = (count: number) => new Extension('2.5.29.17', false, der(0x30, der(0x82, Buffer.from('localhost')), ...uris(count, 'a://b')))
const excluded = (count: number) => new Extension('2.5.29.30', true, der(0x30, der(0xa1, ...uris(count, 'c').map((uri) => der(0x30, uri)))))
const RSA_KEY = Buffer.from('300d06092a864886f70d0101010500', 'hex')
const slowKey = () => der(0x30, RSA_KEY, der(0x03, Buffer.of(0), der(0x30, oddNumber(3_072), oddNumber(3_064))))

test.each<[string, number, () => LinkOptions]>([
  ['more certificates than anybody needs', 30, () => ({})],
  ['names, and constraints to be compared with each of them', 9, () => ({ extensions: [names(800), excluded(800)] })],
  ['keys with exponents as long as they can be', 8, () => ({ publicKey: slowKey() })],
])('a server that shows %s is left before they are reckoned with, whatever the version', async (_, issuers, each) => {
  const shown = await chainOf(issuers, each())
  const server = await startTls13Server(shown, () => [])
  onTestFinished(server.close)
  const ports = [server.port, await startEcho({ cert: shown.chainPem, key: shown.keyPem, maxVersion: 'TLSv1.2' })]
  const before = process.cpuUsage()
  for (const port of ports) await expect(connectTo(port, [shown.rootPem])).rejects.toThrow('its TLS costs too much')
  const { user, system } = process.cpuUsage(before)
  expect((user + system) / 1_000).toBeLessThan(CPU_MS_MAX)
})

test.each<[string, LinkOptions]>([
  ['names and constraints as authorities have them', { extensions: [names(99), excluded(50)] }],
  ['keys of RSA', { algorithm: rsa(4_096) }],
])('a server that shows %s is spoken to', async (_, each) => {
  const shown = await chainOf(2, each)
  const tls = await connectTo(await startEcho({ cert: shown.chainPem, key: shown.keyPem }), [shown.rootPem])
  expect(tls.authorized).toBe(true)
  expect(await echo(tls)).toBe('there and back')
})

test('a server that takes new keys without end is left', async () => {
  const server = await startTls13Server(certificate, ({ keyUpdates }) => [keyUpdates(15_000)])
  onTestFinished(server.close)
  const left = connectTo(server.port).then((tls) => once(tls, 'close')) // perhaps before it was heard that the handshake had ended
  await expect(left).rejects.toThrow('more bytes than an answer has')
})

test('a server that speaks no TLS is told from one that is silent', async () => {
  const server = createTcpServer((socket) => void socket.on('error', () => {}).end('HTTP/1.1 400 Bad Request\r\n\r\n'))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void server.close())
  await expect(connectTo((server.address() as AddressInfo).port)).rejects.toThrow('wrong version number')
})
