import { expect, test } from 'vitest'
import { hindranceOf } from './connection.ts'
import type { Connect } from './records.ts'

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
