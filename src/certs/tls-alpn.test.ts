import { createHash, X509Certificate } from 'node:crypto'
import { createServer as createTcpServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer, type TlsOptions } from 'node:tls'
import { expect, onTestFinished, test } from 'vitest'
import { createTestCa } from '../../test/support/certificates.ts'
import { parseHostname } from '../hostname.ts'
import { createChallengeCertificate, selfCheckTlsAlpn } from './tls-alpn.ts'

const hostname = parseHostname('shop.customer.com')
const expected = 'evaGxfADs6pSRb2LAv9IZf17Dt3juxGJ-PCt92wr-oA.9jg46WB3rR_AHD-EBXdN7cBkH1WOu0tA3M9fm21mqTI'

async function listen(server: Server, address = '127.0.0.1', port = 0): Promise<number> {
  await new Promise<void>((resolve) => server.listen(port, address, resolve))
  onTestFinished(() => void server.close())
  return (server.address() as { port: number }).port
}

/** A server that answers the challenge as an edge does, unless told otherwise. */
async function answering(more: TlsOptions = {}, { name = hostname, value = expected, address = '127.0.0.1', port = 0 } = {}) {
  const { certPem, keyPem } = await createChallengeCertificate(name, value)
  const server = createTlsServer({ cert: certPem, key: keyPem, ALPNProtocols: ['acme-tls/1'], ...more }, (socket) => void socket.end())
  return listen(server, address, port)
}

const check = (port: number, addresses = ['127.0.0.1']) => selfCheckTlsAlpn({ hostname, addresses, port, expected })

test('the certificate of a challenge is the one of RFC 8737 §3', async () => {
  const { certPem, keyPem } = await createChallengeCertificate(hostname, expected)
  const certificate = new X509Certificate(certPem)
  expect(certificate.subjectAltName).toBe(`DNS:${hostname}`)
  expect(certificate.verify(certificate.publicKey)).toBe(true)
  expect(keyPem).toContain('BEGIN PRIVATE KEY')
  expect(Date.parse(certificate.validTo) - Date.parse(certificate.validFrom)).toBeLessThan(2 * 86_400_000)
  // 1.3.6.1.5.5.7.1.31, critical, an OCTET STRING within the extension's own
  const digest = createHash('sha256').update(expected).digest('hex')
  expect(certificate.raw.toString('hex')).toContain(`06082b0601050507011f0101ff042204 20${digest}`.replace(' ', ''))
})

test.each(['TLSv1.2', 'TLSv1.3'] as const)('an edge that answers the challenge over %s is ours', async (version) => {
  expect(await check(await answering({ minVersion: version, maxVersion: version }))).toEqual({ kind: 'ours' })
})

test('an IPv6 address is asked too', async () => {
  expect(await check(await answering({}, { address: '::1' }), ['::1'])).toEqual({ kind: 'ours' })
})

test('one address of ours suffices when the others cannot be reached, but one that somebody else answers decides', async () => {
  const port = await answering()
  expect(await check(port, ['127.0.0.9', '127.0.0.1'])).toEqual({ kind: 'ours' })
  await answering({}, { value: 'of another account', address: '127.0.0.2', port })
  expect(await check(port, ['127.0.0.1', '127.0.0.2'])).toMatchObject({
    kind: 'answered-by-other',
    sentence: expect.stringMatching(/127\.0\.0\.2.*another challenge\. The hostname must lead to our servers/),
  })
})

test('nobody who listens, or no address, is no connection', async () => {
  expect(await check(await answering(), ['127.0.0.9'])).toMatchObject({
    kind: 'cannot-connect',
    sentence: expect.stringMatching(
      /^No connection to https:\/\/shop\.customer\.com\/ \(port \d+ of 127\.0\.0\.9\): nothing there accepts connections \(ECONNREFUSED\)\.$/,
    ),
  })
  expect(await check(443, [])).toEqual({ kind: 'cannot-connect', sentence: 'No connection to shop.customer.com: it has no address.' })
})

test('who accepts and says nothing is given up after a deadline', async () => {
  const sockets: Socket[] = []
  const port = await listen(createTcpServer((socket) => void sockets.push(socket)))
  expect(await check(port)).toMatchObject({ kind: 'cannot-connect', sentence: expect.stringContaining('no answer within 3 seconds') })
  for (const socket of sockets) socket.destroy()
})

test.for<[string, () => Promise<number>, RegExp]>([
  ['the certificate of another challenge', () => answering({}, { value: 'other' }), /another challenge/],
  ['the certificate of another hostname', () => answering({}, { name: parseHostname('other.customer.com') }), /another challenge/],
  ['a server that refuses the protocol', () => answering({ ALPNProtocols: ['h2', 'http/1.1'] }), /refuses TLS-ALPN-01/],
  ['a server that knows no protocols', () => answering({ ALPNProtocols: undefined }), /does not take part in TLS-ALPN-01/],
  [
    'an ordinary certificate',
    async () => {
      const { chainPem, keyPem } = await (await createTestCa()).issue([hostname])
      return answering({ cert: chainPem, key: keyPem })
    },
    /another challenge/,
  ],
  [
    'what is no TLS',
    () => listen(createTcpServer((socket) => void socket.end('220 mail.customer.com ESMTP\r\n').on('error', () => undefined))),
    /does not speak TLS/,
  ],
])('%s is somebody else', async ([, serve, words]) => {
  expect(await check(await serve())).toMatchObject({ kind: 'answered-by-other', sentence: expect.stringMatching(words) })
})
