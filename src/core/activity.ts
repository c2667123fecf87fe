import { type RawBuilder, sql } from 'kysely'
import { ServiceError } from '../errors.ts'
import { type Db, type Queryable, rows } from './db.ts'
import { deleteInLots, LOT_ROWS } from './lots.ts'
import type { Project } from './projects.ts'

/** Whose doing a change is: somebody signed in, a program with a token, or whoever has the installation's command line. */
export type Actor = { kind: 'user'; email: string } | { kind: 'token'; id: string } | { kind: 'operator' }

export const OPERATOR: Actor = { kind: 'operator' }

export const ACTIONS = [
  'project.created',
  'project.changed',
  'project.deleted',
  'domain.claimed',
  'domain.removed',
  'domain.metadata-changed',
  'domain.link-made',
  'token.issued',
  'token.revoked',
  'member.invited',
  'member.joined',
  'member.role-changed',
  'member.removed',
] as const

export type Action = (typeof ACTIONS)[number]

/** An entry as listings show it; a token is shown as the token list shows it. `subject`: the hostname, address, token or slug. */
export type ActivityRecord = {
  id: string
  at: string
  actor: { kind: 'user'; email: string } | { kind: 'token'; name: string; preview: string } | { kind: 'operator' }
  action: Action
  subject: string
  detail: object
}

export type ActivityPage = { entries: ActivityRecord[]; nextCursor?: string }

const PAGE_ENTRIES = 50
export const PAGE_ENTRIES_MAX = 200
const KEPT_MAX = 100_000 // of a project

/** Notes a change in the transaction that makes it, so that there is an entry exactly when there is a change. */
export async function recordActivity(
  on: Queryable,
  entry: { projectId: string; actor: Actor; action: Action; subject: string; detail?: object },
): Promise<void> {
  await rows(
    on,
    sql`insert into activity (project_id, actor, action, subject, detail)
      values (${entry.projectId}, ${actorJson(entry.actor)}, ${entry.action}, ${entry.subject}, ${JSON.stringify(entry.detail ?? {})}::jsonb)`,
  )
}

/** An actor as a value of SQL. */
export function actorJson(actor: Actor): RawBuilder<unknown> {
  return sql`${JSON.stringify(actor)}::jsonb`
}

type Row = {
  id: string
  at: Date
  actor: Actor
  tokenName: string | null
  tokenPreview: string | null
  action: Action
  subject: string
  detail: object
}

/** What happened to the project, newest first, 50 entries at a time unless told (200 at most). Throws `query_invalid` for another's cursor. */
export async function listActivity(
  db: Db,
  project: Project,
  query: { limit?: number | undefined; cursor?: string | undefined },
): Promise<ActivityPage> {
  const limit = Math.min(query.limit ?? PAGE_ENTRIES, PAGE_ENTRIES_MAX)
  const found = await rows(
    db,
    sql<Row>`
      select a.id, a.at, a.actor, t.name as "tokenName", encode(substr(t.hash, 1, 6), 'hex') as "tokenPreview", a.action, a.subject, a.detail
      from activity a left join tokens t on t.id = (a.actor->>'id')::bigint and t.project_id = a.project_id
      where a.project_id = ${project.id} ${query.cursor === undefined ? sql`` : sql`and a.id < ${parseCursor(query.cursor)}`}
      order by a.id desc limit ${limit + 1}`,
  )
  const entries = found.slice(0, limit).map(toRecord)
  return found.length > limit ? { entries, nextCursor: entries.at(-1)!.id } : { entries }
}

/**
 * Of these projects (ids), those with entries that were not there yet in `since`, a snapshot; and the snapshot that this has read. What a restored
 * database holds from a future that is not its own is no news.
 */
export async function findActivitySince(
  db: Db,
  projectIds: readonly string[],
  since: string,
): Promise<{ projectIds: string[]; snapshot: string }> {
  const [row] = await rows(
    db,
    sql<{ projectIds: string[]; snapshot: string }>`
      select pg_current_snapshot()::text as snapshot, array(
        select distinct project_id::text from activity
        where xid >= pg_snapshot_xmin(${since}::pg_snapshot) and xid < pg_snapshot_xmax(pg_current_snapshot())
          and not pg_visible_in_snapshot(xid, ${since}::pg_snapshot) and project_id = any(${projectIds}::bigint[])) as "projectIds"`,
  )
  return row!
}

/** What has been committed now, as `findActivitySince` takes it (PostgreSQL, pg_snapshot). */
export async function currentSnapshot(db: Db): Promise<string> {
  const [row] = await rows(db, sql<{ snapshot: string }>`select pg_current_snapshot()::text as snapshot`)
  return row!.snapshot
}

/**
 * Deletes what stands behind a project's last 100,000 entries (or `keptMax`), but who made it, which is counted (portal-projects.ts). To be called now
 * and then: a program with a token writes as many as it likes.
 */
export async function pruneActivity(db: Db, keptMax = KEPT_MAX): Promise<void> {
  const full = await rows(
    db,
    sql<{ projectId: string; lastId: string }>`
      select * from (
        select p.id as "projectId", (select a.id from activity a where a.project_id = p.id order by a.id desc offset ${keptMax} limit 1) as "lastId"
        from projects p) found where "lastId" is not null`,
  )
  for (const { projectId, lastId } of full) {
    await deleteInLots(
      db,
      sql`
        delete from activity where id in (
          select id from activity where project_id = ${projectId} and id <= ${lastId} and action <> 'project.created'
          order by id limit ${LOT_ROWS})
        returning id`,
    )
  }
}

function toRecord({ id, at, actor, tokenName, tokenPreview, action, subject, detail }: Row): ActivityRecord {
  const shown = actor.kind === 'token' ? { kind: 'token' as const, name: tokenName ?? '', preview: `sha256:${tokenPreview}…` } : actor
  return { id, at: at.toISOString(), actor: shown, action, subject, detail }
}

function parseCursor(cursor: string): string {
  if (/^[1-9]\d{0,17}$/.test(cursor)) return cursor
  throw new ServiceError('query_invalid', 'cursor is the one that the last page came with')
}
