import { X509Certificate } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { type Pebble, type PebbleOptions, startPebble } from '../../test/support/pebble.ts'
import { type Hostname, parseHostname } from '../hostname.ts'
import { createAcmeAuthority } from './acme-authority.ts'
import { IssueError } from './authority.ts'
import { readCertificate } from './certificate.ts'
import { answerChallenge, CHALLENGE_PATH } from './challenge.ts'
import { generateAccountKey, thumbprintOf } from './keys.ts'

const shop = parseHostname('shop.customer.example')

/** Port 80 of an edge: answers any token, and remembers which were asked for. */
async function startEdgePort(accountKeyPem: string, answer = answerChallenge) {
  const tokens: string[] = []
  const server = createServer((request, response) => {
    const token = request.url!.slice(CHALLENGE_PATH.length)
    tokens.push(token)
    response.end(answer(token, thumbprintOf(accountKeyPem)))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { tokens, port: (server.address() as AddressInfo).port, stop: () => new Promise((resolve) => server.close(resolve)) }
}

type Setting = { accountKeyPem: string; edge: Awaited<ReturnType<typeof startEdgePort>>; pebble: Pebble }

async function setUp(options: PebbleOptions = {}, answer = answerChallenge): Promise<Setting> {
  const accountKeyPem = await generateAccountKey()
  const edge = await startEdgePort(accountKeyPem, answer)
  const pebble = await startPebble({ httpPort: edge.port, ...options })
  onTestFinished(async () => {
    await pebble.stop()
    await edge.stop()
  })
  return { accountKeyPem, edge, pebble }
}

function authorityOf({ pebble, accountKeyPem }: Setting, extra: Partial<Parameters<typeof createAcmeAuthority>[0]> = {}) {
  return createAcmeAuthority({ directoryUrl: pebble.directoryUrl, caFile: pebble.caFile, accountKeyPem, ...extra })
}

const inTime = () => ({ signal: AbortSignal.timeout(20_000) })

async function failureOf(work: Promise<unknown>): Promise<IssueError> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(IssueError)
  return error as IssueError
}

let strict: Pebble
let strictEdge: Awaited<ReturnType<typeof startEdgePort>>
let strictKey: string
beforeAll(async () => {
  strictKey = await generateAccountKey()
  strictEdge = await startEdgePort(strictKey)
  strict = await startPebble({ httpPort: strictEdge.port, nonceReject: 20, strict: true })
})
afterAll(async () => {
  await strict.stop()
  await strictEdge.stop()
})
const strictSetting = (): Setting => ({ accountKeyPem: strictKey, edge: strictEdge, pebble: strict })

test('a certificate for the hostname, with its own key and a chain that the root signed', async () => {
  const issued = await authorityOf(strictSetting(), { email: 'ops@vendor.example' }).issue(shop, inTime())
  const [leaf, intermediate] = issued.chainPem.match(/-----BEGIN[^-]+-----[^-]+-----END[^-]+-----/g)!.map((pem) => new X509Certificate(pem))
  expect(readCertificate(issued.chainPem)).toMatchObject({ names: [shop], serial: issued.serial, issuer: issued.issuer })
  expect(leaf!.verify(intermediate!.publicKey)).toBe(true)
  expect(intermediate!.verify(new X509Certificate(await strict.rootPem()).publicKey)).toBe(true)
  expect(issued.keyPem).toContain('BEGIN PRIVATE KEY')
})

test('20 orders at once by one account all succeed, while the authority refuses every fifth nonce and is strict', async () => {
  const authority = authorityOf(strictSetting())
  const names = Array.from({ length: 20 }, (_, i) => parseHostname(`shop${i}.customer.example`))
  const issued = await Promise.all(names.map((hostname) => authority.issue(hostname, inTime())))
  expect(issued.map(({ chainPem }) => readCertificate(chainPem).names)).toEqual(names.map((hostname) => [hostname]))
  expect(new Set(issued.map(({ keyPem }) => keyPem)).size).toBe(20)
})

test('every order proves control again where the authority reuses no authorization', async () => {
  const setting = await setUp({ authzReuse: 0 })
  const authority = authorityOf(setting)
  await authority.issue(shop, inTime())
  const before = setting.edge.tokens.length
  // Pebble reuses one in a hundred all the same: four in a row are no chance any more.
  for (let order = 0; order < 4 && setting.edge.tokens.length === before; order++) await authority.issue(shop, inTime())
  expect(setting.edge.tokens.length).toBeGreaterThan(before)
})

test('no second proof where the authority reuses a valid authorization', async () => {
  const setting = await setUp({ authzReuse: 100, strict: true })
  const authority = authorityOf(setting)
  await authority.issue(shop, inTime())
  const before = setting.edge.tokens.length
  await authority.issue(shop, inTime())
  expect(setting.edge.tokens.length).toBe(before)
})

test('the same account key finds the same account, also in another process', async () => {
  const setting = await setUp()
  await authorityOf(setting, { email: 'old@vendor.example' }).issue(shop, inTime())
  await authorityOf(setting, { email: 'new@vendor.example' }).issue(shop, inTime())
  const accounts = setting.pebble.output().match(/There are now \d+ accounts in memory/g)
  expect(accounts).toEqual(['There are now 1 accounts in memory'])
})

test('the account is bound to an external one where the authority requires it, and found by the next process', async () => {
  const hmac = 'zWNDZM6eQGHWpSRTPal5eIUYFTu7EajVIoguysqZ9wG44nMEtx3MUAsUDkMTQ12W'
  const setting = await setUp({ eab: { 'kid-1': hmac } })
  for (const email of ['old@vendor.example', 'new@vendor.example']) {
    const issued = await authorityOf(setting, { email, eab: { kid: 'kid-1', hmac } }).issue(shop, inTime())
    expect(readCertificate(issued.chainPem).names).toEqual([shop])
  }
  expect(setting.pebble.output().match(/There are now \d+ accounts in memory/g)).toHaveLength(1)
})

test('without the external account that an authority requires, its own words say so', async () => {
  const setting = await setUp({ eab: { 'kid-1': 'zWNDZM6eQGHWpSRTPal5eIUYFTu7EajVIoguysqZ9wG44nMEtx3MUAsUDkMTQ12W' } })
  const { problem } = await failureOf(authorityOf(setting).issue(shop, inTime()))
  expect(problem.type).toBe('urn:ietf:params:acme:error:externalAccountRequired')
})

test('a challenge that nobody answers keeps the problem of the authority: connection', async () => {
  const setting = await setUp({ httpPort: undefined })
  const { problem, message } = await failureOf(authorityOf(setting).issue(shop, inTime()))
  expect(problem).toMatchObject({ type: 'urn:ietf:params:acme:error:connection', status: 400 })
  expect(message).toContain(`could not validate ${shop}`)
  expect(message).toContain(problem.detail)
})

test('a challenge that somebody else answers keeps the problem of the authority: unauthorized', async () => {
  const setting = await setUp({}, () => '<h1>Parked</h1>')
  const { problem } = await failureOf(authorityOf(setting).issue(shop, inTime()))
  expect(problem).toMatchObject({ type: 'urn:ietf:params:acme:error:unauthorized', status: 403 })
})

test('a name that the authority does not serve is refused in its own words: rejectedIdentifier', async () => {
  const setting = await setUp({ blocklist: ['blocked.example'] })
  const { problem, message } = await failureOf(authorityOf(setting).issue(parseHostname('shop.blocked.example'), inTime()))
  expect(problem).toMatchObject({ type: 'urn:ietf:params:acme:error:rejectedIdentifier', status: 400 })
  expect(message).toContain('shop.blocked.example')
})

test('a failed order does not keep the next one from succeeding', async () => {
  let answering = false
  const setting = await setUp({}, (token, thumbprint) => (answering ? answerChallenge(token, thumbprint) : 'not yet'))
  const authority = authorityOf(setting)
  await failureOf(authority.issue(shop, inTime()))
  answering = true
  await expect(authority.issue(shop, inTime())).resolves.toMatchObject({ chainPem: expect.stringContaining('BEGIN CERTIFICATE') })
})

test.for<[string, string | undefined, RegExp]>([
  ['of another authority', 'other', /not trusted .*NAMESAKE_ACME_CA_FILE/],
  ['absent, of a private authority', undefined, /not trusted .*NAMESAKE_ACME_CA_FILE/],
  ['that is not there', '/nowhere/ca.pem', /NAMESAKE_ACME_CA_FILE \(\/nowhere\/ca\.pem\).*no such file/],
  ['that holds no certificate', '/etc/hostname', /NAMESAKE_ACME_CA_FILE \(\/etc\/hostname\).*no PEM certificate/],
])('a CA file %s is named in the error', async ([, file, words]) => {
  const other = file === 'other' ? await setUp() : undefined
  const authority = authorityOf(strictSetting(), { caFile: other?.pebble.caFile ?? file })
  const { message } = await failureOf(authority.issue(shop, inTime()))
  expect(message).toMatch(words)
})

test('the certificates of an authority that lost our account are ordered by a new one', async () => {
  const accountKeyPem = await generateAccountKey()
  const edge = await startEdgePort(accountKeyPem)
  onTestFinished(async () => void (await edge.stop()))
  const first = await startPebble({ httpPort: edge.port })
  const authority = createAcmeAuthority({ directoryUrl: first.directoryUrl, caFile: first.caFile, accountKeyPem })
  await authority.issue(shop, inTime())
  await first.restart()
  onTestFinished(() => first.stop())
  await expect(authority.issue(shop, inTime())).resolves.toMatchObject({ chainPem: expect.stringContaining('BEGIN CERTIFICATE') })
})

test('the lifetime is the one that the authority gave, not one that we assume', async () => {
  const setting = await setUp({ validityS: 6 * 86_400 })
  const { notBefore, notAfter } = await authorityOf(setting).issue(shop, inTime())
  expect(Math.round((notAfter.getTime() - notBefore.getTime()) / 86_400_000)).toBe(6)
})

test('a hostname whose DNS does not answer keeps the words of the authority', async () => {
  const setting = await setUp()
  await setting.pebble.setDns({ command: 'set-servfail', body: { host: shop } })
  const { problem } = await failureOf(authorityOf(setting).issue(shop, inTime()))
  expect(problem.detail).toContain('could not resolve')
})

test('hostnames of every legal shape are ordered', async () => {
  const long = `${'a'.repeat(63)}.${'b'.repeat(63)}.example`
  const names: Hostname[] = ['xn--bcher-kva.example', '1.2.3.customer.example', long].map(parseHostname)
  const authority = authorityOf(strictSetting())
  for (const hostname of names) expect(readCertificate((await authority.issue(hostname, inTime())).chainPem).names).toEqual([hostname])
})
