import { sql } from 'kysely'
import type { Hostname } from '../hostname.ts'
import { type Db, rows } from './db.ts'

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
