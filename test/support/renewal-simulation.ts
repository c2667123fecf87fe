import { sql } from 'kysely'
import { claimDueRenewals } from '../../src/core/certificates.ts'
import { pruneChanges } from '../../src/core/changes.ts'
import { type Db, rows } from '../../src/core/db.ts'
import { registerDomain } from '../../src/core/domains.ts'
import { pruneBudget } from '../../src/core/issuance-budget.ts'
import { type IssuanceLimit, limitsOf } from '../../src/core/issuance-limits.ts'
import { findProbeTarget, recordProbes } from '../../src/core/probes.ts'
import type { Project } from '../../src/core/projects.ts'
import type { Hostname } from '../../src/hostname.ts'
import { type IssueParts, issueCertificate } from '../../src/jobs/issue.ts'
import { askAboutRenewals, type RenewalInfoParts } from '../../src/jobs/renewal-info.ts'
import { createLog } from '../../src/log.ts'
import { orderFrom } from '../../src/roles/authorities.ts'
import { createIssuanceLedger } from '../../src/roles/issuance-ledger.ts'
import { askForRenewalTime, outcomeOf } from '../../src/roles/issuing.ts'
import { createClockedDatabase, type FakeClock } from './fake-clock.ts'
import { createSimulatedAuthority, type SimulatedAuthority } from './simulated-authority.ts'
import { createLifetimes, type PlannedClaim, type PopulationOptions, PROJECTS, planClaims } from './simulated-population.ts'
import { createRecords, type Figures, type Records } from './simulation-records.ts'
import { addProject, CLAIM_RULES } from './tenants.ts'

/** Let's Encrypt, by whose name the ledger knows the limits; nobody connects to it. */
const DIRECTORY = 'https://acme-v02.api.letsencrypt.org/directory'
const LIMITS = { ordersPerRegisteredDomain: 50, ordersPerNames: 5, failuresPerHostname: 5 }

const START = new Date('2027-01-01T00:00:00Z')
const [MINUTE_MS, HOUR_MS, DAY_MS] = [60_000, 3_600_000, 86_400_000]
const AT_ONCE = 20 // as the worker's jobs
const RENEWALS_A_SWEEP_MAX = 100
const SWEEP_MS = 10_000
const DNS_RECHECK_S = 7 * 86_400
const FEED_KEPT_HOURS = 48
const FAILING_SHARE = 1 / 200
const BUSY_AFTER = { burstDays: 1, outageDays: 1 }

export type { Figures, Lapse } from './simulation-records.ts'

export type SimulationOptions = PopulationOptions & {
  days: number
  /** Whether the authority offers ARI, and so exempts renewals from its limits. */
  renewalInfo: boolean
  /** In three hours; Let's Encrypt's is 300. */
  ordersPerAccount: number
  outage: { day: number; days: number }
  /** So long after the outage the first attempts may come. */
  recoveryHours: number
  /** How far the clock moves at least: `busy` on the day of the burst, in the outage and for a day after it. */
  tickMinutes: { calm: number; busy: number }
  /** How often the sweep of renewal information runs; the worker's does every 10 seconds. */
  askEveryHours: number
}

/** Drives the worker's verbs over PostgreSQL through years in minutes: claims, verification, issuance, ARI, renewals, pruning. */
export async function simulateRenewals(adminUrl: string, options: SimulationOptions): Promise<Figures> {
  const { db, clock, drop } = await createClockedDatabase(adminUrl, START, AT_ONCE + 2)
  const outage = { fromMs: dayMs(options.outage.day), untilMs: dayMs(options.outage.day + options.outage.days) }
  const recovered = { ...outage, untilMs: outage.untilMs + options.recoveryHours * HOUR_MS }
  const isDown = () => clock.now().getTime() >= outage.fromMs && clock.now().getTime() < outage.untilMs
  const authority = createSimulatedAuthority({
    ...{ name: DIRECTORY, now: clock.now, lifetimeDaysOf: createLifetimes(options), isDown },
    ...{ limits: { ...LIMITS, ordersPerAccount: options.ordersPerAccount }, renewalInfo: options.renewalInfo, failingShare: FAILING_SHARE },
  })
  const limits = limitsOf(DIRECTORY).map((limit) => (limit.scope === 'account' ? { ...limit, max: options.ordersPerAccount } : limit))
  const records = createRecords(clock, authority, recovered)
  try {
    await run({ db, clock, records, ...createParts({ db, clock, authority, records, limits }) }, options)
    return records.figures(options.days)
  } finally {
    await drop()
  }
}

type Simulated = { authority: SimulatedAuthority; limits: readonly IssuanceLimit[] }
type Machine = { db: Db; clock: FakeClock; records: Records; issue: IssueParts; info: RenewalInfoParts }

async function run(machine: Machine, options: SimulationOptions): Promise<void> {
  const { db, clock, info } = machine
  const projects: Project[] = []
  for (let i = 0; i < PROJECTS; i++) projects.push(await addProject(db))
  const claims = planClaims(options)
  const endMs = dayMs(options.days)
  const nextAt = { question: START.getTime(), pruning: START.getTime() }
  while (clock.now().getTime() < endMs) {
    const nowMs = clock.now().getTime()
    await claimAll(machine, projects, claims, nowMs)
    const tickMs = tickAt(nowMs, options)
    for (let sweep = 0; sweep < tickMs / SWEEP_MS; sweep++) {
      const due = await claimDueRenewals(db, RENEWALS_A_SWEEP_MAX)
      await workOff(await takeJobs(db), machine)
      if (due.length < RENEWALS_A_SWEEP_MAX) break // what is claimed stays due until it has been worked off
    }
    if (nowMs >= nextAt.question) {
      await askAboutRenewals(info)
      nextAt.question = nowMs + options.askEveryHours * HOUR_MS
    }
    if (nowMs >= nextAt.pruning) {
      await pruneBudget(db)
      await pruneChanges(db, FEED_KEPT_HOURS)
      nextAt.pruning = nowMs + DAY_MS
    }
    const wakeMs = Math.min(nextAt.question, nextAt.pruning, START.getTime() + (claims[0]?.atMs ?? Infinity), await nextAttemptMs(db))
    clock.set(new Date(Math.max(clock.now().getTime() + tickMs, wakeMs)))
  }
}

function tickAt(nowMs: number, { tickMinutes, burst, outage }: SimulationOptions): number {
  const isIn = (fromDay: number, days: number) => nowMs >= dayMs(fromDay) && nowMs < dayMs(fromDay + days)
  const isBusy = isIn(burst.day, BUSY_AFTER.burstDays) || isIn(outage.day, outage.days + BUSY_AFTER.outageDays)
  return (isBusy ? tickMinutes.busy : tickMinutes.calm) * MINUTE_MS
}

async function claimAll({ db, records }: Machine, projects: Project[], claims: PlannedClaim[], nowMs: number): Promise<void> {
  while (claims[0] && START.getTime() + claims[0].atMs <= nowMs) {
    const { hostname, project, group } = claims.shift()!
    await registerDomain(db, projects[project]!, { hostname, metadataJson: '{}' }, CLAIM_RULES)
    const probe = await findProbeTarget(db, projects[project]!, hostname)
    const report = { state: 'verified' as const, sentence: '', expected: [], found: [], warnings: [], checkedAt: START.toISOString() }
    await recordProbes(db, [{ probe, report, nextProbeInS: DNS_RECHECK_S }])
    records.claimed(hostname, group)
  }
}

/** Does what graphile-worker does: takes the orders from the queue, and 20 at once of them. A second passes with each such lot. */
async function workOff(hostnames: Hostname[], { db, clock, records, issue }: Machine): Promise<void> {
  for (let i = 0; i < hostnames.length; i += AT_ONCE) {
    const lot = hostnames.slice(i, i + AT_ONCE)
    const went = await Promise.all(lot.map((hostname) => records.attempt(hostname, () => issueCertificate(issue, { hostname }))))
    const stayed = lot.filter((_, at) => !went[at])
    if (stayed.length > 0) for (const { limit, attempts } of await postponed(db, stayed)) records.putOff(limit, attempts)
    clock.set(new Date(clock.now().getTime() + 1_000))
  }
}

async function takeJobs(db: Db): Promise<Hostname[]> {
  const jobs = await rows(
    db,
    sql<{ task: string; hostname: Hostname; id: number }>`delete from graphile_worker._private_jobs j using graphile_worker._private_tasks t
      where t.id = j.task_id returning t.identifier as task, j.payload->>'hostname' as hostname, j.id::int`,
  )
  const issues = jobs.filter(({ task }) => task === 'issue')
  return issues.sort((a, b) => a.id - b.id).map(({ hostname }) => hostname)
}

function postponed(db: Db, hostnames: Hostname[]): Promise<{ limit: string; attempts: number }[]> {
  return rows(
    db,
    sql`select postponed_by as "limit", count(*)::int as attempts from certificates
      where hostname = any(${hostnames}::text[]) and postponed_until > now() group by postponed_by`,
  )
}

async function nextAttemptMs(db: Db): Promise<number> {
  const [next] = await rows(db, sql<{ at: Date | null }>`select min(next_attempt_at) as at from certificates`)
  return next?.at?.getTime() ?? Infinity
}

/** The worker's own parts, with this authority and this clock in them. */
function createParts({ db, clock, authority, records, limits }: Pick<Machine, 'db' | 'clock' | 'records'> & Simulated) {
  const log = createLog('simulation', 'fatal')
  const ledger = createIssuanceLedger(db, log, { limits })
  const issue: IssueParts = {
    ...{ db, log, limits, now: clock.now, directories: [DIRECTORY], sealKey: () => Buffer.from('sealed') },
    async precheck(hostname) {
      records.decided(hostname)
      return { kind: 'go' }
    },
    order: (hostname, { permission, held }) =>
      outcomeOf(async () => {
        const replaced = held && { directory: held.directory, certId: held.chainPem }
        const issued = await orderFrom([authority], hostname, { permission, ledger, replaced })
        records.issued(hostname, issued)
        return issued
      }),
    announce() {},
    count: (outcome) => void (outcome === 'refused' && records.failed()),
  }
  const info: RenewalInfoParts = { db, log, renewalTime: (held, signal) => askForRenewalTime([authority], held, signal) }
  return { issue, info }
}

function dayMs(day: number): number {
  return START.getTime() + day * DAY_MS
}
