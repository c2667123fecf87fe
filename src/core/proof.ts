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
 * the wildcard over it, or, if it is a wildcard, a name under it; or this claim stayed unverified for 7 days (then for 30 days), together with
 * those that the same project gave up unverified within the last 30 days. A dangling CNAME must not hand a customer's traffic to whoever claims next.
 * Read where it is used and never stored at the claim: a release that commits while a claim waits for it must count.
 */
export function proofNeeded(at: RawBuilder<Date>): RawBuilder<boolean> {
  return sql<boolean>`(d.verified_at is null and (
    ${at} between d.created_at + interval ${UNVERIFIED_PATIENCE} and d.created_at + interval ${UNVERIFIED_PATIENCE} + interval ${PROOF_PERIOD}
    or exists (select from domains released where released.hostname in (d.hostname, '*' || substr(d.hostname, strpos(d.hostname, '.')))
               and released.project_id <> d.project_id and released.deleted_at > ${at} - interval ${PROOF_PERIOD})
    or starts_with(d.hostname, '*.') and exists (select from domains released
               where substr(released.hostname, strpos(released.hostname, '.') + 1) = substr(d.hostname, 3)
               and released.project_id <> d.project_id and released.deleted_at > ${at} - interval ${PROOF_PERIOD})
    or coalesce((select sum(earlier.deleted_at - earlier.created_at) from domains earlier where earlier.hostname = d.hostname
                 and earlier.project_id = d.project_id and earlier.verified_at is null and earlier.deleted_at > ${at} - interval ${PROOF_PERIOD})
                > interval ${UNVERIFIED_PATIENCE} - (${at} - d.created_at), false)))`
}
