import { type RawBuilder, sql } from 'kysely'

const RELEASED_COUNTS_FOR = sql.lit('30 days') // as in proof.ts

/**
 * The domains above the hostname of the domain row `d`, as an array, under which another project has a verified name, or had one until lately. Where a
 * wildcard record of such a domain is all that leads `d` here, it shows nothing of whom that name is meant for.
 */
export const DOMAINS_OF_OTHERS: RawBuilder<string[]> = sql`array(
  select above.domain from (
    select array_to_string((string_to_array(d.hostname, '.'))[n:], '.') as domain
    from generate_series(2, cardinality(string_to_array(d.hostname, '.')) - 1) n) above
  where ${anothers(sql`<`)} or ${anothers(sql`>`)})`

/** True or null, and a scalar: what stands behind `exists` may be hashed, which reads all verified names there are. */
function anothers(side: RawBuilder<unknown>): RawBuilder<boolean | null> {
  return sql`(select true from domains other where substr(other.hostname, strpos(other.hostname, '.') + 1) = above.domain
    and other.verified_at is not null and other.project_id ${side} d.project_id
    and coalesce(other.deleted_at, 'infinity') > now() - interval ${RELEASED_COUNTS_FOR} limit 1)`
}
