import { execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect as connectTcp } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { EDGE_HOST, startTestEdge, type TestEdge } from '../../test/support/edge.ts'
import { freePorts } from '../../test/support/ports.ts'
import { openHttp2, openTls, RawReader, requestHttp2, speak, speakPlain } from '../../test/support/raw-visitor.ts'
import { startUpstream, type Upstream } from '../../test/support/upstream.ts'
import { recordClientHello } from '../../test/support/visitor.ts'
import { certificateText } from './certificate-text.ts'
import type { CertificateAnswer } from './tls.ts'

let edge: TestEdge
let upstream: Upstream
const HOST = 'shop.customer.com'
/** Bun's node:tls takes ticket keys and does nothing with them: see docs/decisions/0065. */
const SHARES_TICKETS = process.env.TEST_EDGE_RUNTIME !== 'bun'
const BROKEN: CertificateAnswer = { kind: 'certificate', id: '1', leafPem: 'no certificate', issuersPem: '', keyPem: 'no key' }

beforeAll(async () => {
  upstream = await startUpstream()
  edge = await startTestEdge()
  await edge.route(HOST, upstream.url)
})
afterAll(async () => {
  await edge.stop(1_000)
  await upstream.stop()
})
const target = (hostname: string | undefined = HOST, more = {}) => ({ port: edge.httpsPort, hostname, ca: edge.ca.certPem, more })
const serialOf = (socket: TLSSocket) => socket.getPeerCertificate().serialNumber

test.each(['unknown.customer.com', 'localhost', 'a..b', 'xn--a.com', '_x.customer.com'])(
  'the name %j, which nobody registered, is refused with an alert',
  async (name) => {
    await expect(openTls(target(name, { checkServerIdentity: () => undefined }))).rejects.toMatchObject({
      code: expect.stringMatching(/ALERT_HANDSHAKE_FAILURE/),
    })
  },
)

test('a name is compared without case and final dot', async () => {
  for (const name of ['SHOP.Customer.com', `${HOST}.`]) {
    const socket = await openTls(target(name, { checkServerIdentity: () => undefined }))
    expect(socket.getPeerCertificate().subject.CN).toBe(HOST)
    socket.destroy()
  }
})

test('without a name there is the edge host’s certificate and the liveness text, and nothing else', async () => {
  const nameless = { ...target(undefined, { checkServerIdentity: () => undefined }), hostname: undefined }
  const socket = await openTls(nameless)
  expect(socket.getPeerCertificate().subject.CN).toBe(EDGE_HOST)
  socket.destroy()
  const get = async (path: string, host: string) =>
    (await (await speak(nameless, `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)).answer()).status
  expect(await get('/', EDGE_HOST)).toBe(200)
  expect(await get('/', '192.0.2.1')).toBe(200)
  expect(await get('/x', EDGE_HOST)).toBe(404)
  expect(await get('/', HOST)).toBe(421)
})

test('without a name there is the new certificate too, where a promoted database calls it as another was called before', async () => {
  const own = await startTestEdge()
  const nameless = { port: own.httpsPort, hostname: undefined, ca: own.ca.certPem, more: { checkServerIdentity: () => undefined } }
  const serials = []
  for (let n = 0; n < 2; n += 1) {
    own.certificates.set(EDGE_HOST, { kind: 'certificate', id: 'the same', ...certificateText(await own.ca.issue([EDGE_HOST])) })
    const socket = await openTls(nameless)
    serials.push(serialOf(socket))
    socket.destroy()
  }
  expect(serials[1]).not.toBe(serials[0])
  await own.stop(0)
})

test.each([
  ['TLSv1.2', 'h2'],
  ['TLSv1.3', 'h2'],
  ['TLSv1.2', 'http/1.1'],
  ['TLSv1.3', 'http/1.1'],
] as const)('%s with %s is spoken', async (version, protocol) => {
  const socket = await openTls(target(HOST, { minVersion: version, maxVersion: version, ALPNProtocols: [protocol] }))
  expect([socket.getProtocol(), socket.alpnProtocol]).toEqual([version, protocol])
  socket.destroy()
})

/** Of no group that a server takes: it has to ask for another key share. */
const RETRIED = { ecdhCurve: 'brainpoolP256r1tls13:X25519' }

test.each([
  ['P-256', 'TLS_AES_256_GCM_SHA384', {}],
  ['P-256', 'TLS_CHACHA20_POLY1305_SHA256', RETRIED],
  ['RSA', 'TLS_AES_256_GCM_SHA384', RETRIED],
  ['P-256', 'ECDHE-ECDSA-CHACHA20-POLY1305', {}],
  ['RSA', 'ECDHE-RSA-AES256-GCM-SHA384', {}],
] as const)('a certificate of the kind %s is shown with the cipher %s, also after another round trip: %o', async (kind, cipher, more) => {
  await edge.route('ciphers.customer.com', upstream.url)
  const issued = await edge.ca.issue(['ciphers.customer.com'], kind)
  edge.certificates.set('ciphers.customer.com', { kind: 'certificate', id: `${kind} ${cipher}`, ...certificateText(issued) })
  const maxVersion = cipher.startsWith('TLS_') ? 'TLSv1.3' : 'TLSv1.2'
  const socket = await openTls(target('ciphers.customer.com', { ciphers: cipher, maxVersion, ...more }))
  expect([socket.getCipher().name, `${socket.getPeerX509Certificate()}`]).toEqual([cipher, issued.chainPem.trimStart()])
  socket.destroy()
})

test.each([
  ['RSA', 'AES128-GCM-SHA256', 'forward secrecy'],
  ['RSA', 'AES128-SHA', 'forward secrecy'],
  ['RSA', 'ECDHE-RSA-AES128-SHA', 'authenticated encryption'],
  ['P-256', 'ECDHE-ECDSA-AES128-SHA', 'authenticated encryption'],
] as const)('TLS 1.2 with a certificate of the kind %s and the cipher %s, without %s, is refused', async (kind, cipher, _lacking) => {
  await edge.route('ciphers.customer.com', upstream.url)
  const issued = await edge.ca.issue(['ciphers.customer.com'], kind)
  edge.certificates.set('ciphers.customer.com', { kind: 'certificate', id: `${kind} ${cipher}`, ...certificateText(issued) })
  await expect(openTls(target('ciphers.customer.com', { ciphers: `${cipher}:@SECLEVEL=0`, maxVersion: 'TLSv1.2' }))).rejects.toMatchObject({
    code: expect.stringMatching(/ALERT_HANDSHAKE_FAILURE/),
  })
})

test('nobody renegotiates', async () => {
  const socket = await openTls(target(HOST, { maxVersion: 'TLSv1.2' }))
  const refusal = new Promise((resolve) => {
    socket.once('error', resolve)
    socket.renegotiate({}, resolve)
  })
  await expect(refusal).resolves.toMatchObject({ code: expect.stringMatching(/RENEGOTIATION/) })
})

test('TLS 1.1 is refused', async () => {
  await expect(openTls(target(HOST, { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' }))).rejects.toThrow()
})

test('a client that offers neither protocol is refused, one that offers none gets HTTP/1.1', async () => {
  await expect(openTls(target(HOST, { ALPNProtocols: ['spdy/3'] }))).rejects.toMatchObject({
    code: expect.stringMatching(/ALERT_NO_APPLICATION_PROTOCOL/),
  })
  const reader = await speak(target(HOST, { ALPNProtocols: undefined }), `GET / HTTP/1.1\r\nHost: ${HOST}\r\nConnection: close\r\n\r\n`)
  expect((await reader.answer()).status).toBe(200)
})

test('a changed certificate is served to the next handshake', async () => {
  const first = await openTls(target())
  await edge.route(HOST, upstream.url)
  const second = await openTls(target())
  expect(serialOf(second)).not.toBe(serialOf(first))
  first.destroy()
  second.destroy()
})

test('a handshake waits for its certificate, and a refusal after the wait is an alert', async () => {
  const issued = Promise.withResolvers<CertificateAnswer>()
  await edge.route('slow.customer.com', upstream.url, { verified: false })
  const ready = edge.certificates.get('slow.customer.com')!
  edge.certificates.set('slow.customer.com', issued.promise)
  edge.unverifiedVisits.length = 0
  const waiting = openTls(target('slow.customer.com'))
  const other = await openTls(target())
  other.destroy()
  issued.resolve(await ready)
  const socket = await waiting
  expect(socket.getPeerCertificate().subject.CN).toBe('slow.customer.com')
  expect(edge.unverifiedVisits).toContain('slow.customer.com')
  socket.destroy()
  edge.certificates.set('slow.customer.com', Promise.resolve({ kind: 'refused', reason: 'back-off' }))
  await expect(openTls(target('slow.customer.com'))).rejects.toMatchObject({ code: expect.stringMatching(/ALERT_HANDSHAKE_FAILURE/) })
  const lost = Promise.reject(new Error('the copy is gone'))
  lost.catch(() => {})
  edge.certificates.set('slow.customer.com', lost)
  await expect(openTls(target('slow.customer.com'))).rejects.toMatchObject({ code: expect.stringMatching(/ALERT_HANDSHAKE_FAILURE/) })
})

test.each(['ends the connection', 'says far too much'])('a visitor that %s while its certificate is awaited is let go', async (how) => {
  await edge.route('slow.customer.com', upstream.url)
  edge.certificates.set('slow.customer.com', new Promise(() => {}))
  const socket = connectTcp(edge.httpsPort, '127.0.0.1').on('error', () => {})
  socket.resume().write(await recordClientHello('slow.customer.com'))
  await new Promise((resolve) => setTimeout(resolve, 100))
  if (how === 'ends the connection') socket.end()
  else socket.write(Buffer.alloc(100_000))
  await expect.poll(() => socket.destroyed, { timeout: 8_000 }).toBe(true) // the handshake as a whole has 15 s
})

test('a hello in small pieces is understood', async () => {
  const socket = connectTcp(edge.httpsPort, '127.0.0.1')
  const relay = connectTcp(edge.httpsPort, '127.0.0.1')
  socket.destroy()
  const { Duplex } = await import('node:stream')
  const pipe = new Duplex({
    read() {},
    write(chunk: Buffer, _encoding, done) {
      const pieces = Array.from({ length: Math.ceil(chunk.length / 100) }, (_, i) => chunk.subarray(i * 100, i * 100 + 100))
      void (async () => {
        for (const piece of pieces) {
          relay.write(piece)
          await new Promise((resolve) => setImmediate(resolve))
        }
        done()
      })()
    },
  })
  relay.setNoDelay(true)
  relay.on('data', (chunk) => pipe.push(chunk))
  const reader = await speak(target(HOST, { socket: pipe }), `GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
  expect((await reader.answer()).status).toBe(200)
  relay.destroy()
})

test.each(['TLSv1.2', 'TLSv1.3'] as const)(
  'a resumed session (%s) is routed by Host and held to its name as a full one is',
  async (version) => {
    const first = await openTls(target(HOST, { maxVersion: version, minVersion: version }))
    const ticket = new Promise<Buffer>((resolve) => first.once('session', resolve))
    const reader = new RawReader(first)
    first.write(`GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
    await reader.answer()
    const session = version === 'TLSv1.2' ? first.getSession()! : await ticket
    first.destroy()
    if (SHARES_TICKETS) await edge.route(HOST, upstream.url) // another certificate, which nobody needs in order to resume
    const { made } = (await edge.report()).tls
    const again = await openTls(target(HOST, { session, maxVersion: version, minVersion: version }))
    expect(again.isSessionReused()).toBe(true)
    if (SHARES_TICKETS) expect((await edge.report()).tls.made).toBe(made)
    const second = new RawReader(again)
    again.write(`GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
    expect((await second.answer()).status).toBe(200)
    again.write(`GET / HTTP/1.1\r\nHost: ${EDGE_HOST}\r\n\r\n`)
    expect((await second.answer()).status).toBe(421)
    again.destroy()
  },
)

test.runIf(SHARES_TICKETS)('a session resumes for a name whose certificate cannot be used any more, which covers no other', async () => {
  const own = await startTestEdge()
  await own.route(HOST, upstream.url)
  const session = await sessionAt(own)
  own.certificates.set(HOST, BROKEN)
  const socket = await openTls({ port: own.httpsPort, hostname: HOST, ca: own.ca.certPem, more: { session } })
  expect(socket.isSessionReused()).toBe(true)
  const reader = new RawReader(socket)
  for (const [host, status] of [
    [EDGE_HOST, 421],
    [HOST, 200],
  ] as const) {
    socket.write(`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
    expect((await reader.answer()).status).toBe(status)
  }
  socket.destroy()
  await own.stop(0)
})

test('a session resumes at another edge that has the same ticket keys, and not once they are others', async () => {
  const keys = randomBytes(48)
  const other = await startTestEdge({ ticketKeys: keys })
  await other.route(HOST, upstream.url)
  await edge.setTicketKeys(keys)
  const session = await sessionAt(edge)
  const resumes = async () => {
    const socket = await openTls({ port: other.httpsPort, hostname: HOST, ca: other.ca.certPem, more: { session } })
    const isReused = socket.isSessionReused()
    socket.destroy()
    return isReused
  }
  expect(await resumes()).toBe(SHARES_TICKETS)
  await other.setTicketKeys(randomBytes(48))
  expect(await resumes()).toBe(false)
  await other.stop(0)
})

test('a session resumes at an edge that was started by another command line, as on a machine where we are installed elsewhere', async () => {
  const keys = randomBytes(48)
  const { argv } = process
  process.argv = [argv[0]!, '/elsewhere/main.ts', 'edge']
  const other = await startTestEdge({ ticketKeys: keys })
  await other.route(HOST, upstream.url)
  const session = await sessionAt(other)
  process.argv = argv
  await edge.setTicketKeys(keys)
  const socket = await openTls({ ...target(), more: { session } })
  expect(socket.isSessionReused()).toBe(SHARES_TICKETS)
  socket.destroy()
  await other.stop(0)
})

async function sessionAt(at: TestEdge): Promise<Buffer> {
  const socket = await openTls({ port: at.httpsPort, hostname: HOST, ca: at.ca.certPem })
  const ticket = once(socket, 'session') as Promise<[Buffer]>
  const reader = new RawReader(socket)
  socket.write(`GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
  await reader.answer()
  const [session] = await ticket
  socket.destroy()
  return session
}

test('a client that sends its request with the handshake, as it may with a ticket of another server, is served after a full one', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'namesake-early-'))
  const at = (name: string) => join(folder, name)
  const [port] = (await freePorts(1)) as [number]
  const { chainPem, keyPem } = await edge.ca.issue([HOST])
  writeFileSync(at('pem'), chainPem + keyPem)
  writeFileSync(at('request'), `GET / HTTP/1.1\r\nHost: ${HOST}\r\nConnection: close\r\n\r\n`)
  const other = spawn('openssl', ['s_server', '-port', String(port), '-cert', at('pem'), '-early_data', '-quiet'], {
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  const visit = async (to: number, ...more: string[]) => {
    const shell = `(sleep 1; cat "$1"; sleep 1) | openssl s_client -connect 127.0.0.1:${to} -servername ${HOST} ${more.join(' ')} 2>&1`
    const { stdout } = await promisify(execFile)('sh', ['-c', shell, 'sh', at('request')], { timeout: 20_000 }).catch((error) => error)
    return String(stdout)
  }
  try {
    await expect.poll(() => visit(port, '-sess_out', at('ticket'))).toContain('Max Early Data: 16384')
    expect(await visit(port, '-sess_in', at('ticket'), '-early_data', at('request'))).toContain('Early data was accepted')
    const served = () => visit(edge.httpsPort, '-sess_in', at('ticket'), '-early_data', at('request'))
    await expect.poll(served).toMatch(/Early data was rejected[\s\S]*HTTP\/1\.1 200/)
  } finally {
    other.kill()
    rmSync(folder, { recursive: true })
  }
})

test('what is no TLS gets an alert and the end, and the edge goes on', async () => {
  expect(await speakPlain(edge.httpsPort, 'GET / HTTP/1.1\r\n\r\n').closed()).toBe('\x15\x03\x03\x00\x02\x02\x28')
  const session = await openHttp2(target())
  expect((await requestHttp2(session, { ':path': '/', ':authority': HOST })).headers[':status']).toBe(200)
  session.close()
})

test('a key that cannot be used is logged once, however many ask for its name', async () => {
  const own = await startTestEdge()
  own.certificates.set(HOST, BROKEN)
  for (let n = 0; n < 20; n += 1) await expect(openTls({ ...target(), port: own.httpsPort })).rejects.toThrow()
  await expect.poll(() => own.lines).toMatchObject([{ msg: 'a handshake could not be served', handshakes: 1 }])
  await own.stop(0)
})

test('who closes before its ClientHello is whole counts as gone, who takes too long as a time-out', async () => {
  const patient = await startTestEdge()
  const hasty = await startTestEdge({ timeouts: { handshakeMs: 300 } })
  const count = async (at: TestEdge, outcome: string) =>
    Number(new RegExp(`^namesake_edge_handshakes_total\\{outcome="${outcome}"\\} (.*)$`, 'm').exec(await at.metrics())?.[1] ?? 0)
  const begin = (at: TestEdge) => connectTcp(at.httpsPort, '127.0.0.1').on('error', () => {})
  for (let n = 0; n < 3; n += 1) begin(patient).end(Buffer.from([22, 3]))
  await expect.poll(() => count(patient, 'gone')).toBe(3)
  expect(await count(patient, 'timeout')).toBe(0)
  const slow = begin(hasty)
  slow.write(Buffer.from([22, 3]))
  await expect.poll(() => count(hasty, 'timeout')).toBe(1)
  expect(await count(hasty, 'gone')).toBe(0)
  slow.destroy()
  await Promise.all([patient, hasty].map((one) => one.stop(0)))
})

test('a silent connection is closed when the handshake’s time is over', async () => {
  const hasty = await startTestEdge({ timeouts: { handshakeMs: 100 } })
  const socket = connectTcp(hasty.httpsPort, '127.0.0.1').on('error', () => {})
  socket.write(Buffer.from([22, 3]))
  await new RawReader(socket).closed()
  await hasty.stop(0)
})
