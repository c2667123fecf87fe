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
  ['one that was verified before too, whatever its DNS says now', { verified: true, failures: 0 }, 'absent', 300, WEEK_S],
  ['unknown is looked at sooner here too', { verified: true, failures: 1 }, 'unknown', 300, 120],
] as const)('%s', (_what, probe, state, intervalS, expectedS) => {
  const drawn = Array.from({ length: 200 }, () => nextProbeInS(probe, state, intervalS))
  expect(Math.min(...drawn)).toBeGreaterThanOrEqual(expectedS * 0.9)
  expect(Math.max(...drawn)).toBeLessThanOrEqual(expectedS * 1.1)
  expect(new Set(drawn).size).toBeGreaterThan(100)
})
