import { expect, test } from 'vitest'
import { findingTitle } from '../sdk/connect-element/words.ts'
import { hindranceOf, isVendorsToMend, lacksOwnRecord, recordsTitle } from './connection.ts'
import type { Connect, Delegation, Dns } from './records.ts'

const link = (status: Connect['status'], ...kinds: string[]) => {
  const warnings = kinds.map((kind) => ({ kind, sentence: `Mind ${kind}.` }))
  const dns = { state: 'verified', sentence: 'It is right.', expected: [], found: [], warnings, delegation: null }
  return {
    hostname: 'customer.com',
    project: { name: 'Acme', color: null, logoUrl: null },
    status,
    dns,
    provider: null,
    zone: null,
    expiresAt: '',
  }
}

test('a record that costs a domain its mail is not said to be in the way of its visitors, unless something else is', () => {
  expect(hindranceOf(link('live'))).toBeUndefined()
  expect(hindranceOf(link('live', 'cname-at-apex'))).toBe('mail')
  expect(hindranceOf(link('live', 'cname-at-apex', 'caa-forbids'))).toBe('visitors')
  expect(hindranceOf(link('waiting-for-dns', 'caa-forbids'))).toBeUndefined()
})

test('where the vendor’s own name is what leads elsewhere, nothing is the customer’s to do, whatever was there before', () => {
  const broken = (status: Connect['status'], hostname = 'shop.customer.com'): Connect => {
    const { dns, ...rest } = link(status)
    const further = { name: '_acme-challenge.customer.com', type: 'CNAME', value: 'x.acme.example', state: 'absent' as const, sentence: '' }
    return { ...rest, hostname, dns: { ...dns, state: 'cname-target-broken', delegation: further } }
  }
  for (const status of ['waiting-for-dns', 'wrong-record'] as const) {
    expect(isVendorsToMend(broken(status))).toBe(true)
    expect(findingTitle(broken(status))).toBe('notYoursTitle')
  }
  expect(isVendorsToMend(broken('wrong-record', '*.customer.com'))).toBe(false) // the record for its certificate is still to be added
  expect(isVendorsToMend(link('wrong-record'))).toBe(false)
})

test('where something is there already, no title says that a record is to be added', () => {
  const record = { name: 'shop.customer.com', type: 'CNAME', value: 'edge.namesake.example' }
  const old = { ...record, value: 'old.example' }
  const dns = (state: string, found = [old], expected = [record]): Dns => ({ state, sentence: '', expected, found, delegation: null })
  const further = (state: Delegation['state']): Delegation => ({ ...record, name: '_acme-challenge.customer.com', state, sentence: '' })
  expect(recordsTitle(dns('absent', []))).toBe('recordTitle')
  expect(recordsTitle(dns('unknown', []))).toBe('recordTitle')
  expect(recordsTitle(dns('absent', []), further('absent'))).toBe('recordsTitle')
  expect(recordsTitle(dns('absent', []), further('elsewhere'))).toBe('correctRecordsTitle')
  expect(recordsTitle(dns('wrong-target'))).toBe('correctRecordTitle')
  expect(recordsTitle(dns('unknown'))).toBe('correctRecordTitle') // it leads to a name that does not resolve
  expect(recordsTitle(dns('dnssec-bogus', []))).toBe('correctRecordTitle')
  expect(recordsTitle(dns('proof-needed', [record], [record, old]))).toBe('correctRecordsTitle')
})

test('where only a wildcard record answers, which may stay, a record is to be added', () => {
  const own = { name: 'shop.customer.com', type: 'CNAME', value: 'edge.namesake.example' }
  const proof = { name: '_namesake.shop.customer.com', type: 'TXT', value: 'namesake-proof-1' }
  const wildcard = { ...own, name: '*.customer.com', value: 'elsewhere.example' }
  const dns = (state: string, found = [wildcard], expected = [own]): Dns => ({ state, sentence: '', expected, found, delegation: null })
  const titles = (status: Connect['status'], told: Dns) => [recordsTitle(told), findingTitle({ ...link(status), dns: told })]
  expect(titles('wrong-record', dns('wrong-target'))).toEqual(['recordTitle', 'waitingTitle'])
  expect(titles('wrong-record', dns('proxied'))).toEqual(['recordTitle', 'waitingTitle'])
  expect(titles('waiting-for-dns', dns('proof-needed', [wildcard], [own, proof]))).toEqual(['recordsTitle', 'twoMoreTitle'])
  // A mistake in the wildcard record is mended there, and a record with the domain twice is renamed.
  expect(titles('wrong-record', dns('typo-in-target', [wildcard], [{ ...own, name: wildcard.name }]))).toEqual([
    'correctRecordTitle',
    'wrongTitle',
  ])
  expect(titles('wrong-record', dns('typo-in-target', [wildcard], [own, proof]))).toEqual(['correctRecordsTitle', 'wrongTitle'])
  expect(titles('wrong-record', dns('doubled-host'))).toEqual(['correctRecordTitle', 'wrongTitle'])
  // A claim of the wildcard itself.
  expect(lacksOwnRecord(dns('wrong-target', [wildcard], [{ ...own, name: wildcard.name }]))).toBe(false)
})
