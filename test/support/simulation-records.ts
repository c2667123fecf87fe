import type { IssuedCertificate } from '../../src/certs/authority.ts'
import type { Hostname } from '../../src/hostname.ts'
import type { FakeClock } from './fake-clock.ts'
import type { SimulatedAuthority } from './simulated-authority.ts'
import type { Group } from './simulated-population.ts'

/** A time in which a hostname that once had a certificate had none that was valid; `lastedS` is Infinity if it has none at the end. */
export type Lapse = { hostname: Hostname; lifetimeDays: number; endedAt: Date; lastedS: number }

export type Figures = {
  orders: number
  renewals: number
  /** Of each day, first to last. */
  renewalsByDay: number[]
  /** Attempts that the authority failed, in its outage and for single validations. */
  failedAttempts: number
  rateLimited: readonly string[]
  /** Attempts that the ledger put off, by limit. */
  putOff: Record<string, number>
  /** `unavoidable` are those whose end lies within the outage, or so soon after it that no attempt came in between. */
  lapses: { unavoidable: Lapse[]; avoidable: Lapse[] }
  /** Seconds from verification to the certificate. */
  waitsS: Record<Group, number[]>
  withoutCertificate: number
  /** Of the certificates that were new in the three hours after the burst: the bursting project's, and all. */
  firstHours: { burst: number; all: number }
  /** From the begin of an attempt until it may go or is put off. */
  decisionsMs: number[]
  wallS: number
}

export type Records = ReturnType<typeof createRecords>

type Kept = { group: Group; claimedMs: number; issuedMs?: number; notAfterMs?: number; lifetimeDays: number }

const [HOUR_MS, DAY_MS] = [3_600_000, 86_400_000]
const ACCOUNT_WINDOW_MS = 3 * HOUR_MS

/** What is written down while the clock runs. */
export function createRecords(clock: FakeClock, authority: SimulatedAuthority, outage: { fromMs: number; untilMs: number }) {
  const beganAt = performance.now()
  const startMs = clock.now().getTime()
  const kept = new Map<Hostname, Kept>()
  const underWay = new Map<Hostname, number>()
  const decisionsMs: number[] = []
  const renewalsByDay: number[] = []
  const putOff: Record<string, number> = {}
  const lapses: Lapse[] = []
  let failedAttempts = 0

  const decided = (hostname: Hostname) => {
    const began = underWay.get(hostname)
    if (began !== undefined) decisionsMs.push(performance.now() - began)
    return underWay.delete(hostname)
  }
  const noteLapse = (hostname: Hostname, { notAfterMs, lifetimeDays }: Kept, nowMs: number, lastedS: number) => {
    if (notAfterMs !== undefined && notAfterMs < nowMs) lapses.push({ hostname, lifetimeDays, endedAt: new Date(notAfterMs), lastedS })
  }
  const wasUnavoidable = ({ endedAt }: Lapse) => endedAt.getTime() >= outage.fromMs && endedAt.getTime() < outage.untilMs

  return {
    claimed(hostname: Hostname, group: Group) {
      kept.set(hostname, { group, claimedMs: clock.now().getTime(), lifetimeDays: 0 })
    },
    /** Runs one attempt; says whether it came to an order. */
    async attempt(hostname: Hostname, run: () => Promise<void>): Promise<boolean> {
      underWay.set(hostname, performance.now())
      await run()
      return !decided(hostname)
    },
    decided,
    putOff(limit: string, attempts: number) {
      putOff[limit] = (putOff[limit] ?? 0) + attempts
    },
    failed: () => void failedAttempts++,
    issued(hostname: Hostname, { notBefore, notAfter }: IssuedCertificate) {
      const one = kept.get(hostname)!
      const nowMs = clock.now().getTime()
      const day = Math.floor((nowMs - startMs) / DAY_MS)
      if (one.issuedMs !== undefined) renewalsByDay[day] = (renewalsByDay[day] ?? 0) + 1
      noteLapse(hostname, one, nowMs, (nowMs - (one.notAfterMs ?? nowMs)) / 1_000)
      one.issuedMs ??= nowMs
      one.notAfterMs = notAfter.getTime()
      one.lifetimeDays = Math.round((notAfter.getTime() - notBefore.getTime()) / DAY_MS)
    },
    figures(days: number): Figures {
      for (const [hostname, one] of kept) noteLapse(hostname, one, clock.now().getTime(), Infinity)
      const all = [...kept.values()]
      const byDay = Array.from({ length: days }, (_, day) => renewalsByDay[day] ?? 0)
      return {
        orders: authority.orders(),
        renewals: byDay.reduce((sum, count) => sum + count, 0),
        renewalsByDay: byDay,
        ...{ failedAttempts, rateLimited: authority.rateLimited, putOff, decisionsMs },
        lapses: { unavoidable: lapses.filter(wasUnavoidable), avoidable: lapses.filter((lapse) => !wasUnavoidable(lapse)) },
        waitsS: waits(all),
        withoutCertificate: all.filter(({ issuedMs }) => issuedMs === undefined).length,
        firstHours: firstHours(all),
        wallS: (performance.now() - beganAt) / 1_000,
      }
    },
  }
}

function waits(all: readonly Kept[]): Figures['waitsS'] {
  const of = (group: Group) =>
    all.flatMap((one) => (one.group === group && one.issuedMs !== undefined ? [(one.issuedMs - one.claimedMs) / 1_000] : []))
  return { steady: of('steady'), crowded: of('crowded'), burst: of('burst'), 'beside the burst': of('beside the burst') }
}

function firstHours(all: readonly Kept[]): Figures['firstHours'] {
  const burstMs = Math.min(...all.filter(({ group }) => group === 'burst').map(({ claimedMs }) => claimedMs))
  const first = all.filter(({ issuedMs = 0 }) => issuedMs >= burstMs && issuedMs < burstMs + ACCOUNT_WINDOW_MS)
  return { burst: first.filter(({ group }) => group === 'burst').length, all: first.length }
}
