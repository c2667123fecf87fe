import { execFile } from 'node:child_process'
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, get } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { parseHostname } from '../hostname.ts'
import { createLocalAuthority, createLocalCa } from './local-ca.ts'

const DAY_MS = 86_400_000
const hostname = parseHostname('hello.localhost')
const inTime = () => ({ signal: AbortSignal.timeout(20_000) })

async function setUp() {
  const ca = await createLocalCa()
  const authority = createLocalAuthority({ caKeyPem: ca.keyPem, caCertPem: ca.certPem, lifetimeDays: 90 })
  const { chainPem, keyPem } = await authority.issue(hostname, inTime())
  const server = createServer({ cert: chainPem, key: keyPem }, (_request, response) => void response.end('hello'))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const folder = mkdtempSync(join(tmpdir(), 'namesake-local-ca-'))
  const caFile = join(folder, 'ca.pem')
  writeFileSync(caFile, ca.certPem)
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
    rmSync(folder, { recursive: true })
  })
  return { ca, authority, caFile, port: (server.address() as AddressInfo).port }
}

function fetchWithNode(ca: string, name: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    get({ host: '127.0.0.1', port, servername: name, headers: { host: name }, ca, agent: false }, (answer) => {
      answer.resume()
      resolve(answer.statusCode!)
    }).on('error', reject)
  })
}

test('curl trusts its certificates once it has the root', async () => {
  const { caFile, port } = await setUp()
  const url = `https://${hostname}:${port}/`
  const { stdout } = await promisify(execFile)('curl', ['-sS', '--cacert', caFile, '--resolve', `${hostname}:${port}:127.0.0.1`, url])
  expect(stdout).toBe('hello')
})

test('Node trusts its certificates once it has the root, and for no other name', async () => {
  const { ca, port } = await setUp()
  expect(await fetchWithNode(ca.certPem, hostname, port)).toBe(200)
  await expect(fetchWithNode(ca.certPem, 'other.localhost', port)).rejects.toMatchObject({ code: 'ERR_TLS_CERT_ALTNAME_INVALID' })
})

test('without the root, or with the root of another installation, nobody trusts them', async () => {
  const { port } = await setUp()
  const other = await createLocalCa()
  await expect(fetchWithNode(other.certPem, hostname, port)).rejects.toMatchObject({ code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' })
})

test('openssl finds nothing to complain about, strictly', async () => {
  const { ca, authority, caFile } = await setUp()
  const leafFile = `${caFile}.leaf`
  writeFileSync(leafFile, (await authority.issue(hostname, inTime())).chainPem)
  const { stdout } = await promisify(execFile)('openssl', [
    'verify',
    '-x509_strict',
    '-purpose',
    'sslserver',
    '-verify_hostname',
    hostname,
    '-CAfile',
    caFile,
    leafFile,
  ])
  expect(stdout).toContain(': OK')
  expect(new X509Certificate(ca.certPem).ca).toBe(true)
})

test('the root lasts ten years, is an authority, and names its installation', async () => {
  const { keyPem, certPem } = await createLocalCa(new Date('2026-03-01T00:01:00Z'))
  const root = new X509Certificate(certPem)
  expect(root.validToDate.getTime() - root.validFromDate.getTime()).toBe(3_650 * DAY_MS)
  expect(root.subject).toMatch(/^CN=Namesake local CA [0-9a-f]{6}$/)
  expect(root.verify(root.publicKey) && root.checkPrivateKey(createPrivateKey(keyPem))).toBe(true)
})

test('a certificate lasts the days that were asked for, begins an hour ago, and never outlives the root', async () => {
  const ca = await createLocalCa(new Date('2026-03-01T00:00:00Z'))
  const at = (now: string) =>
    createLocalAuthority({ caKeyPem: ca.keyPem, caCertPem: ca.certPem, lifetimeDays: 90, now: () => new Date(now) }).issue(
      hostname,
      inTime(),
    )
  const early = await at('2026-06-01T00:00:00.900Z')
  expect(early.notBefore).toEqual(new Date('2026-05-31T23:00:00Z'))
  expect(early.notAfter.getTime() - early.notBefore.getTime()).toBe(90 * DAY_MS)
  expect((await at('2036-02-01T00:00:00Z')).notAfter).toEqual(new X509Certificate(ca.certPem).validToDate)
})

test('no two certificates share a key or a serial', async () => {
  const { authority } = await setUp()
  const issued = await Promise.all(Array.from({ length: 20 }, () => authority.issue(hostname, inTime())))
  expect(new Set(issued.map(({ serial }) => serial)).size).toBe(20)
  expect(new Set(issued.map(({ keyPem }) => keyPem)).size).toBe(20)
  expect(authority).toMatchObject({ name: 'local', thumbprint: null })
})
