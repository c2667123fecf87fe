import { sql } from 'kysely'
import type { Hostname } from '../hostname.ts'
import { rows, type Tx } from './db.ts'
import type { NoRoom } from './issuance-budget.ts'

/** Who asks for a place: renewals, and the service's own hosts, stand in a line of their own. */
export type InLine = { hostname: Hostname; projectId: string | null; renewing: boolean }

/** `ahead` have an earlier place; `due` of them have been called, and take whatever room there is. */
export type Place = { ahead: number; due: number }

const CALLED_S = 600 // whoever has been called and does not come for so long has lost the place

/**
 * The hostname's place among those that wait in the line. One that waits already keeps the place that its waiting has earned; a new one is
 * the last. `inTurns`: projects take turns, so a project's first hostname comes before another's second.
 */
export async function findPlace(tx: Tx, line: string, who: InLine, { inTurns }: { inTurns: boolean }): Promise<Place> {
  const { hostname, projectId } = who
  const [place] = await rows(
    tx,
    sql<Place>`
      with mine as (
        select coalesce((select waits_since from certificates where hostname = ${hostname} and project_id is not distinct from ${projectId}::bigint),
          'infinity') as since
      ), ahead as (
        select c.project_id, c.postponed_until <= statement_timestamp() as due, (c.waits_since, c.hostname) < (mine.since, ${hostname}) as earlier
        from certificates c, mine
        where c.waits_for = ${line} and c.hostname <> ${hostname} and coalesce(c.lease_until <= statement_timestamp(), true)
          and c.postponed_until > statement_timestamp() - make_interval(secs => ${CALLED_S})
          and (c.chain_pem is not null or c.project_id is null) = ${isPrivileged(who)}
      ), own as (
        select count(*) filter (where earlier) as ahead, count(*) filter (where earlier and due) as due from ahead
        where not ${inTurns} or project_id = ${projectId}::bigint
      ), others as (
        select least(count(*), own.ahead + case when ahead.project_id < ${projectId}::bigint then 1 else 0 end) as ahead
        from ahead, own where ${inTurns} and ahead.project_id <> ${projectId}::bigint group by ahead.project_id, own.ahead
      )
      select (own.ahead + coalesce((select sum(others.ahead) from others), 0))::int as ahead, own.due::int as due from own`,
  )
  return place!
}

/** Whether what is kept for renewals is open to it: to a renewal, and to a host of the service itself. */
export function isPrivileged({ projectId, renewing }: Pick<InLine, 'projectId' | 'renewing'>): boolean {
  return renewing || projectId === null
}

/**
 * Puts the attempt off until the hostname's turn, unless one is under way; says whether it did. The last attempt's own error stays, and so
 * does the moment since when it waits.
 */
export async function joinLine(
  tx: Tx,
  { hostname, projectId }: Pick<InLine, 'hostname' | 'projectId'>,
  { limit, until, sentence, line }: NoRoom,
): Promise<boolean> {
  const postponed = await rows(
    tx,
    sql`
      with postponed as (
        insert into certificates as c (hostname, project_id, next_attempt_at, postponed_until, postponed_reason, postponed_by, waits_for,
          waits_since)
        values (${hostname}, ${projectId}::bigint, ${until}, ${until}, ${sentence}, ${limit}, ${line}, statement_timestamp())
        on conflict (hostname) do update set next_attempt_at = excluded.next_attempt_at, postponed_until = excluded.postponed_until,
          postponed_reason = excluded.postponed_reason, postponed_by = excluded.postponed_by, waits_for = excluded.waits_for,
          waits_since = coalesce(c.waits_since, excluded.waits_since), lease_until = null, version = nextval('versions')
        where c.lease_until is null or c.lease_until <= now()
        returning hostname
      )
      insert into changes (kind, key) select 'certificate', hostname from postponed returning key`,
  )
  return postponed.length > 0
}

/** What the columns of a waiting hostname are when it waits no more. */
export const LEFT_LINE = sql`postponed_until = null, postponed_reason = null, postponed_by = null, waits_for = null, waits_since = null`
