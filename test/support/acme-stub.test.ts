import 'reflect-metadata'
import { createHash, KeyObject, webcrypto } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createSecureContext, createServer as createTlsServer, type SecureContext } from 'node:tls'
import { Extension, SubjectAlternativeNameExtension, X509CertificateGenerator } from '@peculiar/x509'
import { expect, onTestFinished, test } from 'vitest'
import { createAcmeAuthority } from '../../src/certs/acme-authority.ts'
import type { ChallengeSolver } from '../../src/certs/authority.ts'
import { answerChallenge, CHALLENGE_PATH } from '../../src/certs/challenge.ts'
import type { ExternalAccount } from '../../src/certs/jws.ts'
import { generateAccountKey, thumbprintOf } from '../../src/certs/keys.ts'
import { parseHostname } from '../../src/hostname.ts'
import { type StubFault, type StubOptions, type StubStep, startAcmeStub } from './acme-stub.ts'
import { startDnsServer } from './dns.ts'

const DAY_MS = 86_400_000
const shop = parseHostname('shop.customer.example')
const accountKeyPem = await generateAccountKey()
const inTime = () => ({ signal: AbortSignal.timeout(15_000) })

async function setUp(options: StubOptions = {}, eab?: ExternalAccount) {
  const stub = await startAcmeStub(options)
  onTestFinished(() => stub.stop())
  const authority = createAcmeAuthority({ directoryUrl: stub.directoryUrl, caFile: stub.caFile, accountKeyPem, eab, now: options.now })
  return { stub, authority }
}

test.for([90, 45, 6])('a certificate of %d days comes through our own client, by the given clock', async (lifetimeDays) => {
  const now = () => new Date('2031-05-06T07:08:09.010Z')
  const { authority } = await setUp({ now, lifetimeDays, processingLooks: 2 })
  const { notBefore, notAfter } = await authority.issue(shop, inTime())
  expect(notBefore).toEqual(new Date('2031-05-06T07:08:09Z'))
  expect(notAfter.getTime() - notBefore.getTime()).toBe(lifetimeDays * DAY_MS)
})

test('a challenge is fetched for real when a port is given', async () => {
  let answering = true
  const edge = createServer((request, response) => {
    const token = request.url!.slice(CHALLENGE_PATH.length)
    response.end(answering ? answerChallenge(token, thumbprintOf(accountKeyPem)) : 'parked')
  })
  await new Promise<void>((resolve) => edge.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void edge.close())
  const { stub, authority } = await setUp({ httpPort: (edge.address() as AddressInfo).port, limits: { failuresPerHostname: 1 } })
  await authority.issue(shop, inTime())
  answering = false
  await expect(authority.issue(shop, inTime())).rejects.toMatchObject({ problem: { type: 'urn:ietf:params:acme:error:unauthorized' } })
  await expect(authority.issue(shop, inTime())).rejects.toMatchObject({ problem: { type: 'urn:ietf:params:acme:error:rateLimited' } })
  expect(stub.rateLimited()).toBe(1)
})

test.for<[StubStep, StubFault, string]>([
  ['directory', { kind: 'outage' }, 'urn:namesake:error:connectionFailed'],
  ['nonce', { kind: 'outage' }, 'urn:namesake:error:connectionFailed'],
  ['account', { kind: 'outage' }, 'urn:namesake:error:connectionFailed'],
  ['new-order', { kind: 'outage' }, 'urn:namesake:error:connectionFailed'],
  ['authorization', { kind: 'outage' }, 'urn:namesake:error:connectionFailed'],
  ['challenge', { kind: 'outage' }, 'urn:namesake:error:connectionFailed'],
  ['order', { kind: 'outage' }, 'urn:namesake:error:connectionFailed'],
  ['finalize', { kind: 'outage' }, 'urn:namesake:error:connectionFailed'],
  ['certificate', { kind: 'outage' }, 'urn:namesake:error:connectionFailed'],
  ['directory', { kind: 'malformed', text: '<html>' }, 'urn:namesake:error:malformedAnswer'],
  ['new-order', { kind: 'malformed', text: '[]' }, 'urn:namesake:error:malformedAnswer'],
  ['nonce', { kind: 'malformed', text: 'none', status: 500 }, 'urn:namesake:error:malformedAnswer'],
  ['account', { kind: 'malformed', text: '{}' }, 'urn:namesake:error:malformedAnswer'],
  ['authorization', { kind: 'malformed', text: '{"status":"maybe"}' }, 'urn:namesake:error:malformedAnswer'],
  ['challenge', { kind: 'malformed', text: '<html>', status: 502 }, 'urn:namesake:error:malformedAnswer'],
  ['order', { kind: 'malformed', text: '{"status":"valid"' }, 'urn:namesake:error:malformedAnswer'],
  ['finalize', { kind: 'malformed', text: 'null' }, 'urn:namesake:error:malformedAnswer'],
  ['certificate', { kind: 'malformed', text: 'none' }, 'urn:namesake:error:certificateMismatch'],
  ['new-order', { kind: 'problem', name: 'caa', status: 403 }, 'urn:ietf:params:acme:error:caa'],
  ['finalize', { kind: 'problem', name: 'badCSR' }, 'urn:ietf:params:acme:error:badCSR'],
])('a fault at the step %s (%o) is met, and the next order succeeds when it is healed', async ([step, fault, type]) => {
  const { stub, authority } = await setUp()
  stub.fail(step, fault)
  await expect(authority.issue(shop, inTime())).rejects.toMatchObject({ problem: { type } })
  stub.heal()
  await expect(authority.issue(shop, inTime())).resolves.toMatchObject({ chainPem: expect.stringContaining('BEGIN') })
})

test('its own counters refuse the order that exceeds a limit and say when the next is welcome', async () => {
  let nowMs = Date.parse('2031-01-01T00:00:00Z')
  const { stub, authority } = await setUp({ now: () => new Date(nowMs), limits: { ordersPerRegisteredDomain: 2 } })
  await authority.issue(shop, inTime())
  nowMs += DAY_MS
  await authority.issue(parseHostname('two.customer.example'), inTime())
  const refused = authority.issue(parseHostname('three.customer.example'), inTime())
  await expect(refused).rejects.toMatchObject({ problem: { type: 'urn:ietf:params:acme:error:rateLimited' }, retryAfterS: 6 * 86_400 })
  await authority.issue(parseHostname('shop.other.example'), inTime())
  nowMs += 6 * DAY_MS
  await authority.issue(parseHostname('three.customer.example'), inTime())
  expect(stub.rateLimited()).toBe(1)
  expect(stub.orders).toHaveLength(4)
})

const EAB = { kid: 'customer-1', hmac: 'c2VjcmV0IG9mIHRoZSBjdXN0b21lcg' }

test.for<[string, ExternalAccount | undefined, string]>([
  ['none', undefined, 'urn:ietf:params:acme:error:externalAccountRequired'],
  ["a stranger's", { ...EAB, kid: 'customer-2' }, 'urn:namesake:error:accountUnusable'],
  ['one with another key', { ...EAB, hmac: 'YW5vdGhlcg' }, 'urn:namesake:error:accountUnusable'],
])('an account whose authority wants a binding is refused with %s', async ([, eab, type]) => {
  const { authority } = await setUp({ eab: { [EAB.kid]: EAB.hmac } }, eab)
  await expect(authority.issue(shop, inTime())).rejects.toMatchObject({ problem: { type } })
})

test('an account with the binding that its authority gave gets certificates, also by the next process that has its key', async () => {
  const { stub, authority } = await setUp({ eab: { [EAB.kid]: EAB.hmac } }, EAB)
  const next = createAcmeAuthority({ directoryUrl: stub.directoryUrl, caFile: stub.caFile, accountKeyPem, eab: EAB })
  for (const one of [authority, next]) {
    await expect(one.issue(shop, inTime())).resolves.toMatchObject({ chainPem: expect.stringContaining('BEGIN') })
  }
  expect(new Set(stub.orders.map(({ account }) => account)).size).toBe(1)
})

test('of two processes that bind one account at once both get certificates', async () => {
  const { stub, authority } = await setUp({ eab: { [EAB.kid]: EAB.hmac } }, EAB)
  const next = createAcmeAuthority({ directoryUrl: stub.directoryUrl, caFile: stub.caFile, accountKeyPem, eab: EAB })
  const unaware = stub.hold('account', 'answered') // it has been told that there is no account
  const slow = authority.issue(shop, inTime())
  await unaware.reached
  await next.issue(shop, inTime())
  unaware.release()
  await expect(slow).resolves.toMatchObject({ chainPem: expect.stringContaining('BEGIN') })
})

test.for(['externalAccountRequired', 'malformed', 'unsupportedContact'])(
  'an authority that answers the question for an account with %s is sent the binding',
  async (name) => {
    const { stub, authority } = await setUp({ eab: { [EAB.kid]: EAB.hmac } }, EAB)
    stub.fail('account', { kind: 'problem', name }, 1)
    await expect(authority.issue(shop, inTime())).resolves.toMatchObject({ chainPem: expect.stringContaining('BEGIN') })
  },
)

test('DNS-01 is looked up for real when a server is given', async () => {
  const dns = await startDnsServer()
  onTestFinished(() => dns.stop())
  const { authority } = await setUp({ challenges: ['dns-01'], dnsServer: dns.endpoint })
  const solver = (present: ChallengeSolver['present']): ChallengeSolver => ({ type: 'dns-01', present, async withdraw() {} })
  const right = solver(async ({ hostname, keyAuthorization }) =>
    dns.set(`_acme-challenge.${hostname}`, 'TXT', createHash('sha256').update(keyAuthorization).digest('base64url')),
  )
  await expect(authority.issue(shop, { ...inTime(), solver: right })).resolves.toMatchObject({ issuer: expect.any(String) })
  const wrong = solver(async ({ hostname }) => dns.set(`_acme-challenge.${hostname}`, 'TXT', 'of yesterday'))
  await expect(authority.issue(shop, { ...inTime(), solver: wrong })).rejects.toThrow('dns-01')
})

test('TLS-ALPN-01 is asked for real when a port is given: only the exact name with the digest will do', async () => {
  const answers: { names: string[]; authorization?: string }[] = [
    { names: [shop] },
    { names: [shop], authorization: 'of another' },
    { names: [shop, 'two.customer.example'] },
    { names: ['two.customer.example'] },
  ]
  for (const { names, authorization } of answers) {
    const refused = await orderByTlsAlpn(names, authorization)
    expect(refused, JSON.stringify({ names, authorization })).toBe(
      names.length === 1 && names[0] === shop && !authorization ? '' : 'refused',
    )
  }
})

async function orderByTlsAlpn(names: string[], authorization?: string): Promise<string> {
  let secureContext: SecureContext | undefined
  const server = createTlsServer({ ALPNProtocols: ['acme-tls/1'], SNICallback: (_name, done) => done(null, secureContext) })
  server.on('secureConnection', (socket) => socket.on('error', () => {})).on('tlsClientError', () => {})
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  try {
    const { authority } = await setUp({ challenges: ['tls-alpn-01'], tlsPort: (server.address() as AddressInfo).port })
    const present: ChallengeSolver['present'] = async ({ keyAuthorization }) => {
      secureContext = createSecureContext(await challengeCertificate(names, authorization ?? keyAuthorization))
    }
    const solver: ChallengeSolver = { type: 'tls-alpn-01', present, async withdraw() {} }
    return await authority.issue(shop, { ...inTime(), solver }).then(
      () => '',
      () => 'refused',
    )
  } finally {
    server.close()
  }
}

async function challengeCertificate(names: string[], keyAuthorization: string): Promise<{ key: string; cert: string }> {
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
  const keys = (await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])) as webcrypto.CryptoKeyPair
  const digest = Buffer.concat([Buffer.from([0x04, 0x20]), createHash('sha256').update(keyAuthorization).digest()])
  const certificate = await X509CertificateGenerator.createSelfSigned({
    ...{ serialNumber: '01', name: 'CN=challenge', keys, signingAlgorithm: algorithm },
    extensions: [
      new SubjectAlternativeNameExtension(names.map((value) => ({ type: 'dns' as const, value }))),
      new Extension('1.3.6.1.5.5.7.1.31', true, digest),
    ],
  })
  return { key: KeyObject.from(keys.privateKey).export({ type: 'pkcs8', format: 'pem' }) as string, cert: certificate.toString('pem') }
}

test('a request stands still where it is told to, before anything is done or after', async () => {
  const { stub, authority } = await setUp()
  const [received, answered] = [stub.hold('new-order', 'received'), stub.hold('finalize', 'answered')]
  const issuing = authority.issue(shop, inTime())
  await received.reached
  expect(stub.orders).toHaveLength(0)
  received.release()
  await answered.reached
  expect(stub.orders).toMatchObject([{ status: 'valid' }])
  answered.drop()
  await expect(issuing).rejects.toMatchObject({ problem: { type: 'urn:namesake:error:connectionFailed' } })
})

test('an order that is still processed is looked at again when Retry-After says', async () => {
  const { stub, authority } = await setUp({ processingLooks: 1, processingRetryAfterS: 1 })
  const began = performance.now()
  await authority.issue(shop, inTime())
  expect(performance.now() - began).toBeGreaterThan(1_000)
  expect(stub.count('order')).toBeLessThanOrEqual(3)
})
