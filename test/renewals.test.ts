import { beforeAll, expect, inject, test } from 'vitest'
import { type Figures, simulateRenewals } from './support/renewal-simulation.ts'

// As bench/renewals.ts, smaller. Of 300 orders in three hours 240 may be new, of 50 a week for a registered domain 40.
const OPTIONS = {
  ...{ certificates: 450, days: 400, crowded: [60], burst: { day: 40, certificates: 280 }, sixDayShare: 0.01, fortyFiveDayShare: 0.1 },
  ...{ outage: { day: 200, days: 5 }, recoveryHours: 6, renewalInfo: true, tickMinutes: 240, askEveryHours: 72 },
}
const TIMEOUT_MS = 150_000
const [HOUR_S, WEEK_S] = [3_600, 604_800]

let figures: Figures
beforeAll(async () => {
  figures = await simulateRenewals(inject('postgresUrl'), OPTIONS)
}, TIMEOUT_MS)

test('in 400 days no certificate lapses that could have been renewed, and every hostname has one', () => {
  expect(figures.lapses.avoidable).toEqual([])
  expect(figures.withoutCertificate).toBe(0)
})

test('the authority never refuses an order for a limit', () => {
  expect(figures.rateLimited).toEqual([])
  expect(Object.keys(figures.putOff)).toEqual(expect.arrayContaining(['domain', 'share']))
})

test('an outage of five days costs no certificate of 45 days or more', () => {
  expect(figures.failedAttempts).toBeGreaterThan(0)
  expect(figures.lapses.unavoidable.filter(({ lifetimeDays }) => lifetimeDays > 6)).toEqual([])
})

test('what was issued in one moment is renewed over many days', () => {
  // The authority's windows are four days wide, for certificates of 90.
  expect(Math.max(...figures.renewalsByDay)).toBeLessThan(0.4 * OPTIONS.burst.certificates)
})

test('a project that claims hundreds at once does not make the others wait for them', () => {
  expect(Math.max(...figures.waitsS['beside the burst'])).toBeLessThan(12 * HOUR_S)
})

test('names beyond what a registered domain may have in a week get their certificates in the next', () => {
  expect(Math.max(...figures.waitsS.crowded)).toBeLessThan(2 * WEEK_S)
})
