// 400 days of 10,000 certificates in minutes: claims, orders and renewals by the real verbs on a clock of our own, with a burst, crowded domains and an outage.
import { startPostgres } from '../test/support/postgres-server.ts'
import { type Figures, type Lapse, type SimulationOptions, simulateRenewals } from '../test/support/renewal-simulation.ts'
import { option, percentile } from './support/measure.ts'
import { beginMeasurement } from './support/results.ts'

const CERTIFICATES = option('certificates', 10_000)
const CROWDED = CERTIFICATES < 5_000 ? [120, 60] : [400, 200, 100, 40]
const OPTIONS: SimulationOptions = {
  ...{ certificates: CERTIFICATES, days: option('days', 400), crowded: CROWDED, sixDayShare: 0.01, fortyFiveDayShare: 0.15 },
  ...{ burst: { day: 40, certificates: Math.round(CERTIFICATES * 0.3) }, outage: { day: 200, days: 5 }, recoveryHours: 0.5 },
  ...{ renewalInfo: true, ordersPerAccount: 300, tickMinutes: { calm: 240, busy: 15 }, askEveryHours: 4 },
}
const STEADY_FROM_DAY = 65 // when what was claimed in the first days begins to be renewed
const PEAK_GATE = 6 // the busiest day, × the mean
const PEAK_GOAL = 3

const measurement = beginMeasurement('renewals', {
  'certificates N': 'of N certificates, 10,000 by default',
  'days N': 'over N days, 400 by default',
})
const server = await startPostgres({ durable: false })
try {
  report(await simulateRenewals(server.adminUrl, OPTIONS))
} finally {
  await server.stop()
}

function report(figures: Figures): void {
  const { lapses, waitsS, firstHours, decisionsMs, rateLimited, putOff } = figures
  const byDay = figures.renewalsByDay.slice(STEADY_FROM_DAY)
  const mean = byDay.reduce((sum, count) => sum + count, 0) / byDay.length
  const counted = (value: number) => Math.round(value).toLocaleString('en')
  const hours = (seconds: number) => `${(seconds / 3_600).toFixed(1)} h`
  measurement.publish({
    tables: [
      {
        title: `${counted(CERTIFICATES)} certificates, ${OPTIONS.days} days`,
        rows: [
          ['', 'figure'],
          ['certificates issued', counted(figures.orders)],
          ['of these renewals', counted(figures.renewals)],
          ['attempts that the authority failed', counted(figures.failedAttempts)],
          [
            'renewals a day: mean, p50, p99, max',
            [mean, percentile(byDay, 0.5), percentile(byDay, 0.99), Math.max(...byDay)].map(counted).join(', '),
          ],
          [
            'attempts that the ledger put off, by limit',
            Object.entries(putOff)
              .map(([limit, count]) => `${limit} ${counted(count)}`)
              .join(', '),
          ],
          ['refused by the authority for a limit', counted(rateLimited.length)],
          ['lapses that could have been avoided', counted(lapses.avoidable.length)],
          ['lapses of certificates that ended within the outage or half an hour after it', unavoidable(lapses.unavoidable)],
          ['ledger and look, ms an attempt: p50, p99', [0.5, 0.99].map((share) => percentile(decisionsMs, share).toFixed(1)).join(', ')],
          ['wall time', `${figures.wallS.toFixed(0)} s`],
        ],
      },
      {
        title: 'How long a new hostname waits for its certificate, from its verification',
        rows: [
          ['hostnames', 'of', 'p50', 'p99', 'longest'],
          ...Object.entries(waitsS).map(([group, waits]) => [
            group,
            counted(waits.length),
            ...[0.5, 0.99, 1].map((share) => hours(percentile(waits, share))),
          ]),
        ],
      },
    ],
    targets: [
      { what: 'lapses that could have been avoided', reached: lapses.avoidable.length, gate: 0, goal: 0, smaller: true },
      { what: 'refusals that the ledger did not foresee', reached: rateLimited.length, gate: 0, goal: 0, smaller: true },
      { what: 'hostnames without a certificate at the end', reached: figures.withoutCertificate, gate: 0, goal: 0, smaller: true },
      {
        what: 'renewals of the busiest day, × the mean',
        reached: Math.max(...byDay) / mean,
        gate: PEAK_GATE,
        goal: PEAK_GOAL,
        smaller: true,
      },
    ],
    notes: [
      `Outage: the authority answers nothing from day ${OPTIONS.outage.day} on for ${OPTIONS.outage.days} days. One validation in 200 fails for no reason at all other times.`,
      `Burst: one project claims ${counted(OPTIONS.burst.certificates)} hostnames in one moment of day ${OPTIONS.burst.day}; half of those beside it are claimed by eight other projects in the same moment, after it, the others over three days. In the first three hours it got ${firstHours.burst} of ${firstHours.all} new certificates.`,
      `Crowded: ${OPTIONS.crowded.join(', ')} names under one registered domain each, all claimed on day 1, of which 40 a week may be new.`,
      "Lifetimes: 1 % of 6 days, 15 % of 45, the others of 90. The clock moves by four hours at least, by 15 minutes on the day of the burst, in the outage and the day after it; the authority is asked each 20 days when to renew. Real: PostgreSQL, ledger, verbs, jobs, ARI. Simulated: the clock, the conversation with the authority, DNS; the authority counts with the ACME stub's own counters.",
    ],
  })
}

function unavoidable(lapses: readonly Lapse[]): string {
  const lifetimes = [...new Set(lapses.map(({ lifetimeDays }) => lifetimeDays))].sort((a, b) => a - b)
  const of = (days: number) => lapses.filter(({ lifetimeDays }) => lifetimeDays === days).length
  return lifetimes.length === 0 ? 'none' : lifetimes.map((days) => `${of(days)} of ${days} days`).join(', ')
}
