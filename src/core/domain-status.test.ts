import { expect, test } from 'vitest'
import { DNS_STATES } from './dns-report.ts'
import { type DomainFacts, domainStatus } from './domain-status.ts'

const NEW: DomainFacts = { verified: false, dnsState: 'unknown', certificate: 'none', certified: false, seen: false }
const VERIFIED: DomainFacts = { verified: true, dnsState: 'verified', certificate: 'none', certified: false, seen: false }
const LIVE: DomainFacts = { ...VERIFIED, certificate: 'issued', certified: true, seen: true }

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
  ['all there, and not seen yet', { ...LIVE, seen: false }, 'certificate-pending'],
  ['all there, and seen', LIVE, 'live'],
  ['a renewal that failed, with a certificate in hand', { ...LIVE, certificate: 'failed' }, 'live'],
  ['a certificate that has run out', { ...LIVE, certified: false }, 'certificate-pending'],
  ['live, and the last check found nothing out', { ...LIVE, dnsState: 'unknown' }, 'live'],
  ['live once, and the record was taken away', { ...LIVE, dnsState: 'absent' }, 'wrong-record'],
] satisfies [string, DomainFacts, string][])('%s: %s', (_what, facts, status) => {
  expect(domainStatus(facts)).toBe(status)
})

test('no wrong record ever shows as live', () => {
  const harmless = ['verified', 'unknown', 'servers-disagree', 'edge-host-broken']
  for (const dnsState of DNS_STATES) {
    const status = domainStatus({ ...LIVE, dnsState })
    expect(status, dnsState).toBe(harmless.includes(dnsState) ? 'live' : 'wrong-record')
  }
})
