import { expect, test } from 'vitest'
import { parseHostname } from '../hostname.ts'
import { readCertificate, renewAt } from './certificate.ts'
import { createLocalAuthority, createLocalCa } from './local-ca.ts'

const DAY_MS = 86_400_000

test.for([
  [90, 60],
  [45, 30],
  [6, 4],
])('a certificate of %d days is renewed on day %d', ([lifetime, day]) => {
  const notBefore = new Date('2026-03-01T12:00:00Z')
  const notAfter = new Date(notBefore.getTime() + lifetime! * DAY_MS)
  expect(renewAt({ notBefore, notAfter })).toEqual(new Date(notBefore.getTime() + day! * DAY_MS))
})

test('issuer, serial, validity and names are read from the first certificate of a chain', async () => {
  const { keyPem, certPem } = await createLocalCa()
  const now = new Date('2026-03-01T12:01:00.500Z')
  const authority = createLocalAuthority({ caKeyPem: keyPem, caCertPem: certPem, lifetimeDays: 90, now: () => now })
  const { chainPem } = await authority.issue(parseHostname('shop.customer.com'), { signal: AbortSignal.timeout(1_000) })
  const facts = readCertificate(chainPem + certPem)
  expect(facts).toEqual({
    issuer: expect.stringMatching(/^CN=Namesake local CA [0-9a-f]{6}$/),
    serial: expect.stringMatching(/^[4-7][0-9a-f]{31}$/),
    notBefore: new Date('2026-03-01T12:00:00Z'),
    notAfter: new Date('2026-05-30T12:00:00Z'),
    names: ['shop.customer.com'],
  })
})

test('what is no certificate is an error', () => {
  expect(() => readCertificate('')).toThrow()
  expect(() => readCertificate('-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----')).toThrow()
})
