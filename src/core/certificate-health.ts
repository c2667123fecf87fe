import { sql } from 'kysely'
import { type Db, rows } from './db.ts'
import { isOwnStill } from './issuance-standing.ts'

/**
 * How the certificates in service stand, of hostnames that somebody holds, or the service itself. `expiring`: how many end within so many days, those that have ended
 * included. `overdue`: ordered ones whose renewal should have been, with more than a third of its time used up. `stopped`: not renewed any
 * more, since DNS left. `soonest`: what ends first, negative after its end; none where there is no certificate.
 */
export type CertificateHealth = {
  expiring: { withinDays: number; count: number }[]
  overdue: number
  stopped: number
  soonest: { origin: 'ordered' | 'imported'; endsInS: number }[]
}

/** What ends within a day is urgent even for a certificate of six, and what ends within 14 days should have been renewed if it had 45 or more. */
export const EXPIRING_WITHIN_DAYS = [1, 7, 14] as const

const OVERDUE_SHARE = 1 / 3

export async function readCertificateHealth(db: Db): Promise<CertificateHealth> {
  const [found] = await rows(
    db,
    sql<{
      days1: number
      days7: number
      days14: number
      overdue: number
      stopped: number
      ordered: number | null
      imported: number | null
    }>`
      select count(*) filter (where ${endsWithin(1)})::int as days1, count(*) filter (where ${endsWithin(7)})::int as days7,
        count(*) filter (where ${endsWithin(14)})::int as days14, count(*) filter (where ${IS_OVERDUE})::int as overdue,
        count(*) filter (where c.renewal_stopped_at is not null)::int as stopped,
        ${soonestEnd('ordered')} as ordered, ${soonestEnd('imported')} as imported
      from certificates c left join domains d on d.hostname = c.hostname and d.deleted_at is null
      where c.chain_pem is not null and c.project_id is not distinct from d.project_id and (c.project_id is not null or ${isOwnStill('c')})`,
  )
  const { days1, days7, days14, overdue, stopped, ordered, imported } = found!
  const [day, week, fortnight] = EXPIRING_WITHIN_DAYS
  const expiring = [
    { withinDays: day, count: days1 },
    { withinDays: week, count: days7 },
    { withinDays: fortnight, count: days14 },
  ]
  const soonest = [
    ...(ordered === null ? [] : [{ origin: 'ordered' as const, endsInS: ordered }]),
    ...(imported === null ? [] : [{ origin: 'imported' as const, endsInS: imported }]),
  ]
  return { expiring, overdue, stopped, soonest }
}

function soonestEnd(origin: 'ordered' | 'imported') {
  return sql<
    number | null
  >`extract(epoch from min(c.not_after) filter (where c.renewal_stopped_at is null and c.origin = ${origin}) - now())::float8`
}

function endsWithin(days: (typeof EXPIRING_WITHIN_DAYS)[number]) {
  return sql<boolean>`c.renewal_stopped_at is null and c.not_after <= now() + make_interval(days => ${sql.lit(days)})`
}

const IS_OVERDUE = sql<boolean>`c.origin = 'ordered' and c.renewal_stopped_at is null
  and now() > c.renew_at + (c.not_after - c.renew_at) * ${sql.lit(OVERDUE_SHARE)}::float8`
