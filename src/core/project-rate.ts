import { sql } from 'kysely'
import { ServiceError } from '../errors.ts'
import type { Log } from '../log.ts'
import { type Db, rows } from './db.ts'

export type ProjectRate = {
  /** Counts a call of the project. Throws `rate_limited` beyond the limit of this second; what is refused is not counted. */
  take(projectId: string): void
  /** Writes nothing more after this. */
  close(): Promise<void>
}

/** The calls of one project in one second: `told` are in the database by now, with what other processes told it `known`. */
type Count = { second: number; own: number; told: number; known: number }

const TELL_EVERY_MS = 200
const KEPT_S = 60
const PROJECTS_MAX = 100_000

/**
 * A limit of so many calls a second and project, shared by all processes: each counts in memory and tells the database five times a second, which says
 * what the others have counted. So a call waits for nothing, and together they let through at most what comes in a fifth of a second more. While
 * the database is away each counts for itself.
 */
export function createProjectRate(parts: { db: Db; log: Log; perSecond: number; now(): Date }): ProjectRate {
  const counts = new Map<string, Count>()
  let telling: Promise<void> | undefined

  const tell = async () => {
    const second = secondOf(parts.now())
    for (const [id, count] of counts) if (count.second < second) counts.delete(id)
    const news = [...counts].filter(([, { own, told }]) => own > told)
    if (news.length === 0) return
    try {
      const added = news.map(([, { own, told }]) => own - told)
      const seconds = news.map(([, count]) => count.second)
      const totals = await addCalls(
        parts.db,
        news.map(([id]) => id),
        seconds,
        added,
      )
      for (const [n, [id, count]] of news.entries()) {
        count.told += added[n]!
        count.known = totals.get(id) ?? count.told
      }
    } catch (error) {
      parts.log.warn({ err: error }, 'cannot share how many calls projects make; each process counts for itself')
    }
  }
  const timer = setInterval(() => {
    telling ??= tell().finally(() => {
      telling = undefined
    })
  }, TELL_EVERY_MS).unref()

  return {
    take(projectId) {
      const second = secondOf(parts.now())
      let count = counts.get(projectId)
      if (count?.second !== second) {
        if (!count && counts.size >= PROJECTS_MAX) return
        count = { second, own: 0, told: 0, known: 0 }
        counts.set(projectId, count)
      }
      if (count.known + count.own - count.told >= parts.perSecond) {
        throw new ServiceError('rate_limited', `a project may make ${parts.perSecond} calls a second: try again in a second`, {
          retryAfterS: 1,
        })
      }
      count.own += 1
    },
    async close() {
      clearInterval(timer)
      await telling
    },
  }
}

/** Deletes the seconds that are over. */
export async function pruneProjectCalls(db: Db): Promise<void> {
  await rows(db, sql`delete from project_calls where second < extract(epoch from now()) - ${KEPT_S}::integer`)
}

/** Adds to what is known of these projects, and returns what all processes have told of the same seconds. */
async function addCalls(db: Db, projectIds: string[], seconds: number[], calls: number[]): Promise<Map<string, number>> {
  const totals = await rows(
    db,
    sql<{ projectId: string; calls: number }>`
      insert into project_calls as p (project_id, second, calls)
      select * from unnest(${projectIds}::bigint[], ${seconds}::bigint[], ${calls}::integer[]) as n(project_id, second, calls) order by project_id
      on conflict (project_id, second) do update set calls = p.calls + excluded.calls
      returning project_id as "projectId", calls`,
  )
  return new Map(totals.map(({ projectId, calls }) => [projectId, calls]))
}

function secondOf(now: Date): number {
  return Math.floor(now.getTime() / 1_000)
}
