import { sql } from 'kysely'
import type { Hostname } from '../hostname.ts'
import { type Db, rows } from './db.ts'

/** A certificate in hand, as its authority is asked about it. `directory` is the authority's, as in NAMESAKE_ACME_DIRECTORY. */
export type HeldCertificate = {
  hostname: Hostname
  directory: string | null
  chainPem: string
  serial: string
  notBefore: Date
  notAfter: Date
  renewAt: Date
}

const HELD = sql<HeldCertificate>`c.hostname, c.directory, c.chain_pem as "chainPem", c.serial, c.not_before as "notBefore",
  c.not_after as "notAfter", c.renew_at as "renewAt"`

/** The certificate that the hostname is served with; undefined when it has none. */
export async function findHeldCertificate(db: Db, hostname: Hostname): Promise<HeldCertificate | undefined> {
  const [held] = await rows(
    db,
    sql<HeldCertificate>`select ${HELD} from certificates c where hostname = ${hostname} and chain_pem is not null`,
  )
  return held
}

/**
 * Up to `limit` certificates whose authority is to be asked when it wishes them renewed, longest overdue first. They are the caller's for
 * `leaseS` seconds and due again after that. What belongs to a released hostname is looked at again in a day.
 */
export async function claimDueRenewalInfo(db: Db, limit: number, leaseS: number): Promise<HeldCertificate[]> {
  return rows(
    db,
    sql<HeldCertificate>`
      with due as (
        select c.*, c.project_id is not distinct from d.project_id as served
        from certificates c left join domains d on d.hostname = c.hostname and d.deleted_at is null
        where c.ari_due_at <= now() order by c.ari_due_at limit ${limit} for update of c skip locked
      ), leased as (
        update certificates c set ari_due_at = now() + case when served then make_interval(secs => ${leaseS}) else interval '1 day' end
        from due where c.hostname = due.hostname
      )
      select ${HELD} from due c where served and chain_pem is not null order by ari_due_at`,
  )
}

/**
 * Keeps when to renew and when to ask again. A renewal that is under way, or waits after a failed attempt, is not hurried by it; a
 * certificate that was replaced meanwhile is not touched. `answered`: whether the authority's own words are behind it.
 */
export async function recordRenewalTime(
  db: Db,
  { hostname, serial }: Pick<HeldCertificate, 'hostname' | 'serial'>,
  { renewAt, askAgainInS, answered }: { renewAt: Date; askAgainInS: number; answered: boolean },
): Promise<void> {
  await rows(
    db,
    sql`
      update certificates set renew_at = ${renewAt}, ari_due_at = now() + make_interval(secs => ${askAgainInS}),
        ari_checked_at = case when ${answered} then now() else ari_checked_at end,
        next_attempt_at = case when attempts = 0 and next_attempt_at is not null then ${renewAt} else next_attempt_at end
      where hostname = ${hostname} and serial = ${serial} and chain_pem is not null`,
  )
}
