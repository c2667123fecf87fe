import { expect, onTestFinished, test } from 'vitest'
import { type StubOptions, startAcmeStub } from '../../test/support/acme-stub.ts'
import { parseHostname } from '../hostname.ts'
import { createAcmeAuthority } from './acme-authority.ts'
import { generateAccountKey } from './keys.ts'
import { createLocalAuthority, createLocalCa } from './local-ca.ts'
import { certIdOf, momentIn } from './renewal-info.ts'

const DAY_MS = 86_400_000
const shop = parseHostname('shop.customer.example')
const accountKeyPem = await generateAccountKey()
const inTime = () => ({ signal: AbortSignal.timeout(15_000) })

async function setUp(options: StubOptions = {}) {
  const stub = await startAcmeStub(options)
  onTestFinished(() => stub.stop())
  const authority = createAcmeAuthority({ directoryUrl: stub.directoryUrl, caFile: stub.caFile, accountKeyPem, now: options.now })
  return { stub, authority, ask: (chainPem: string) => authority.renewalInfo(chainPem, inTime().signal) }
}

// The certificate of RFC 9773, appendix A, and its identifier of §4.1.
const RFC_CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBQzCB66ADAgECAgUAh2VDITAKBggqhkjOPQQDAjAVMRMwEQYDVQQDEwpFeGFt
cGxlIENBMCIYDzAwMDEwMTAxMDAwMDAwWhgPMDAwMTAxMDEwMDAwMDBaMBYxFDAS
BgNVBAMTC2V4YW1wbGUuY29tMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEeBZu
7cbpAYNXZLbbh8rNIzuOoqOOtmxA1v7cRm//AwyMwWxyHz4zfwmBhcSrf47NUAFf
qzLQ2PPQxdTXREYEnKMjMCEwHwYDVR0jBBgwFoAUaYhba4dGQEHhs3uEe6CuLN4B
yNQwCgYIKoZIzj0EAwIDRwAwRAIge09+S5TZAlw5tgtiVvuERV6cT4mfutXIlwTb
+FYN/8oCIClDsqBklhB9KAelFiYt9+6FDj3z4KGVelYM5MdsO3pK
-----END CERTIFICATE-----
`

test('a certificate is named to its authority as RFC 9773 does it', () => {
  expect(certIdOf(RFC_CERTIFICATE)).toBe('aYhba4dGQEHhs3uEe6CuLN4ByNQ.AIdlQyE')
})

test('the window that the authority suggests for its own certificate', async () => {
  const now = () => new Date('2031-05-06T07:08:09Z')
  const { ask, authority } = await setUp({ now, lifetimeDays: 90 })
  const { chainPem } = await authority.issue(shop, inTime())
  const middleMs = now().getTime() + 60 * DAY_MS
  const window = { start: new Date(middleMs - DAY_MS), end: new Date(middleMs + DAY_MS) }
  expect(await ask(chainPem)).toEqual({ kind: 'window', ...window, retryAfterS: 21_600 })
})

test('no wish where the directory offers no renewal information, nor with the built-in authority', async () => {
  const { ask, authority, stub } = await setUp({ renewalInfo: false })
  const { chainPem } = await authority.issue(shop, inTime())
  expect(await ask(chainPem)).toEqual({ kind: 'none' })
  expect(stub.count('renewal-info')).toBe(0)
  const ca = await createLocalCa()
  const local = createLocalAuthority({ caKeyPem: ca.keyPem, caCertPem: ca.certPem, lifetimeDays: 90 })
  expect(await local.renewalInfo(chainPem, inTime().signal)).toEqual({ kind: 'none' })
})

const WINDOW = { start: '2031-01-02T00:00:00Z', end: '2031-01-03T01:00:00.5+01:00' }

test.for<[string, string | undefined, number]>([
  ['absent', undefined, 21_600],
  ['too short', '0', 60],
  ['too long', '9999999', 86_400],
  ['well chosen', '7200', 7_200],
])('a Retry-After that is %s is kept within bounds', async ([, retryAfter, retryAfterS]) => {
  const headers: Record<string, string> = retryAfter === undefined ? {} : { 'retry-after': retryAfter }
  const explanationURL = 'https://authority.example/why'
  const { ask } = await setUp({ renewalInfo: () => ({ headers, body: { suggestedWindow: WINDOW, explanationURL } }) })
  const window = { start: new Date(WINDOW.start), end: new Date('2031-01-03T00:00:00.5Z') }
  expect(await ask(RFC_CERTIFICATE)).toEqual({ kind: 'window', ...window, explanationUrl: explanationURL, retryAfterS })
})

test.for<[string, unknown]>([
  ['absent', {}],
  ['empty', { suggestedWindow: { start: WINDOW.start, end: WINDOW.start } }],
  ['backwards', { suggestedWindow: { start: WINDOW.end, end: WINDOW.start } }],
  ['without a zone', { suggestedWindow: { start: '2031-01-02T00:00:00', end: '2031-01-03T00:00:00' } }],
  ['no date', { suggestedWindow: { start: '2031-13-45T00:00:00Z', end: WINDOW.end } }],
  ['a number', { suggestedWindow: { start: 1, end: 2 } }],
  ['no JSON', '<html>'],
])('a window that is %s is refused', async ([, body]) => {
  const { ask } = await setUp({ renewalInfo: () => ({ body }) })
  await expect(ask(RFC_CERTIFICATE)).rejects.toMatchObject({ problem: { type: 'urn:namesake:error:malformedAnswer' } })
})

test('an explanation that is no web address is left out', async () => {
  const body = { suggestedWindow: WINDOW, explanationURL: 'javascript:alert(1)' }
  const { ask } = await setUp({ renewalInfo: () => ({ body }) })
  expect(await ask(RFC_CERTIFICATE)).not.toHaveProperty('explanationUrl')
})

test('an outage of the renewal information, or a certificate that it does not know, is a failure', async () => {
  const { ask, stub } = await setUp()
  await expect(ask(RFC_CERTIFICATE)).rejects.toMatchObject({ problem: { status: 404 } })
  stub.fail('renewal-info', { kind: 'outage' })
  await expect(ask(RFC_CERTIFICATE)).rejects.toMatchObject({ problem: { type: 'urn:namesake:error:connectionFailed' } })
})

test('moments are spread over the window, stay the same for one window, and never come too late nor too soon', () => {
  const [notBefore, notAfter] = [new Date('2031-01-01T00:00:00Z'), new Date('2031-04-01T00:00:00Z')]
  const window = { start: new Date('2031-02-27T00:00:00Z'), end: new Date('2031-03-02T00:00:00Z') }
  const certificate = (i: number) => ({ serial: i.toString(16), notBefore, notAfter })
  const moments = Array.from({ length: 500 }, (_, i) => momentIn(window, certificate(i)).getTime()).sort((a, b) => a - b)
  expect(moments[0]).toBeGreaterThanOrEqual(window.start.getTime())
  expect(moments.at(-1)).toBeLessThan(window.end.getTime())
  expect(moments.at(-1)! - moments[0]!).toBeGreaterThan(2.5 * DAY_MS)
  expect(momentIn(window, certificate(1))).toEqual(momentIn(window, certificate(1)))
  const late = { start: notAfter, end: new Date(notAfter.getTime() + DAY_MS) }
  expect(momentIn(late, certificate(1))).toEqual(new Date('2031-03-17T00:00:00Z'))
  const past = { start: new Date(notBefore.getTime() - DAY_MS), end: notBefore }
  expect(momentIn(past, certificate(1))).toEqual(new Date(notBefore.getTime() + DAY_MS / 4))
  const short = { ...certificate(1), notAfter: new Date(notBefore.getTime() + DAY_MS / 2) }
  expect(momentIn(past, short)).toEqual(new Date(notBefore.getTime() + DAY_MS / 8))
})

test('a renewal names what it replaces, which no limit refuses', async () => {
  const { stub, authority } = await setUp({ limits: { ordersPerNames: 1 } })
  const replaces = certIdOf((await authority.issue(shop, inTime())).chainPem)
  await authority.issue(shop, { ...inTime(), replaces })
  expect(stub.orders.map((order) => order.replaces)).toEqual([undefined, replaces])
  expect(stub.rateLimited()).toBe(0)
})

test('a certificate that was replaced already, or that the authority does not know, is renewed by an ordinary order', async () => {
  const { stub, authority } = await setUp()
  const replaces = certIdOf((await authority.issue(shop, inTime())).chainPem)
  await authority.issue(shop, { ...inTime(), replaces })
  await authority.issue(shop, { ...inTime(), replaces })
  await authority.issue(shop, { ...inTime(), replaces: certIdOf(RFC_CERTIFICATE) })
  expect(stub.orders.map((order) => order.replaces)).toEqual([undefined, replaces, undefined, undefined])
})

test('a rate limit on a renewal is not answered by a second order', async () => {
  const { stub, authority } = await setUp()
  const replaces = certIdOf((await authority.issue(shop, inTime())).chainPem)
  stub.fail('new-order', { kind: 'problem', name: 'rateLimited', status: 429 })
  const before = stub.count('new-order')
  await expect(authority.issue(shop, { ...inTime(), replaces })).rejects.toMatchObject({ problem: { status: 429 } })
  expect(stub.count('new-order')).toBe(before + 1)
})

test('where the directory offers no renewal information, no order says what it replaces', async () => {
  const { stub, authority } = await setUp({ renewalInfo: false })
  await authority.issue(shop, { ...inTime(), replaces: 'a.b' })
  expect(stub.orders.map((order) => order.replaces)).toEqual([undefined])
})
