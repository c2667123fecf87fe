import { once } from 'node:events'
import { connect as connectTcp } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { EDGE_HOST, startTestEdge, type TestEdge } from '../../test/support/edge.ts'
import { openHttp2, openTls, requestHttp2, speak } from '../../test/support/raw-visitor.ts'
import { startUpstream, type Upstream } from '../../test/support/upstream.ts'
import { createChallengeCertificate, selfCheckTlsAlpn } from '../certs/tls-alpn.ts'
import { type Hostname, parseHostname } from '../hostname.ts'
import { createChallengeSource } from './challenge-source.ts'
import type { CertificateAnswer } from './tls.ts'

const served = parseHostname('shop.customer.com')
const waiting = parseHostname('new.customer.com')
const ISSUANCE = Promise.withResolvers<CertificateAnswer>().promise // never comes

let upstream: Upstream
let edge: TestEdge
let pending: { hostname: Hostname; keyAuthorization: string }[] = []
const challenges = createChallengeSource({ readAll: () => pending, certify: createChallengeCertificate })

beforeAll(async () => {
  upstream = await startUpstream()
  edge = await startTestEdge({ challenges })
  await edge.route(served, upstream.url)
  await edge.route(waiting, upstream.url)
  edge.certificates.set(waiting, ISSUANCE)
})
afterAll(async () => {
  await edge.stop(1_000)
  await upstream.stop()
})
beforeEach(() => present())

function present(...all: [Hostname, string][]) {
  pending = all.map(([hostname, keyAuthorization]) => ({ hostname, keyAuthorization }))
  challenges.changed()
}
const validate = (hostname: Hostname, expected: string, port = edge.httpsPort) =>
  selfCheckTlsAlpn({ hostname, addresses: ['127.0.0.1'], port, expected })
const target = (hostname: string, more = {}) => ({ port: edge.httpsPort, hostname, ca: edge.ca.certPem, more })
const asAuthority = { ALPNProtocols: ['acme-tls/1'], rejectUnauthorized: false }
const NO_PROTOCOL = { code: expect.stringMatching(/ALERT_NO_APPLICATION_PROTOCOL/) }

test('an authority is shown the challenge of a hostname with a certificate, and of one that waits for its first', async () => {
  present([served, 'one'], [waiting, 'two'])
  expect(await validate(served, 'one')).toEqual({ kind: 'ours' })
  expect(await validate(waiting, 'two')).toEqual({ kind: 'ours' })
  expect(await validate(served, 'two')).toMatchObject({ kind: 'answered-by-other' })
})

test.each(['TLSv1.2', 'TLSv1.3'] as const)('over %s the connection ends when the handshake is complete', async (version) => {
  present([served, 'one'])
  const socket = await openTls(target(served, { ...asAuthority, minVersion: version, maxVersion: version }))
  expect([socket.getProtocol(), socket.alpnProtocol, socket.getPeerCertificate().subjectaltname]).toEqual([
    version,
    'acme-tls/1',
    `DNS:${served}`,
  ])
  const chunks: Buffer[] = []
  socket.on('data', (chunk) => chunks.push(chunk))
  socket.write('GET / HTTP/1.1\r\nHost: shop.customer.com\r\n\r\n')
  await once(socket, 'close')
  expect(chunks).toEqual([])
})

test('without a challenge for the name an authority is refused at once, whatever the hostname', async () => {
  for (const others of [[], [[parseHostname('other.customer.com'), 'one']]] as [Hostname, string][][]) {
    present(...others)
    for (const name of [served, waiting, EDGE_HOST]) await expect(openTls(target(name, asAuthority))).rejects.toMatchObject(NO_PROTOCOL)
    await expect(openTls(target('unknown.customer.com', asAuthority))).rejects.toMatchObject({ code: expect.stringMatching(/ALERT/) })
  }
  await expect(openTls({ ...target(served, asAuthority), hostname: undefined })).rejects.toMatchObject(NO_PROTOCOL)
})

test('the newer of two challenges is answered, and none when both are withdrawn', async () => {
  present([served, 'one'], [served, 'two'])
  expect(await validate(served, 'two')).toEqual({ kind: 'ours' })
  present([served, 'one'])
  expect(await validate(served, 'one')).toEqual({ kind: 'ours' })
  present()
  expect(await validate(served, 'one')).toMatchObject({
    kind: 'answered-by-other',
    sentence: expect.stringContaining('refuses TLS-ALPN-01'),
  })
})

test('a visitor is served as ever while a challenge for the same hostname is pending', async () => {
  present([served, 'one'])
  await validate(served, 'one')
  const reader = await speak(target(served), `GET / HTTP/1.1\r\nHost: ${served}\r\nConnection: close\r\n\r\n`)
  expect((await reader.answer()).status).toBe(200)
  const session = await openHttp2(target(served))
  expect((await requestHttp2(session, { ':path': '/', ':authority': served })).headers[':status']).toBe(200)
  session.close()
  for (const ALPNProtocols of [['acme-tls/1', 'http/1.1'], undefined]) {
    const socket = await openTls(target(served, { ALPNProtocols }))
    expect(socket.getPeerCertificate().subject.CN).toBe(served)
    socket.destroy()
  }
})

test('a ticket of a visitor opens no validation, and one of a validation no visit', async () => {
  present([served, 'one'])
  const tickets = async (more: object) => {
    const socket = await openTls(target(served, { ...more, maxVersion: 'TLSv1.2' }))
    const session = socket.getSession()!
    socket.destroy()
    return session
  }
  const validation = await openTls(target(served, { ...asAuthority, maxVersion: 'TLSv1.2', session: await tickets({}) }))
  expect([validation.isSessionReused(), validation.getPeerCertificate().subject.CN]).toEqual([false, undefined])
  const visit = await openTls(target(served, { maxVersion: 'TLSv1.2', session: await tickets(asAuthority) }))
  expect([visit.isSessionReused(), visit.getPeerCertificate().subject.CN]).toEqual([false, served])
  validation.destroy()
  visit.destroy()
})

test('the PROXY protocol’s header stands before a validation too', async () => {
  const behind = await startTestEdge({ challenges, proxyProtocol: 'required' })
  onTestFinished(() => behind.stop(0))
  present([served, 'one'])
  const socket = connectTcp(behind.httpsPort, '127.0.0.1')
  socket.write('PROXY TCP4 198.51.100.7 192.0.2.1 50000 443\r\n')
  const secured = connectTls({ socket, servername: served, ...asAuthority })
  await once(secured, 'secureConnect')
  expect([secured.alpnProtocol, secured.getPeerCertificate().subjectaltname]).toEqual(['acme-tls/1', `DNS:${served}`])
  secured.destroy()
})

test('validations are counted beside the handshakes of visitors', async () => {
  expect(await edge.metrics()).toMatch(/namesake_edge_handshakes_total\{outcome="validated"\} [1-9]/)
})
