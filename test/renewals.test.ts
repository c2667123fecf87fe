import { beforeAll, expect, inject, test } from 'vitest'
import { type Figures, simulateRenewals } from './support/renewal-simulation.ts'

// As bench/renewals.ts, smaller.
const OPTIONS = {
  ...{ certificates: 600, days: 400, crowded: [60, 45], burst: { day: 40, certificates: 330 }, sixDayShare: 0.01, fortyFiveDayShare: 0.15 },
  ...{ outage: { day: 200, days: 5 }, tickMinutes: 60, askEveryHours: 24 },
}
const TIMEOUT_MS = 120_000

let figures: Figures
beforeAll(async () => {
  figures = await simulateRenewals(inject('postgresUrl'), { ...OPTIONS, renewalInfo: true })
  const { decisionsMs, renewalsByDay, rateLimited, waitsS, ...rest } = figures
  console.log(JSON.stringify(rest, null, 1), Math.max(...renewalsByDay))
}, TIMEOUT_MS)

test('in 400 days no certificate lapses that could have been renewed', () => {
  expect(figures.lapses.avoidable).toEqual([])
  expect(figures.withoutCertificate).toBe(0)
})
