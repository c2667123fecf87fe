import { type RawBuilder, sql } from 'kysely'
import type { Hostname } from '../hostname.ts'
import { rows, type Tx } from './db.ts'
import { mayBegin } from './issuance-attempts.ts'
import type { NoRoom } from './issuance-budget.ts'

/** Who asks for a place: renewals, and the service's own hosts, stand in a line of their own. */
export type InLine = { hostname: Hostname; projectId: string | null; renewing: boolean }

/** `ahead` have an earlier place; `due` of them have been called, and take whatever room there is. */
export type Place = { ahead: number; due: number }

const SERVED_FOR = sql.lit('7 days')
const ENDS_WITHIN = sql.lit('7 days')
const LOOKED_AT_MAX = 2_000 // of those ahead; more than the room of an account in a day
const CALLED_S = 600 // whoever has been called and does not come for so long has lost the place

/** The hostname's place in the line, as `placeIn` finds it. */
export async function findPlace(tx: Tx, line: string, who: InLine): Promise<Place> {
  const [place] = await rows(tx, placeIn(line, who, { inTurns: false }))
  return place!
}

/**
 * A query for the hostname's place among those that wait in the line. One that waits already keeps the place that its waiting has earned; a
 * new one is the last. `inTurns`: projects take turns, so a project's first hostname comes before another's second. Behind more than can be
 * looked at, the place is a guess of at most twice as many, at random, so that not all of them are called at once.
 */
export function placeIn(line: string, { hostname, projectId }: InLine, { inTurns }: { inTurns: boolean }): RawBuilder<Place> {
  const isHere = sql<boolean>`coalesce(c.lease_until <= statement_timestamp(), true)
    and c.postponed_until > statement_timestamp() - make_interval(secs => ${CALLED_S})`
  const mine = sql`coalesce((select waits_since from certificates
    where hostname = ${hostname} and project_id is not distinct from ${projectId}::bigint), 'infinity')`
  // Each limit stands before what no index knows: then the planner walks an index in order, and no further.
  const own = sql<Place>`
    select (count(*) filter (where ${isHere}))::int
        + case when count(*) < ${LOOKED_AT_MAX} then 0 else floor(random() * ${LOOKED_AT_MAX})::int end as ahead,
      (count(*) filter (where ${isHere} and c.postponed_until <= statement_timestamp()))::int as due
    from (
      select lease_until, postponed_until from certificates
      where waits_for = ${line} and (waits_since, hostname) < (${mine}, ${hostname}) ${inTurns ? sql`and project_id = ${projectId}::bigint` : sql``}
      order by waits_since, hostname limit ${LOOKED_AT_MAX}
    ) c`
  if (!inTurns) return own
  return sql`
    with recursive own as (${own}), projects_in_line (id) as (
      (select project_id from certificates where waits_for = ${line} order by project_id limit 1)
      union all
      select (select project_id from certificates where waits_for = ${line} and project_id > p.id order by project_id limit 1)
      from projects_in_line p where p.id is not null
    ), others as (
      select c.* from projects_in_line p, own, lateral (
        select hostname, lease_until, postponed_until from certificates where waits_for = ${line} and project_id = p.id
        order by waits_since limit own.ahead + case when p.id < ${projectId}::bigint then 1 else 0 end
      ) c where p.id <> ${projectId}::bigint limit ${LOOKED_AT_MAX}
    )
    select own.ahead + (select count(*) from others c where c.hostname <> ${hostname} and ${isHere})::int as ahead, own.due from own`
}

/**
 * Whether an order in place of the hostname's certificate counts as a renewal: where that was ordered too, or was brought, has been served for a
 * week, and ends within another. Anybody can bring one for a new hostname, which must not get ahead of others by that.
 */
export async function countsAsRenewal(tx: Tx, hostname: Hostname): Promise<boolean> {
  const [found] = await rows(
    tx,
    sql<{ ordered: boolean; served: boolean }>`
      select c.directory is not null as ordered, c.not_after <= now() + interval ${ENDS_WITHIN}
        and coalesce(d.verified_at <= now() - interval ${SERVED_FOR}, false) and not exists (select from order_history h
          where h.hostname = c.hostname and h.outcome = 'imported' and h.ended_at > now() - interval ${SERVED_FOR}) as served
      from certificates c left join domains d on d.hostname = c.hostname and d.project_id = c.project_id and d.deleted_at is null
      where c.hostname = ${hostname} and c.chain_pem is not null`,
  )
  return found !== undefined && (found.ordered || found.served) // one from before the directory was kept is as one that was brought
}

/** Whether what is kept for renewals is open to it: to a renewal, and to a host of the service itself. */
export function isPrivileged({ projectId, renewing }: Pick<InLine, 'projectId' | 'renewing'>): boolean {
  return renewing || projectId === null
}

/**
 * Puts the attempt off until the hostname's turn, unless one is under way or not needed any more; says whether it did. The last attempt's own error stays, and so
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
          waits_since = coalesce(c.waits_since, excluded.waits_since), version = nextval('versions')
        where ${mayBegin(projectId)}
        returning hostname
      )
      insert into changes (kind, key) select 'certificate', hostname from postponed returning key`,
  )
  return postponed.length > 0
}

const TURN = ['postponed_until', 'postponed_reason', 'postponed_by', 'waits_for']
const PLACE = [...TURN, 'waits_since']

/** What the columns of a waiting hostname are during the attempt at its turn: if that comes to no end, as its worker dies, it has waited since as before. */
export const AT_ITS_TURN = sql.join(TURN.map((column) => sql`${sql.ref(column)} = null`))

/** What the columns of a waiting hostname are when it waits no more. */
export const LEFT_LINE = sql.join(PLACE.map((column) => sql`${sql.ref(column)} = null`))

/** The same for a certificate `c`, but where this holds. */
export function leftLineUnless(waits: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql.join(PLACE.map((column) => sql`${sql.ref(column)} = case when ${waits} then ${sql.ref(`c.${column}`)} end`))
}
