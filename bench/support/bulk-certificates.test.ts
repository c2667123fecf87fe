import { createPrivateKey, X509Certificate } from 'node:crypto'
import { expect, test } from 'vitest'
import { createBulkAuthority } from './bulk-certificates.ts'
import { nameAt } from './numbered-names.ts'

test('each of many certificates is for its own name and key, and the root vouches for the one behind it', async () => {
  const authority = await createBulkAuthority()
  const names = [0, 1, 2].map((number) => nameAt('bench.localhost', number))
  const made = await authority.issueMany(names)
  const read = made.map(({ chainPem }) => new X509Certificate(chainPem))
  expect(read.map(({ subjectAltName }) => subjectAltName)).toEqual(names.map((name) => `DNS:${name}`))
  for (const [i, leaf] of read.entries()) {
    const issuer = new X509Certificate(made[i]!.chainPem.slice(leaf.toString().length))
    expect(leaf.checkIssued(issuer) && leaf.verify(issuer.publicKey)).toBe(true)
    expect(issuer.verify(new X509Certificate(authority.ca).publicKey)).toBe(true)
  }
  expect(made.every(({ keyPem }, i) => read[i]!.checkPrivateKey(createPrivateKey(keyPem)))).toBe(true)
  expect(new Set(read.map(({ serialNumber }) => serialNumber)).size).toBe(3)
})

test('a certificate covers whatever else it is asked to', async () => {
  const authority = await createBulkAuthority()
  const hot = await authority.issue(nameAt('bench.localhost', 0), ['*.bench.localhost'])
  expect(new X509Certificate(hot.chainPem).subjectAltName).toBe('DNS:n0000000.bench.localhost, DNS:*.bench.localhost')
})
