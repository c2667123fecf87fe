import { beforeAll, describe, expect, test } from 'vitest'
import { adminUrl } from './support/postgres.ts'
import { type Figures, simulateRenewals } from './support/renewal-simulation.ts'

// As bench/renewals.ts, smaller. Of 100 orders in three hours 80 may be new, of 50 a week for a registered domain 40.
const OPTIONS = {
  ...{ certificates: 160, crowded: [45], burst: { day: 40, certificates: 90 }, sixDayShare: 0.02, fortyFiveDayShare: 0.1 },
  ...{ ordersPerAccount: 100, recoveryHours: 0.5, tickMinutes: { calm: 720, busy: 15 }, askEveryHours: 72 },
}
const BY_WISH = { ...OPTIONS, days: 400, outage: { day: 200, days: 5 }, renewalInfo: true }
const COUNTED = { ...OPTIONS, days: 120, outage: { day: 98, days: 3 }, renewalInfo: false } // while the burst is to be renewed
const TIMEOUT_MS = 150_000
const [HOUR_S, DAY_S, WEEK_S] = [3_600, 86_400, 604_800]

describe.each([
  ['in 400 days with an authority that says when to renew', BY_WISH],
  ['in 120 days with an authority that counts every renewal', COUNTED],
])('%s', (_, options) => {
  let figures: Figures
  beforeAll(async () => {
    figures = await simulateRenewals(adminUrl(), options)
  }, TIMEOUT_MS)

  test('no certificate lapses that could have been renewed, and every hostname has one', () => {
    expect(figures.lapses.avoidable).toEqual([])
    expect(figures.withoutCertificate).toBe(0)
  })

  test('the authority never refuses an order for a limit, and all of the room is used', () => {
    expect(figures.rateLimited).toEqual([])
    expect(Object.keys(figures.putOff).sort()).toEqual(['account', 'domain', 'share'])
    expect(figures.firstHours.all).toBeGreaterThan(75)
  })

  test('an outage of days costs no certificate of 45 days or more', () => {
    expect(figures.failedAttempts).toBeGreaterThan(0)
    expect(figures.lapses.unavoidable.filter(({ lifetimeDays }) => lifetimeDays > 6)).toEqual([])
  })

  test('a project that claims hundreds at once waits for the next window at most, and the others do not wait for it', () => {
    expect(Math.max(...figures.waitsS.burst)).toBeLessThan(4 * HOUR_S)
    expect(Math.max(...figures.waitsS['beside the burst'])).toBeLessThan(HOUR_S)
  })

  test('names beyond what a registered domain may have in a week get their certificates as the next one begins', () => {
    expect(Math.max(...figures.waitsS.crowded)).toBeLessThan(WEEK_S + DAY_S)
  })

  if (options.renewalInfo)
    test('what was issued in one moment is renewed over the four days that the authority names', () => {
      expect(Math.max(...figures.renewalsByDay)).toBeLessThan(0.45 * options.burst.certificates)
    })
})
