import { sql } from 'kysely'
import { type Db, rows } from './db.ts'
import { SYSTEM, TIMELINE } from './server-state.ts'

export type FeedBeat = { timeline: number; ageMs: number }

const CLOCK_TIMEOUT_MS = 1_000
const MARKS_KEPT_MIN = 600

const NOW_MS = sql<number>`extract(epoch from clock_timestamp())::float8 * 1000`

/**
 * Leaves a sign of life in the feed, at most one in half a second however many call: readers of standbys count their lag from it. With it comes a
 * mark, by which readers know this server's past again.
 */
export async function beatFeed(db: Db): Promise<void> {
  const beaten = await rows(
    db,
    sql`
      insert into feed_beats (system, timeline, lsn, beat_at) values (${SYSTEM}, ${TIMELINE}, pg_current_wal_insert_lsn(), clock_timestamp())
      on conflict (system, timeline) do update set lsn = excluded.lsn, beat_at = excluded.beat_at
      where feed_beats.beat_at < clock_timestamp() - interval '0.5 s' or feed_beats.beat_at > clock_timestamp()
      returning 1`,
  )
  if (beaten.length === 0) return
  await rows(db, sql`insert into feed_marks (mark) values (floor(${NOW_MS})::bigint || ':' || gen_random_uuid())`)
}

/** Drops the marks that are older than so many hours, but never the last ones, which so outlive any time without workers. */
export async function pruneMarks(db: Db, olderThanHours: number): Promise<void> {
  await rows(
    db,
    sql`
      delete from feed_marks where id <= (select max(id) from feed_marks) - ${MARKS_KEPT_MIN}
        and split_part(mark, ':', 1)::bigint < ${NOW_MS} - ${olderThanHours * 3_600_000}`,
  )
}

/** The newest mark that a reading of the feed sees. */
export const LAST_MARK = sql<string | null>`(select mark from feed_marks order by id desc limit 1)`

/**
 * What a server says of a reader's mark. `not-yet`: it is a standby that has not replayed as far. `forgotten`: it was put back to an earlier state,
 * by whichever way, or the reader slept for longer than marks and changes are kept.
 */
export type MarkState = 'kept' | 'not-yet' | 'forgotten'

export function stateOf(mark: string | undefined) {
  if (mark === undefined) return sql<MarkState>`'kept'`
  return sql<MarkState>`case
    when exists (select from feed_marks where mark = ${mark}) then 'kept'
    when pg_is_in_recovery() and coalesce(split_part(${LAST_MARK}, ':', 1)::bigint <= split_part(${mark}, ':', 1)::bigint, true) then 'not-yet'
    else 'forgotten' end`
}

/**
 * The last beat that this server, primary or standby, has seen; undefined before the first. Its age is by the clock that wrote it, the primary's,
 * where that one answers within a second; else by this server's.
 */
export async function lastBeat(db: Db, primary?: Db): Promise<FeedBeat | undefined> {
  const [beat] = await rows(
    db,
    sql<{ timeline: number; beatMs: number; nowMs: number }>`
      select timeline, extract(epoch from beat_at)::float8 * 1000 as "beatMs", ${NOW_MS} as "nowMs"
      from feed_beats where system = ${SYSTEM} order by timeline desc limit 1`,
  )
  if (!beat) return undefined
  const nowMs = (primary && (await clockOf(primary))) ?? beat.nowMs
  return { timeline: beat.timeline, ageMs: Math.max(0, nowMs - beat.beatMs) }
}

async function clockOf(db: Db): Promise<number | undefined> {
  const late = Promise.withResolvers<void>()
  const timer = setTimeout(late.resolve, CLOCK_TIMEOUT_MS)
  const asked: Promise<number | undefined> = rows(db, sql<{ nowMs: number }>`select ${NOW_MS} as "nowMs"`).then(
    ([read]) => read!.nowMs,
    () => undefined,
  )
  const read = await Promise.race([asked, late.promise]).finally(() => clearTimeout(timer))
  return read ?? undefined
}

/**
 * Up to where this server's history and the earlier timeline's are the same for certain: the position that the last beat of that timeline names,
 * whose commit is here. Undefined when there is none.
 */
export async function sharedUpTo(db: Db, timeline: number): Promise<string | undefined> {
  const [beat] = await rows(
    db,
    sql<{ lsn: string }>`select lsn::text as lsn from feed_beats where system = ${SYSTEM} and timeline = ${timeline}`,
  )
  return beat?.lsn
}
