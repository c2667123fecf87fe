import { expect, test } from 'vitest'
import { hindranceOf, recordsTitle } from './connection.ts'
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
