import { type RawBuilder, sql } from 'kysely'

const RELEASED_COUNTS_FOR = sql.lit('30 days') // as in proof.ts

const IN_IT = sql`substr(other.hostname, strpos(other.hostname, '.') + 1) = above.domain`
const HELD = sql`other.hostname = above.domain and other.deleted_at is null`
const RELEASED = sql`other.hostname = above.domain and other.deleted_at is not null`

/**
 * The domains above the hostname of the domain row `d`, as an array, that another project has verified, or a name under them, now or until lately. Where a
 * wildcard record of such a domain is all that leads `d` here, it shows nothing of whom that name is meant for.
 */
export const DOMAINS_OF_OTHERS: RawBuilder<string[]> = sql`array(
  select above.domain from (
    select array_to_string((string_to_array(d.hostname, '.'))[n:], '.') as domain
    from generate_series(2, cardinality(string_to_array(d.hostname, '.')) - 1) n) above
  where ${anothers(IN_IT, sql`<`)} or ${anothers(IN_IT, sql`>`)} or ${anothers(HELD, sql`<>`)}
    or ${anothers(RELEASED, sql`<`)} or ${anothers(RELEASED, sql`>`)})`

/**
 * True or null. Either side of the project's own is one look into an index, however many its own are; in the place of a scalar, as what stands behind
 * `exists` may be hashed, which reads all verified names there are.
 */
function anothers(which: RawBuilder<unknown>, side: RawBuilder<unknown>): RawBuilder<boolean | null> {
  return sql`(select true from domains other where ${which}
    and other.verified_at is not null and other.project_id ${side} d.project_id
    and coalesce(other.deleted_at, 'infinity') > now() - interval ${RELEASED_COUNTS_FOR} limit 1)`
}
