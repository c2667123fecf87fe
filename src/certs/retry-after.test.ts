import { expect, test } from 'vitest'
import { readRetryAfter } from './retry-after.ts'

const now = new Date('2026-11-21T09:00:00Z')

test.for<[string | undefined, number | undefined]>([
  ['0', 0],
  ['120', 120],
  ['Sat, 21 Nov 2026 09:01:30 GMT', 90],
  ['Sat, 21 Nov 2026 08:00:00 GMT', 0],
  [undefined, undefined],
  ['', undefined],
  ['soon', undefined],
  ['-5', undefined],
  ['99999999999999999999', undefined],
])('Retry-After %j means %j seconds', ([field, seconds]) => {
  expect(readRetryAfter(field, now)).toBe(seconds)
})
