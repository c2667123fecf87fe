import { expect, test } from 'vitest'
import type { InventoryEntry } from '../core/certificate-inventory.ts'
import type { Hostname } from '../hostname.ts'
import { daysLeft, nextStep, shownDaysLeft } from './certificate-steps.ts'

const NOW = new Date('2026-05-10T12:00:00Z')
const inHours = (hours: number) => new Date(NOW.getTime() + hours * 3_600_000).toISOString()
const none = {
  ...{ hostname: 'shop.customer.example' as Hostname, projectSlug: 'shop', underWay: false, state: 'none', origin: null, issuer: null },
  ...{ serial: null, notBefore: null, notAfter: null, renewAt: null, attempts: 0, lastAttemptAt: null, lastError: null },
  ...{ nextAttemptAt: null, nextIssuanceAt: null, nextIssuanceReason: null, renewal: null },
} as const satisfies InventoryEntry

test.for([
  [49, '2 days left'],
  [25, '1 day left'],
  [5, 'less than a day left'],
  [-5, 'ended less than a day ago'],
  [-25, 'ended 1 day ago'],
  [-49, 'ended 2 days ago'],
] as const)('what ends in %i hours has "%s"', ([hours, words]) => {
  expect(shownDaysLeft(daysLeft({ notAfter: inHours(hours) }, NOW)!)).toBe(words)
})

test('a failure says when it is tried again: at its time, now, or once something has changed', () => {
  const failed = { ...none, state: 'failed' as const, lastError: { sentence: 'No.', problem: {} } }
  expect(nextStep({ ...failed, nextAttemptAt: inHours(1) }, NOW)).toBe('tried again 2026-05-10 13:00 UTC: No.')
  expect(nextStep({ ...failed, nextAttemptAt: inHours(-1) }, NOW)).toBe('tried again now: No.')
  expect(nextStep(failed, NOW)).toBe('tried again when a visitor comes, or a check finds the DNS right: No.')
})

test('what was never tried says what it waits for, a wildcard no visit', () => {
  expect(nextStep(none, NOW)).toBe('ordered when the DNS is verified, or at the first visit')
  expect(nextStep({ ...none, hostname: '*.customer.example' as Hostname }, NOW)).toMatch(/or its challenges are delegated$/)
})
