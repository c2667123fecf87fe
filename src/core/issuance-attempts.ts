import { type RawBuilder, sql } from 'kysely'
import type { Hostname } from '../hostname.ts'
import { type Db, rows, type Tx } from './db.ts'
import { ISSUANCE_LEASE_S } from './issue-jobs.ts'

export const BACK_OFF_FIRST_S = 60
const BACK_OFF_MAX_S = 6 * 3_600
const RENEWAL_BACK_OFF_SHARE = 1 / 12 // of the time that is left to a certificate in hand
const RENEWAL_BACK_OFF_S = { least: 15 * 60, most: 24 * 3_600 }

/**
 * Of whose attempt something is the end; without it, of whoever holds the hostname now. `begunAt` tells it from a later one: an attempt that
 * was overtaken, as that of a worker which was frozen for minutes, changes nothing any more.
 */
export type Attempted = { projectId?: string | null; begunAt?: string }

/** Whether a row of certificates is still the attempt's: another project may hold the hostname by the time that an attempt ends, with an attempt of its own; or another attempt has begun. */
export function isOf(attempted: Attempted) {
  const { begunAt } = attempted
  return sql<boolean>`${isOfProject(attempted)} and ${begunAt === undefined ? sql`true` : sql`last_attempt_at = ${begunAt}::timestamptz`}`
}

/** As isOf, of any row with a project_id. */
export function isOfProject({ projectId }: Attempted) {
  return projectId === undefined ? sql<boolean>`true` : sql<boolean>`project_id is not distinct from ${projectId}::bigint`
}

/** No order touches a certificate that was imported, for as long as it is valid. */
export function replaceable(row: 'c' | 'certificates') {
  return sql<boolean>`not (${sql.ref(`${row}.origin`)} = 'imported' and ${sql.ref(`${row}.not_after`)} > now())`
}

/**
 * Whether an attempt of the project may begin, or wait, in the place of the row `c` that is there by now: another attempt, a certificate, or the next
 * holder's may have come while it waited for its room.
 */
export function mayBegin(projectId: string | null) {
  return sql<boolean>`(c.lease_until is null or c.lease_until <= now()) and c.project_id is not distinct from ${projectId}::bigint
    and ${replaceable('c')} and (c.chain_pem is null or c.renew_at <= now())`
}

/** What another project left behind is not ours to renew. Who holds the hostname by now, since this attempt has waited for its room, keeps what is its own. */
export async function dropOthers(tx: Tx, hostname: Hostname, projectId: string | null): Promise<void> {
  await rows(
    tx,
    sql`delete from certificates c where hostname = ${hostname} and project_id is distinct from ${projectId}::bigint and not exists (
      select from domains d where d.hostname = c.hostname and d.project_id = c.project_id and d.deleted_at is null)`,
  )
}

/** Gives back what attempts for the hostname took and did not send before their workers died. Nothing while one is under way. */
export async function releaseUnsent(tx: Tx, hostname: Hostname, directories: readonly string[]): Promise<void> {
  await rows(
    tx,
    sql`
      delete from issuance_orders o where directory = any(${directories}::text[]) and hostname = ${hostname} and outcome = 'under-way' and not sent
        and not exists (select from certificates c where c.hostname = o.hostname and c.lease_until > now())`,
  )
}

/** How long a row of `certificates` waits at most, in seconds. */
export const BACK_OFF_LONGEST_S = sql<number>`case when chain_pem is null or not_after <= now() then ${sql.lit(BACK_OFF_MAX_S)}::float8
  else least(${sql.lit(RENEWAL_BACK_OFF_S.most)}::float8, greatest(${sql.lit(RENEWAL_BACK_OFF_S.least)}::float8,
    extract(epoch from not_after - now())::float8 * ${sql.lit(RENEWAL_BACK_OFF_SHARE)}), greatest(${sql.lit(BACK_OFF_FIRST_S)}::float8,
    extract(epoch from not_after - now())::float8)) end`

function doubledS(attempts: RawBuilder<number>) {
  return sql<number>`${sql.lit(BACK_OFF_FIRST_S)}::float8 * 2 ^ least(30, greatest(0, ${attempts} - 1))`
}

/** How long a row of `certificates` waits after a failure, in seconds. */
export const BACK_OFF_S = sql<number>`least(${BACK_OFF_LONGEST_S}, ${doubledS(sql`attempts`)})`

/** The attempts of a row since the last success that still count where a certificate was brought meanwhile: what failed months before it ends is over. */
export function lateAttempts(row: 'c' | 'certificates') {
  return sql<number>`case when ${sql.ref(`${row}.last_attempt_at`)} > now() - make_interval(secs => ${sql.lit(BACK_OFF_MAX_S)})
    then ${sql.ref(`${row}.attempts`)} else 0 end`
}

/** Until when they hold the next one back, also where nothing says any more what became of the last: it may be under way. */
export function heldBackUntil(row: 'c' | 'certificates') {
  return sql<Date>`case when ${lateAttempts(row)} > 0 then ${sql.ref(`${row}.last_attempt_at`)} + make_interval(secs =>
    least(${sql.lit(BACK_OFF_MAX_S)}::float8, greatest(${sql.lit(ISSUANCE_LEASE_S)}::float8, ${doubledS(lateAttempts(row))}))) end`
}

/** Whether a later attempt for the hostname has begun. */
export async function isOvertaken(db: Db, hostname: Hostname, attempted: Attempted): Promise<boolean> {
  const [found] = await rows(db, sql<{ overtaken: boolean }>`select ${overtaken(hostname, attempted)} as overtaken`)
  return found!.overtaken
}

/** As isOvertaken, within a statement. */
export function overtaken(hostname: Hostname, { begunAt }: Attempted) {
  if (begunAt === undefined) return sql<boolean>`false`
  return sql<boolean>`exists (select from certificates c where c.hostname = ${hostname} and c.last_attempt_at > ${begunAt}::timestamptz)`
}
