import { expect, test } from 'vitest'
import { parseHostname } from '../hostname.ts'
import { readCertificate, renewAt } from './certificate.ts'
import { createLocalAuthority, createLocalCa } from './local-ca.ts'

const DAY_MS = 86_400_000

const notBefore = new Date('2026-03-01T11:01:00Z')
const lasting = (days: number) => ({ notBefore, notAfter: new Date(notBefore.getTime() + days * DAY_MS) })

test.for([
  [90, 60, 5],
  [45, 30, 2.5],
  [6, 4, 1 / 3],
])('certificates of %d days are renewed around day %d, %d days earlier or later at most', ([lifetime, day, spread]) => {
  const days = Array.from({ length: 2_000 }, (_, i) => renewAt({ serial: i.toString(16), ...lasting(lifetime!) }))
    .map((date) => (date.getTime() - notBefore.getTime()) / DAY_MS)
    .sort((a, b) => a - b)
  expect(days[0]).toBeGreaterThanOrEqual(day! - spread!)
  expect(days.at(-1)).toBeLessThanOrEqual(day! + spread!)
  expect(Math.abs(days[1_000]! - day!)).toBeLessThan(spread! / 10)
})

test('of 100,000 certificates issued at one moment no day sees more than an eighth renewed', () => {
  const byDay = new Map<number, number>()
  for (let i = 0; i < 100_000; i++) {
    const day = Math.floor(renewAt({ serial: `4a${i.toString(16)}`, ...lasting(90) }).getTime() / DAY_MS)
    byDay.set(day, (byDay.get(day) ?? 0) + 1)
  }
  expect(Math.max(...byDay.values())).toBeLessThan(12_500)
})

test('one certificate is always renewed at the same time', () => {
  expect(renewAt({ serial: '0a', ...lasting(90) })).toEqual(renewAt({ serial: '0a', ...lasting(90) }))
})

test('issuer, serial, validity and names are read from the first certificate of a chain', async () => {
  const { keyPem, certPem } = await createLocalCa()
  const now = new Date('2026-03-01T12:01:00.500Z')
  const authority = createLocalAuthority({ caKeyPem: keyPem, caCertPem: certPem, lifetimeDays: 90, now: () => now })
  const { chainPem } = await authority.issue(parseHostname('shop.customer.com'), { signal: AbortSignal.timeout(20_000) })
  const facts = readCertificate(chainPem + certPem)
  expect(facts).toEqual({
    issuer: expect.stringMatching(/^CN=Namesake local CA [0-9a-f]{6}$/),
    serial: expect.stringMatching(/^[4-7][0-9a-f]{31}$/),
    notBefore: new Date('2026-03-01T11:01:00Z'),
    notAfter: new Date('2026-05-30T11:01:00Z'),
    names: ['shop.customer.com'],
  })
})

test('what is no certificate is an error', () => {
  expect(() => readCertificate('')).toThrow()
  expect(() => readCertificate('-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----')).toThrow()
})
