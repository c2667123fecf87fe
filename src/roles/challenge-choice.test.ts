import { expect, test } from 'vitest'
import { beginningWith, chooseChallenges, type Prospects } from './challenge-choice.ts'

const PLAIN: Prospects = {
  ...{ wildcard: false, leadsHere: true, http: 'ours', tls: 'not-checked', delegated: false },
  offered: ['http-01', 'tls-alpn-01', 'dns-01'],
}

test.for<[string, Partial<Prospects>, string]>([
  ['port 80 is ours', {}, 'http-01 tls-alpn-01'],
  ['only HTTP-01 is offered', { offered: ['http-01'] }, 'http-01'],
  ['port 80 cannot be reached from here', { http: 'cannot-connect' }, 'http-01 tls-alpn-01'],
  ['port 80 cannot be reached from here, TLS is ours', { http: 'cannot-connect', tls: 'ours' }, 'tls-alpn-01 http-01'],
  ['neither port can be reached from here', { http: 'cannot-connect', tls: 'cannot-connect' }, 'http-01 tls-alpn-01'],
  ['another answers TLS', { http: 'cannot-connect', tls: 'answered-by-other' }, 'http-01'],
  ['another answers port 80, TLS is ours', { http: 'answered-by-other', tls: 'ours' }, 'tls-alpn-01'],
  ['another answers port 80, TLS cannot be reached', { http: 'answered-by-other', tls: 'cannot-connect' }, 'answered-by-other'],
  ['another answers port 80, TLS is not offered', { http: 'answered-by-other' }, 'answered-by-other'],
  ['another answers everything', { http: 'answered-by-other', tls: 'answered-by-other' }, 'answered-by-other'],
  ['another answers everything, delegated', { http: 'answered-by-other', tls: 'answered-by-other', delegated: true }, 'dns-01'],
  ['all three', { delegated: true }, 'http-01 tls-alpn-01 dns-01'],
  ['before cut-over', { leadsHere: false }, 'leads-elsewhere'],
  ['before cut-over, delegated', { leadsHere: false, delegated: true }, 'dns-01'],
  ['delegated, but no DNS role', { leadsHere: false, delegated: true, offered: ['http-01'] }, 'leads-elsewhere'],
  ['a wildcard', { wildcard: true, delegated: true }, 'dns-01'],
  ['a wildcard that is not delegated', { wildcard: true }, 'not-delegated'],
])('challenges when %s', ([, changes, expected]) => {
  const choice = chooseChallenges({ ...PLAIN, ...changes })
  expect(choice.kind === 'go' ? choice.types.join(' ') : choice.because).toBe(expected)
})

test('every second attempt begins with the other type', () => {
  expect([1, 2, 3].map((attempt) => beginningWith(attempt, ['http-01', 'tls-alpn-01'])[0])).toEqual(['http-01', 'tls-alpn-01', 'http-01'])
  expect(beginningWith(2, ['dns-01'])).toEqual(['dns-01'])
})
