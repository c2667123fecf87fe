import { sql } from 'kysely'
import { ServiceError } from '../errors.ts'
import { backOffMs, pause } from '../lib/back-off.ts'
import { CONNECTION_LIFETIME_S, type Db, plannedRows, type Queryable, rows } from './db.ts'
import { LAST_MARK, lastBeat, type MarkState, pruneMarks, sharedUpTo, stateOf } from './feed-beats.ts'
import { SYSTEM, TIMELINE, TIMELINE_DIGITS } from './server-state.ts'

const CHANNEL = 'namesake_changes'
const COMPACTED_AFTER_S = 60
const GATHER_MS = 20 // a NOTIFY inside every transaction would cut commits by half or worse
const RECONNECT_FIRST_MS = 100
const RECONNECT_MAX_MS = 5_000
const HEARTBEAT_MS = 15_000
const STOP_TIMEOUT_MS = 1_000
const LISTEN = { text: `listen ${CHANNEL}`, query_timeout: 5_000 }
const HEARTBEAT = { text: 'select 1', query_timeout: 5_000 }

/** Something that other machines hold a copy of has changed. `key`: the hostname, the project's or token's id, the setting's name, the challenge's hostname. */
export type Change = { kind: 'host' | 'certificate' | 'project' | 'token' | 'setting' | 'challenge'; key: string }

/** How far a reader of the feed has come. Opaque to it, and worthless in another epoch. `mark`: the last one that it saw. */
export type Cursor = { epoch: string; xid: string; seq: string; mark?: string | undefined }

/** Writes a change into the feed; readers see it when the transaction that holds it has committed. */
export async function recordChange(on: Queryable, change: Change): Promise<void> {
  await rows(on, sql`insert into changes (kind, key) values (${change.kind}, ${change.key})`)
}

// Server, database and life: what was restored or replaced differs in one of them, and what readers hold may be from its future. Between system
// and database stands the timeline, which a promotion changes; a standby knows only from its data which one it follows.
const LIFE = sql`concat_ws('/', (select oid from pg_database where datname = current_database()), life)`
const PLACE = sql<FeedPlace>`
  ${SYSTEM} as system, pg_is_in_recovery() as standby,
  case when not pg_is_in_recovery() then ${TIMELINE} end as timeline, ${LIFE} as life,
  case when pg_is_in_recovery() then greatest(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn()) else pg_current_wal_insert_lsn() end::text as lsn`

// A restored database says how far it was pruned on the server that it comes from, which had given away more transaction numbers than its own has.
const PRUNED_ELSEWHERE = sql`pruned_xid >= pg_snapshot_xmax(pg_current_snapshot())`

// Behind every transaction that has ended. Null until their end is on disk: a crash may forget those that came to nothing and give their numbers away again.
const END = sql<string | null>`case when pg_is_in_recovery() or pg_current_wal_flush_lsn() >= pg_current_wal_insert_lsn()
  then pg_snapshot_xmin(pg_current_snapshot()) end::text`

type FeedPlace = { system: string; standby: boolean; timeline: number | null; life: string; lsn: string }
/** The feed's epoch on the primary, as statements of other verbs compare it with readers' cursors; they select from `feed`. */
export const EPOCH = sql<string>`concat_ws('/', ${SYSTEM}, ${TIMELINE_DIGITS}, ${LIFE})`

/** The end of the feed now. Whoever takes it first and a snapshot after misses nothing. */
export async function currentCursor(db: Db): Promise<Cursor> {
  const [read] = await rows(
    db,
    sql<FeedPlace & { end: string | null; last: string | null; mark: string | null }>`
      select ${PLACE}, ${END} as end, ${LAST_MARK} as mark,
        greatest(
          case when not ${PRUNED_ELSEWHERE} then pruned_xid end,
          (select xid from changes where xid < pg_snapshot_xmin(pg_current_snapshot()) order by xid desc limit 1)
        )::text as last
      from feed`,
  )
  const { end, last, mark } = read!
  const beat = read!.standby ? await lastBeat(db) : undefined
  return { epoch: epochOf(read!, timelineOf(read!, beat)), xid: end ?? behind(last ?? '0'), seq: '0', mark: mark ?? undefined }
}

type FeedRow = FeedPlace & {
  covered: boolean
  ahead: boolean
  mark: string | null
  markState: MarkState
  heldMs: number
  kind: Change['kind'] | null
  key: string | null
  xid: string
  seq: string
  end: string | null
}

/** `lsn`: no change that was visible to this reading is behind that position of the server's log. */
export type FeedReading = { changes: Change[]; cursor: Cursor; heldMs: number; lsn: string }

/** What a reader must do whose cursor is not of this feed as it is now. */
export type FeedBreak = { kind: 'snapshot-needed' } | { kind: 'promoted'; epoch: string; sharedLsn: string }

/**
 * The changes after the cursor, at most `limit`, and the cursor behind them. Only what every transaction can see: a row whose
 * transaction began early and commits late is never passed over. While such a transaction runs it holds back what others commit after it:
 * `heldMs` is how long the oldest of these has been waiting, 0 when none is; on a standby at least the age of the last beat that has arrived, by
 * the clock of the primary while that answers. `promoted` when a standby of the server that gave the cursor took over: what the reader saw up to
 * `sharedLsn` holds. `snapshot-needed` when the feed was pruned beyond the cursor or belongs to another epoch: the reader takes
 * `currentCursor`, loads everything, and goes on from there. Throws `database_unavailable` on a standby that is not as far as the cursor.
 */
export async function readChanges(db: Db, cursor: Cursor, limit: number, primary?: Db): Promise<FeedReading | FeedBreak> {
  const read = await plannedRows(
    db,
    cursor.mark === undefined ? 'read-changes-unmarked' : 'read-changes', // two texts, and each is planned once
    sql<FeedRow>`
      select ${PLACE}, coalesce(c.xid, '0')::text as xid, coalesce(c.seq, 0)::text as seq, c.kind, c.key,
        ${END} as end,
        coalesce((select extract(epoch from clock_timestamp() - min(created_at)) * 1000 from changes
          where xid >= pg_snapshot_xmin(pg_current_snapshot()) and xid < pg_snapshot_xmax(pg_current_snapshot())), 0)::float8 as "heldMs",
        ((${cursor.xid}::xid8, ${cursor.seq}::bigint) >= (pruned_xid, pruned_seq) or ${PRUNED_ELSEWHERE}) as covered,
        ${cursor.xid}::xid8 > pg_snapshot_xmax(pg_current_snapshot()) as ahead,
        ${LAST_MARK} as mark, ${stateOf(cursor.mark)} as "markState"
      from feed left join lateral (
        select xid, seq, kind, key from changes
        where (xid, seq) > (${cursor.xid}::xid8, ${cursor.seq}::bigint) and xid < pg_snapshot_xmin(pg_current_snapshot())
        order by xid, seq limit ${limit}) c on true`,
  )
  const first = read[0]!
  const beat = first.standby ? await lastBeat(db, primary) : undefined
  const timeline = timelineOf(first, beat)
  const epoch = epochOf(first, timeline)
  const known = readEpoch(cursor.epoch)
  if (known.system !== first.system || known.life !== first.life || !first.covered) return { kind: 'snapshot-needed' }
  const isForgotten = first.markState === 'forgotten'
  const isBehind = first.markState === 'not-yet' || (first.ahead && !isForgotten)
  if (first.standby && (known.timeline > timeline || (isBehind && known.timeline === timeline))) throw standbyIsBehind()
  if (known.timeline < timeline) {
    const sharedLsn = await sharedUpTo(db, known.timeline)
    return sharedLsn === undefined ? { kind: 'snapshot-needed' } : { kind: 'promoted', epoch, sharedLsn }
  }
  if (known.timeline > timeline || first.ahead || isForgotten) return { kind: 'snapshot-needed' }
  const changes = read.flatMap(({ kind, key }) => (kind === null ? [] : [{ kind, key: key! }]))
  const heldMs = Math.max(0, first.heldMs, beat?.ageMs ?? 0)
  const next = changes.length === limit ? placeAfter(read.at(-1)!) : atEnd(first, read.at(-1)!, cursor)
  return { changes, heldMs, cursor: { epoch, ...next, mark: first.mark ?? cursor.mark }, lsn: first.lsn }
}

/** A standby without a beat cannot say which timeline it follows, nor how old its data is. */
function timelineOf(place: FeedPlace, beat: { timeline: number } | undefined): number {
  const timeline = place.timeline ?? beat?.timeline
  if (timeline === undefined)
    throw new ServiceError('database_unavailable', 'no worker has left a sign of life in the feed yet, so a standby cannot be followed')
  return timeline
}

function standbyIsBehind(): ServiceError {
  return new ServiceError('database_unavailable', 'this standby has not replayed as far as the local copy is')
}

function epochOf({ system, life }: FeedPlace, timeline: number): string {
  return `${system}/${timeline.toString(16).toUpperCase().padStart(8, '0')}/${life}`
}

function readEpoch(epoch: string): { system: string; timeline: number; life: string } {
  const [system = '', timeline = '', ...life] = epoch.split('/')
  return { system, timeline: Number.parseInt(timeline, 16), life: life.join('/') }
}

type FeedPosition = { xid: string; seq: string }

const placeAfter = ({ xid, seq }: FeedRow): FeedPosition => ({ xid, seq })
const behind = (xid: string): string => String(BigInt(xid) + 1n)

// All that can be seen has been read, so the cursor is behind the last row's transaction, and an idle reader's keeps up with the database and
// stays ahead of pruning.
function atEnd({ end }: FeedRow, last: FeedRow, { xid, seq }: Cursor): FeedPosition {
  const behindLast = last.kind === null ? 0n : BigInt(last.xid) + 1n
  const behindAll = end !== null && BigInt(end) > behindLast ? BigInt(end) : behindLast
  return behindAll > BigInt(xid) ? { xid: String(behindAll), seq: '0' } : { xid, seq }
}

/** Drops the changes that are older than so many hours and remembers up to where, so that a reader behind that point is told; drops marks as old, too. */
export async function pruneChanges(db: Db, olderThanHours: number): Promise<void> {
  await pruneMarks(db, olderThanHours)
  await rows(db, sql`update feed set pruned_xid = default, pruned_seq = default where ${PRUNED_ELSEWHERE}`)
  await rows(
    db,
    sql`
      with pruned as (
        -- What readers cannot see yet stays. A restored database may hold rows of a future that is not its own: those go, and say nothing
        -- about how far readers may be.
        delete from changes where created_at < now() - make_interval(hours => ${olderThanHours})
          and (xid < pg_snapshot_xmin(pg_current_snapshot()) or xid >= pg_snapshot_xmax(pg_current_snapshot()))
        returning xid, seq
      ), last as (
        select xid, seq from pruned where xid < pg_snapshot_xmin(pg_current_snapshot()) order by xid desc, seq desc limit 1
      )
      update feed set pruned_xid = last.xid, pruned_seq = last.seq from last where (last.xid, last.seq) > (pruned_xid, pruned_seq)`,
  )
}

/**
 * Drops of each key's changes older than a minute all but the newest; answers with how many. A reader that is in the middle still meets the
 * newest, and applies the current row then: so one that slept reads each key once, and the feed holds no more rows than keys and a minute's changes.
 * What readers cannot see yet stays.
 */
export async function compactChanges(db: Db): Promise<number> {
  const [dropped] = await rows(
    db,
    sql<{ count: number }>`
      with visible as (
        select xid, seq, created_at, row_number() over (partition by kind, key order by xid desc, seq desc) as place from changes
        where xid < pg_snapshot_xmin(pg_current_snapshot())
      ), dropped as (
        delete from changes c using visible v
        where c.xid = v.xid and c.seq = v.seq and v.place > 1 and v.created_at < now() - make_interval(secs => ${COMPACTED_AFTER_S})
        returning 1
      ) select count(*)::int as count from dropped`,
  )
  return dropped!.count
}

/** Tells the other machines, after the commit, that the feed has something for them. `close` sends what is still waiting. */
export type Announcer = { announce(key: string): void; close(): Promise<void> }

/**
 * One NOTIFY for all that was announced within 20 ms. It names nothing: listeners read the feed. A lost hint is harmless, so no failure
 * surfaces here.
 */
export function createAnnouncer(db: Db): Announcer {
  let timer: NodeJS.Timeout | undefined
  let sending: Promise<unknown> = Promise.resolve()
  const send = () => {
    timer = undefined
    sending = db.pool.query(`notify ${CHANNEL}`).catch(() => {})
  }
  return {
    announce() {
      timer ??= setTimeout(send, GATHER_MS)
    },
    async close() {
      if (timer) {
        clearTimeout(timer)
        send()
      }
      await sending
    },
  }
}

/**
 * Calls `onHint` whenever the feed may have something new, on a connection of its own. That connection is made again whenever it is lost,
 * and `onHint` is called each time it stands, since hints may have gone by meanwhile. `stop` resolves within a second, whatever the database does.
 */
export function listenForChanges(db: Db, onHint: () => void): { stop(): Promise<void> } {
  const stopping = new AbortController()
  const running = listenUntil(stopping.signal, db, onHint)
  return {
    async stop() {
      stopping.abort()
      await Promise.race([running, pause(STOP_TIMEOUT_MS)])
    },
  }
}

async function listenUntil(stopped: AbortSignal, db: Db, onHint: () => void): Promise<void> {
  let failures = 0
  while (!stopped.aborted) {
    const outcome = await listenOnce(stopped, db, onHint)
    failures = outcome === 'lost' ? 1 : failures + 1
    await pause(backOffMs(failures, { firstMs: RECONNECT_FIRST_MS, maxMs: RECONNECT_MAX_MS }), stopped)
  }
}

async function listenOnce(stopped: AbortSignal, db: Db, onHint: () => void): Promise<'lost' | 'never-stood'> {
  const ended = new AbortController()
  const client = db.openClient()
  client.on('error', () => ended.abort())
  client.on('end', () => ended.abort())
  client.on('notification', onHint)
  let stood = false
  try {
    await client.connect()
    await client.query(LISTEN)
    stood = true
    onHint()
    const over = AbortSignal.any([stopped, ended.signal, AbortSignal.timeout(CONNECTION_LIFETIME_S * 1_000)])
    while (!over.aborted) {
      await pause(HEARTBEAT_MS, over)
      if (!over.aborted) await client.query(HEARTBEAT) // a connection that died in silence is found out here
    }
  } catch {
    // Whatever it was, the next attempt shows whether it lasts.
  } finally {
    // Of a server that says nothing more no farewell comes back either.
    await Promise.race([client.end().catch(() => {}), pause(STOP_TIMEOUT_MS)])
    client.connection.stream.destroy()
  }
  return stood ? 'lost' : 'never-stood'
}
