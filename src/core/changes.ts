import { sql } from 'kysely'
import { backOffMs, pause } from '../lib/back-off.ts'
import { type Db, type Queryable, rows } from './db.ts'

const CHANNEL = 'namesake_changes'
const GATHER_MS = 20 // a NOTIFY inside every transaction would cut commits by half or worse
const RECONNECT_FIRST_MS = 100
const RECONNECT_MAX_MS = 5_000
const HEARTBEAT_MS = 15_000
const HEARTBEAT = { text: 'select 1', query_timeout: 5_000 }

/** Something that other machines hold a copy of has changed. `key`: the hostname, the project's or token's id, the setting's name, the challenge's hostname. */
export type Change = { kind: 'host' | 'certificate' | 'project' | 'token' | 'setting' | 'challenge'; key: string }

/** How far a reader of the feed has come. Opaque to it, and worthless in another epoch. */
export type Cursor = { epoch: string; xid: string; seq: string }

/** Writes a change into the feed; readers see it when the transaction that holds it has committed. */
export async function recordChange(on: Queryable, change: Change): Promise<void> {
  await rows(on, sql`insert into changes (kind, key) values (${change.kind}, ${change.key})`)
}

// Server, its timeline, database and life: what was restored, promoted or replaced is another epoch, and what readers hold may be from its
// future.
const EPOCH = sql<string>`concat_ws('/', (select system_identifier from pg_control_system()),
  substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8), (select oid from pg_database where datname = current_database()), life)`

/** The end of the feed now. Whoever takes it first and a snapshot after misses nothing. */
export async function currentCursor(db: Db): Promise<Cursor> {
  const [cursor] = await rows(
    db,
    sql<Cursor>`select ${EPOCH} as epoch, pg_snapshot_xmin(pg_current_snapshot())::text as xid, '0' as seq from feed`,
  )
  return cursor!
}

type FeedRow = Cursor & { covered: boolean; heldMs: number; kind: Change['kind'] | null; key: string | null; end: string }

/**
 * The changes after the cursor, at most `limit`, and the cursor behind them. Only what every transaction can see: a row whose
 * transaction began early and commits late is never passed over. While such a transaction runs it holds back what others commit after it:
 * `heldMs` is how long the oldest of these has been waiting, 0 when none is. `snapshot-needed` when the feed was pruned beyond the cursor or belongs
 * to another epoch: the reader takes `currentCursor`, loads everything, and goes on from there.
 */
export async function readChanges(
  db: Db,
  cursor: Cursor,
  limit: number,
): Promise<{ changes: Change[]; cursor: Cursor; heldMs: number } | { kind: 'snapshot-needed' }> {
  const read = await rows(
    db,
    sql<FeedRow>`
      select ${EPOCH} as epoch, coalesce(c.xid, '0')::text as xid, coalesce(c.seq, 0)::text as seq, c.kind, c.key,
        pg_snapshot_xmin(pg_current_snapshot())::text as end,
        coalesce((select extract(epoch from clock_timestamp() - min(created_at)) * 1000 from changes
          where xid >= pg_snapshot_xmin(pg_current_snapshot())), 0)::float8 as "heldMs",
        (${cursor.xid}::xid8, ${cursor.seq}::bigint) >= (pruned_xid, pruned_seq)
          and ${cursor.xid}::xid8 <= pg_snapshot_xmax(pg_current_snapshot()) as covered
      from feed left join lateral (
        select xid, seq, kind, key from changes
        where (xid, seq) > (${cursor.xid}::xid8, ${cursor.seq}::bigint) and xid < pg_snapshot_xmin(pg_current_snapshot())
        order by xid, seq limit ${limit}) c on true`,
  )
  const first = read[0]!
  if (!first.covered || first.epoch !== cursor.epoch) return { kind: 'snapshot-needed' }
  const changes = read.flatMap(({ kind, key }) => (kind === null ? [] : [{ kind, key: key! }]))
  return { changes, heldMs: Math.max(0, first.heldMs), cursor: changes.length < limit ? atEnd(first, cursor) : at(read.at(-1)!) }
}

function at({ epoch, xid, seq }: FeedRow): Cursor {
  return { epoch, xid, seq }
}

// All below `end` has been read, so an idle reader's cursor keeps up with the database and stays ahead of pruning.
function atEnd({ epoch, end }: FeedRow, before: Cursor): Cursor {
  return BigInt(end) > BigInt(before.xid) ? { epoch, xid: end, seq: '0' } : before
}

/** Drops the changes that are older than so many hours and remembers up to where, so that a reader behind that point is told. */
export async function pruneChanges(db: Db, olderThanHours: number): Promise<void> {
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
 * and `onHint` is called each time it stands, since hints may have gone by meanwhile.
 */
export function listenForChanges(db: Db, onHint: () => void): { stop(): Promise<void> } {
  const stopping = new AbortController()
  const running = listenUntil(stopping.signal, db, onHint)
  return {
    stop() {
      stopping.abort()
      return running
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
    await client.query(`listen ${CHANNEL}`)
    stood = true
    onHint()
    const over = AbortSignal.any([stopped, ended.signal])
    while (!over.aborted) {
      await pause(HEARTBEAT_MS, over)
      if (!over.aborted) await client.query(HEARTBEAT) // a connection that died in silence is found out here
    }
  } catch {
    // Whatever it was, the next attempt shows whether it lasts.
  } finally {
    await client.end().catch(() => {})
  }
  return stood ? 'lost' : 'never-stood'
}
