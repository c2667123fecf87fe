import { sql } from 'kysely'
import type { Hostname } from '../hostname.ts'
import { type Queryable, rows } from './db.ts'
import { proofNeeded } from './proof.ts'

const STOPPED_PAUSE = sql.lit('10 minutes') // visitors may ask for what is not tried by itself, but not for each visit

const OWN_FOR = sql.lit('1 day')

/** What is known of a hostname before its certificate is ordered, or wished for. */
export type Standing = {
  hostname: Hostname
  projectId: string | null
  known: boolean
  proofNeeded: boolean
  valid: boolean
  fresh: boolean
  held: boolean
  directory: string | null
  /** The directory's own wish to renew has begun. */
  wishHasBegun: boolean
  underWay: boolean
  waitsUntil: Date | null
  sentence: string | null
}

/** How the hostname and its certificate stand. */
export async function look(on: Queryable, hostname: Hostname): Promise<Standing> {
  const [standing] = await rows(
    on,
    sql<Standing>`
      select h.hostname, d.project_id as "projectId", d.id is not null or c.hostname is not null as known,
        d.id is not null and p.delegated is not true and ${proofNeeded(sql`now()`)} as "proofNeeded",
        c.chain_pem is not null and c.not_after > now() as valid, c.chain_pem is not null and c.renew_at > now() as fresh,
        c.chain_pem is not null as held, c.directory, coalesce(c.wished_from <= now(), false) as "wishHasBegun",
        coalesce(c.lease_until > now(), false) as "underWay",
        case when c.last_problem is not null and c.next_attempt_at > now() then c.next_attempt_at
          when c.postponed_until > now() then c.postponed_until
          when c.renewal_stopped_at is not null then nullif(greatest(c.last_attempt_at + interval ${STOPPED_PAUSE}, now()), now()) end as "waitsUntil",
        case when c.postponed_until > now() then c.postponed_reason else c.last_sentence end as sentence
      from (select ${hostname}::text as hostname) h
      left join domains d on d.hostname = h.hostname and d.deleted_at is null
      left join probes p on p.domain_id = d.id -- whoever delegated its challenges to the project has proven more than by any other record
      left join certificates c on c.hostname = h.hostname and c.project_id is not distinct from d.project_id`,
  )
  return standing!
}

/**
 * Whether a row that is no project's is of a host that is the service's own: workers say so all the time, and one that nobody has called so for a day
 * was one by other settings. For a day, as two settings are at work while a fleet is deployed, and each worker knows its own.
 */
export function isOwnStill(row: 'c' | 'due') {
  return sql<boolean>`(${sql.ref(`${row}.own_at`)} > now() - interval ${OWN_FOR})`
}

/** Why the hostname may have no certificate at all; undefined when it may. */
export function forbidden({ hostname, known, proofNeeded }: Standing): string | undefined {
  if (!known) return `${hostname} is not registered`
  if (proofNeeded) return `${hostname} needs the project's proof in DNS first`
  return undefined
}

/** Why no attempt may begin yet; undefined when one may. */
export function backingOff({ waitsUntil, underWay, sentence }: Standing): string | undefined {
  return waitsUntil && !underWay ? `${sentence} The next attempt is at ${waitsUntil.toISOString()}.` : undefined
}
