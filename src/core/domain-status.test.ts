import { expect, test } from 'vitest'
import { DNS_STATES } from './dns-report.ts'
import { type DomainFacts, domainStatus } from './domain-status.ts'

const NEW: DomainFacts = { verified: false, dnsState: 'unknown', certificate: 'none', certified: false }
const VERIFIED: DomainFacts = { verified: true, dnsState: 'verified', certificate: 'none', certified: false }

test.each([
  ['a new claim', NEW, 'waiting-for-dns'],
  ['no record yet', { ...NEW, dnsState: 'absent' }, 'waiting-for-dns'],
  ['a proof that is still missing', { ...NEW, dnsState: 'proof-needed' }, 'waiting-for-dns'],
  ['servers that do not agree yet', { ...NEW, dnsState: 'servers-disagree' }, 'waiting-for-dns'],
  ['our own fault', { ...NEW, dnsState: 'edge-host-broken' }, 'waiting-for-dns'],
  ['a record that leads elsewhere', { ...NEW, dnsState: 'wrong-target' }, 'wrong-record'],
  ['a proxy in front', { ...NEW, dnsState: 'proxied' }, 'wrong-record'],
  ['a certificate kept from before, without a record', { ...NEW, certified: true, certificate: 'issued' }, 'waiting-for-dns'],
  ['just verified', VERIFIED, 'verified'],
  ['ordered', { ...VERIFIED, certificate: 'pending' }, 'certificate-pending'],
  ['refused by the authority', { ...VERIFIED, certificate: 'failed' }, 'certificate-failed'],
  ['all there', { ...VERIFIED, certificate: 'issued', certified: true }, 'live'],
  ['a renewal that failed, with a certificate in hand', { ...VERIFIED, certificate: 'failed', certified: true }, 'live'],
  ['a certificate that has run out', { ...VERIFIED, certificate: 'issued' }, 'certificate-pending'],
  ['live, and the last check found nothing out', { ...VERIFIED, dnsState: 'unknown', certificate: 'issued', certified: true }, 'live'],
  ['live once, and the record was taken away', { ...VERIFIED, dnsState: 'absent', certificate: 'issued', certified: true }, 'wrong-record'],
] satisfies [string, DomainFacts, string][])('%s: %s', (_what, facts, status) => {
  expect(domainStatus(facts)).toBe(status)
})

test('no wrong record ever shows as live', () => {
  const harmless = ['verified', 'unknown', 'servers-disagree', 'edge-host-broken']
  for (const dnsState of DNS_STATES) {
    const status = domainStatus({ ...VERIFIED, dnsState, certificate: 'issued', certified: true })
    expect(status, dnsState).toBe(harmless.includes(dnsState) ? 'live' : 'wrong-record')
  }
})
