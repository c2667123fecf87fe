import { randomBytes } from 'node:crypto'
import { type RawBuilder, sql } from 'kysely'
import { type Hostname, withoutStar } from '../hostname.ts'

const UNVERIFIED_PATIENCE = sql.lit('7 days')
const PROOF_PERIOD = sql.lit('30 days')

/** Where the proof of a hostname is looked for; a wildcard's is at the name behind its star, as no wildcard is. */
export function proofName(hostname: Hostname): string {
  return `_namesake.${withoutStar(hostname)}`
}

/** The value of the TXT record at `proofName`. No secret: whoever looks the record up reads it. */
export function makeProof(): string {
  return `namesake-proof-${randomBytes(16).toString('hex')}`
}

/**
 * Since when the hostname of the domain row `d`, or a name that its route covers or that covers it, is no other project's any more; null where it
 * never was one's. Until they hear of that, edges serve it as it was.
 */
export const RELEASED_BY_ANOTHER_AT: RawBuilder<Date | null> = sql`greatest(
  (select max(released.deleted_at) from domains released where released.project_id <> d.project_id and released.deleted_at is not null
    and released.hostname in (d.hostname, '*' || substr(d.hostname, strpos(d.hostname, '.')))),
  case when starts_with(d.hostname, '*.') then (select max(released.deleted_at) from domains released
    where released.project_id <> d.project_id and released.deleted_at is not null
      and substr(released.hostname, strpos(released.hostname, '.') + 1) = substr(d.hostname, 3)) end)`

/**
 * Whether the domain row `d` needs the project's proof at the time `at`: another project released the hostname within the last 30 days, or
 * the wildcard over it, or, if it is a wildcard, a name under it; or this claim stayed unverified for 7 days (then for 30 days), counted from the
 * first that the same project gave up unverified within the last 30 days; or another project names the hostname as its CNAME target, so that it leads
 * here whoever claims it. A dangling CNAME must not hand a customer's traffic to whoever claims next.
 * Read where it is used and never stored at the claim: a release that commits while a claim waits for it must count.
 */
export function proofNeeded(at: RawBuilder<Date>): RawBuilder<boolean> {
  const released = sql`from domains released where released.deleted_at > ${at} - interval ${PROOF_PERIOD}`
  const same = sql`released.hostname in (d.hostname, '*' || substr(d.hostname, strpos(d.hostname, '.')))`
  const own = sql`released.hostname = d.hostname and released.project_id = d.project_id`
  const target = sql`from projects vendor where vendor.cname_target = d.hostname and vendor.deleted_at is null and vendor.id <> d.project_id`
  // A hostname may have been given up any number of times: one row below and one above the project's own says enough, and of those the first and the
  // last. Most never were, which one look tells.
  return sql<boolean>`(d.verified_at is null and (
    ${at} between d.created_at + interval ${UNVERIFIED_PATIENCE} and d.created_at + interval ${UNVERIFIED_PATIENCE} + interval ${PROOF_PERIOD}
    or exists (select ${target})
    or starts_with(d.hostname, '*.') and exists (select ${released}
      and substr(released.hostname, strpos(released.hostname, '.') + 1) = substr(d.hostname, 3) and released.project_id <> d.project_id)
    or exists (select ${released} and ${same}) and (
      exists (select ${released} and ${same} and released.project_id < d.project_id)
      or exists (select ${released} and ${same} and released.project_id > d.project_id)
      or coalesce(
        (select released.created_at ${released} and ${own} and released.verified_at is null order by released.deleted_at limit 1)
          < ${at} - interval ${UNVERIFIED_PATIENCE}
        and (select released.verified_at is null ${released} and ${own} order by released.deleted_at desc limit 1), false))))`
}
