import { expect, test } from 'vitest'
import { createRateLimit } from './rate-limit.ts'

test('a network is answered 500 times at once and then 100 times a second; beyond that it is told to come over TCP, or nothing', () => {
  let now = 0
  const verdictOn = createRateLimit(() => now)
  const ask = (address: string, times: number) => {
    const verdicts = Array.from({ length: times }, () => verdictOn(address))
    return ['answer', 'slip', 'drop'].map((wanted) => verdicts.filter((verdict) => verdict === wanted).length)
  }
  expect(ask('192.0.2.1', 600)).toEqual([500, 50, 50])
  expect(ask('192.0.2.254', 10)).toEqual([0, 5, 5])
  expect(ask('192.0.3.1', 10)).toEqual([10, 0, 0])
  now = 1_000
  expect(ask('192.0.2.7', 200)).toEqual([100, 50, 50])
})

test('neighbours in IPv6 share a /56, and a mapped address is its IPv4 address', () => {
  const verdictOn = createRateLimit(() => 0)
  for (let n = 0; n < 500; n++) verdictOn('2001:db8:1:2::1')
  expect(verdictOn('2001:db8:1:ff::2')).not.toBe('answer')
  expect(verdictOn('2001:db8:1:100::2')).toBe('answer')
  for (let n = 0; n < 500; n++) verdictOn('::ffff:192.0.2.1')
  expect(verdictOn('192.0.2.9')).not.toBe('answer')
})
