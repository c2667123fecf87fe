import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Change, type Cursor, currentCursor, readChanges, recordChange } from '../../src/core/changes.ts'
import type { Db } from '../../src/core/db.ts'

const SETTLE_TIMEOUT_MS = 10_000
const POLL_MS = 5

/** A cursor behind everything that has been committed so far. */
export async function endOfFeed(db: Db): Promise<Cursor> {
  return (await readToMarker(db, await currentCursor(db))).cursor
}

/** The changes between the cursor and now, the markers of this file left out. */
export async function changesSince(db: Db, cursor: Cursor): Promise<Change[]> {
  return (await readToMarker(db, cursor)).changes.filter(({ key }) => !key.startsWith('marker-'))
}

// The feed waits for the oldest open transaction of the whole server, and other test files have theirs: what was committed a moment ago may
// take a moment to be readable. A marker of our own, written now, shows when it is.
async function readToMarker(db: Db, from: Cursor): Promise<{ changes: Change[]; cursor: Cursor }> {
  const marker = `marker-${randomUUID()}`
  await recordChange(db, { kind: 'setting', key: marker })
  const deadline = AbortSignal.timeout(SETTLE_TIMEOUT_MS)
  const changes: Change[] = []
  for (let cursor = from; !deadline.aborted; await sleep(POLL_MS)) {
    const read = await readChanges(db, cursor, 1_000)
    if (!('changes' in read)) throw new Error('a snapshot is needed')
    changes.push(...read.changes)
    cursor = read.cursor
    if (changes.some(({ key }) => key === marker)) return { changes, cursor }
  }
  throw new Error('the feed did not settle: is a transaction left open?')
}

/** The place of a reader who has seen all that is committed, also where other test files hold their transactions open on the same server. */
export async function placeAfterAll(db: Db): Promise<Cursor> {
  const { rows } = await db.pool.query<{ xid: string }>('select pg_snapshot_xmax(pg_current_snapshot())::text as xid')
  return { ...(await currentCursor(db)), xid: rows[0]!.xid }
}
