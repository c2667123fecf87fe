import { type RawBuilder, sql } from 'kysely'
import type { Hostname } from '../hostname.ts'
import { type Db, rows } from './db.ts'
import type { Project } from './projects.ts'

export const ORDER_OUTCOMES = ['under-way', 'issued', 'failed', 'abandoned', 'imported'] as const

/**
 * One attempt to obtain a certificate, or one that was brought. `abandoned`: its worker died, or it was overtaken. `problem` is the
 * authority's document in full. Times in ISO 8601.
 */
export type OrderRecord = {
  beganAt: string
  endedAt: string | null
  outcome: (typeof ORDER_OUTCOMES)[number]
  renewing: boolean
  issuer: string | null
  serial: string | null
  notAfter: string | null
  error: { sentence: string; problem: object } | null
}

const KEPT_MAX = 20

/** The hostname's last 20 attempts, newest first; none when the project does not hold it (null: a host of the service itself). */
export async function readOrderHistory(db: Db, project: Pick<Project, 'id'> | null, hostname: Hostname): Promise<OrderRecord[]> {
  const found = await rows(
    db,
    sql<HistoryRow>`
      select h.began_at as "beganAt", h.ended_at as "endedAt", h.outcome, h.renewing, h.issuer, h.serial, h.not_after as "notAfter",
        h.problem, h.sentence
      from order_history h join certificates c using (hostname)
      where h.hostname = ${hostname} and c.project_id is not distinct from ${project?.id ?? null}::bigint
      order by h.id desc limit ${KEPT_MAX}`,
  )
  return found.map(({ beganAt, endedAt, notAfter, problem, sentence, ...rest }) => ({
    ...rest,
    beganAt: beganAt.toISOString(),
    endedAt: endedAt?.toISOString() ?? null,
    notAfter: notAfter?.toISOString() ?? null,
    error: problem && { sentence: sentence ?? '', problem },
  }))
}

type HistoryRow = {
  [member in keyof Omit<OrderRecord, 'beganAt' | 'endedAt' | 'notAfter' | 'error'>]: OrderRecord[member]
} & { beganAt: Date; endedAt: Date | null; notAfter: Date | null; problem: object | null; sentence: string | null }

// The statements that change a certificate's row carry these clauses along. None sees what another of its statement does.

/** An attempt begins, where the clause `begun` (hostname, renewing) has a row: whichever was under way is abandoned, the oldest go. */
export function historyOfBegun(hostname: Hostname): RawBuilder<unknown> {
  return sql`${closeOthers(hostname, 'begun')}, noted as (
    insert into order_history (hostname, renewing) select hostname, renewing from begun
  )`
}

/** A certificate was brought, where the clause `kept` (hostname, issuer, serial, not_after) has a row. */
export function historyOfImported(hostname: Hostname): RawBuilder<unknown> {
  return sql`${closeOthers(hostname, 'kept')}, noted as (
    insert into order_history (hostname, renewing, outcome, ended_at, issuer, serial, not_after)
    select hostname, exists (select from certificates c where c.hostname = kept.hostname and c.chain_pem is not null), 'imported', now(),
      issuer, serial, not_after from kept
  )`
}

/** The attempt under way ends as the row of the clause `ended` says: (hostname, outcome, issuer, serial, not_after, problem, sentence). */
export const HISTORY_OF_ENDED = sql`noted as (
  update order_history h set ended_at = now(), outcome = ended.outcome, issuer = ended.issuer, serial = ended.serial,
    not_after = ended.not_after, problem = ended.problem, sentence = ended.sentence
  from ended where h.hostname = ended.hostname and h.ended_at is null
)`

function closeOthers(hostname: Hostname, clause: string): RawBuilder<unknown> {
  return sql`abandoned as (
    update order_history set ended_at = now(), outcome = 'abandoned'
    where hostname = ${hostname} and ended_at is null and exists (select from ${sql.ref(clause)})
  ), trimmed as (
    delete from order_history where hostname = ${hostname} and ended_at is not null and exists (select from ${sql.ref(clause)}) and id <= (
      select id from order_history where hostname = ${hostname} order by id desc offset ${KEPT_MAX - 1} limit 1)
  )`
}
