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
 * `leaseS` seconds and due again after that. What belongs to a released hostname is looked at again in a day; of what has
 * expired nobody is asked (RFC 9773 §4.3).
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
        update certificates c set ari_due_at = now() + case when served and due.not_after > now() then make_interval(secs => ${leaseS}) else interval '1 day' end
        from due where c.hostname = due.hostname
      )
      select ${HELD} from due c where served and chain_pem is not null and not_after > now() order by ari_due_at`,
  )
}

/** Behind the time of a renewal: the authority's own words, our rule (`none`), or what was known before. */
export type Wish = { directory: string; from: Date; explanationUrl?: string | undefined } | 'none' | 'as-before'

/**
 * Keeps when to renew, why, and when to ask again. A renewal that is under way, or waits after a failed attempt, is not hurried by it; one
 * that waits for a limit waits no longer than until the wish begins, since no limit counts it from then on; a certificate that was replaced meanwhile is
 * not touched, nor one that somebody wants renewed now.
 */
export async function recordRenewalTime(
  db: Db,
  { hostname, serial }: Pick<HeldCertificate, 'hostname' | 'serial'>,
  { renewAt, askAgainInS, wish }: { renewAt: Date; askAgainInS: number; wish: Wish },
): Promise<void> {
  const told = typeof wish === 'object' ? wish : undefined
  const kept = wish === 'as-before'
  const exemptFrom = sql<Date | null>`(case when ${told !== undefined} then greatest(${told?.from ?? null}, ${renewAt}::timestamptz, now()) end)`
  await rows(
    db,
    sql`
      update certificates set renew_at = ${renewAt}, ari_due_at = now() + make_interval(secs => ${askAgainInS}),
        ari_checked_at = case when ${told !== undefined} then now() else ari_checked_at end,
        directory = coalesce(directory, ${told?.directory ?? null}),
        wished_from = case when ${kept} then wished_from else ${told?.from ?? null}::timestamptz end,
        explanation_url = case when ${kept} then explanation_url else ${told?.explanationUrl ?? null} end,
        next_attempt_at = case when attempts > 0 or next_attempt_at is null then next_attempt_at when waits_for is null then ${renewAt}
          else least(next_attempt_at, ${exemptFrom}) end,
        postponed_until = case when postponed_until is not null then least(postponed_until, ${exemptFrom}) end
      where hostname = ${hostname} and serial = ${serial} and chain_pem is not null and ari_due_at is not null`,
  )
}
