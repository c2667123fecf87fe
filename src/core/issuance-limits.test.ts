import { expect, test } from 'vitest'
import { parseClaimName } from '../hostname.ts'
import { limitsOf, registeredDomainOf, roomForNew } from './issuance-limits.ts'

const max = (directory: string) => Object.fromEntries(limitsOf(directory).map((limit) => [limit.scope, [limit.max, roomForNew(limit)]]))

test("a directory has its own limits, or those of Let's Encrypt, and a fifth of them is kept for renewals", () => {
  const letsEncrypt = { account: [300, 240], domain: [50, 40], names: [5, 4], failures: [5, 5] }
  expect(max('https://acme-v02.api.letsencrypt.org/directory')).toEqual(letsEncrypt)
  expect(max('https://acme.example.com/directory')).toEqual(letsEncrypt)
  expect(max('https://acme-staging-v02.api.letsencrypt.org/directory')).toMatchObject({ domain: [30_000, 24_000] })
})

test("the built-in authority and a test's own directory have none", () => {
  for (const directory of [
    'local',
    'https://127.0.0.1:14000/dir',
    'https://localhost/dir',
    'https://[::1]:14000/dir',
    'https://ca.localhost',
  ]) {
    expect(limitsOf(directory)).toEqual([])
  }
})

test.each([
  ['shop.customer.com', 'customer.com'],
  ['a.b.customer.co.uk', 'customer.co.uk'],
  ['customer.com', 'customer.com'],
  ['a.one.github.io', 'one.github.io'],
  ['github.io', 'github.io'],
  ['shop.customer.test', 'customer.test'],
  ['*.shop.customer.co.uk', 'customer.co.uk'],
  ['*.customer.com', 'customer.com'],
  ['*.github.io', 'github.io'],
])('%s counts for %s', (hostname, domain) => {
  expect(registeredDomainOf(parseClaimName(hostname))).toBe(domain)
})
