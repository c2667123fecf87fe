import { expect, test } from 'vitest'
import { nextProbeInS } from './probe-interval.ts'

const WEEK_S = 7 * 86_400

test.each([
  ['an unverified domain comes every interval', { verified: false, failures: 0 }, 'absent', 300, 300],
  ['what was unknown is looked at sooner', { verified: false, failures: 0 }, 'unknown', 300, 60],
  ['what stays unknown is looked at less and less', { verified: false, failures: 2 }, 'unknown', 300, 240],
  ['but never less often than the others', { verified: false, failures: 40 }, 'unknown', 300, 300],
  ['a short interval stays short', { verified: false, failures: 0 }, 'unknown', 10, 10],
  ['a domain that has just become verified comes weekly', { verified: false, failures: 0 }, 'verified', 300, WEEK_S],
  ['one that was verified before too', { verified: true, failures: 3 }, 'verified', 300, WEEK_S],
  ['a verified one found wrong comes soon again', { verified: true, failures: 0 }, 'absent', 300, 300],
  ['what stays wrong comes less and less', { verified: true, failures: 2 }, 'wrong-target', 300, 1_200],
  ['but every hour', { verified: true, failures: 2_000 }, 'dnssec-bogus', 300, 3_600],
  ['which a longer interval outlasts', { verified: true, failures: 1 }, 'absent', 7_200, 7_200],
  ['unknown is looked at sooner here too', { verified: true, failures: 1 }, 'unknown', 300, 120],
  ['and every hour at least', { verified: true, failures: 2_000 }, 'unknown', 300, 3_600],
] as const)('%s', (_what, probe, state, intervalS, expectedS) => {
  const drawn = Array.from({ length: 200 }, () => nextProbeInS(probe, { state, warnings: [] }, intervalS))
  expect(Math.min(...drawn)).toBeGreaterThanOrEqual(expectedS * 0.9)
  expect(Math.max(...drawn)).toBeLessThanOrEqual(expectedS * 1.1)
  expect(new Set(drawn).size).toBeGreaterThan(100)
})

test('a verified domain with a warning is looked at again within the hour', () => {
  const report = { state: 'verified' as const, warnings: [{ kind: 'caa-forbids' as const, sentence: 'Add it.' }] }
  expect(nextProbeInS({ verified: true, failures: 0 }, report, 300)).toBeLessThanOrEqual(330)
  expect(nextProbeInS({ verified: true, failures: 20 }, report, 300)).toBeLessThanOrEqual(3_960)
})
