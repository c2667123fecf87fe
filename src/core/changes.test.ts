import { afterAll, beforeAll, expect, test } from 'vitest'
import { endOfFeed } from '../../test/support/feed.ts'
import { createTestDatabase, type TestDatabase } from '../../test/support/postgres.ts'
import {
  type Cursor,
  compactChanges,
  createAnnouncer,
  currentCursor,
  listenForChanges,
  pruneChanges,
  readChanges,
  recordChange,
} from './changes.ts'
import { type Db, transaction } from './db.ts'
import { beatFeed } from './feed-beats.ts'

let database: TestDatabase
let db: Db
beforeAll(async () => {
  database = await createTestDatabase()
  db = database.db
})
afterAll(() => database.drop())

const record = (key: string) => recordChange(db, { kind: 'host', key })

/** Reads to the end and returns the hostnames and the cursor there. */
async function follow(from: Cursor, limit = 100): Promise<{ keys: string[]; cursor: Cursor }> {
  const keys: string[] = []
  for (let cursor = from; ; ) {
    const read = await readChanges(db, cursor, limit)
    if (!('changes' in read)) throw new Error('a snapshot is needed')
    keys.push(...read.changes.filter(({ kind }) => kind === 'host').map(({ key }) => key))
    cursor = read.cursor
    if (read.changes.length < limit) return { keys, cursor }
  }
}

test('a reader gets every change once, in pages of any size', async () => {
  const start = await endOfFeed(db)
  const keys = Array.from({ length: 7 }, (_, i) => `page-${i}`)
  for (const key of keys) await record(key)
  await endOfFeed(db)
  for (const limit of [1, 2, 7, 100]) expect((await follow(start, limit)).keys).toEqual(keys)
  expect((await follow((await follow(start)).cursor)).keys).toEqual([])
})

test('a transaction that began early and commits late is not lost', async () => {
  const start = await endOfFeed(db)
  let seenMeanwhile: Awaited<ReturnType<typeof follow>> | undefined
  await transaction(db, async (tx) => {
    await recordChange(tx, { kind: 'host', key: 'slow' })
    await record('fast')
    seenMeanwhile = await follow(start)
  })
  expect(seenMeanwhile!.keys).toEqual([])
  await record('after')
  await endOfFeed(db)
  expect((await follow(seenMeanwhile!.cursor)).keys).toEqual(['slow', 'fast', 'after'])
})

test('a reader learns for how long committed changes are held back by a transaction that still runs', async () => {
  const start = await endOfFeed(db)
  await transaction(db, async (tx) => {
    await recordChange(tx, { kind: 'host', key: 'slow' })
    await record('held')
    await db.pool.query('select pg_sleep(0.05)')
    expect(await readChanges(db, start, 10)).toMatchObject({ changes: [], heldMs: expect.toSatisfy((ms: number) => ms >= 50) })
  })
  await endOfFeed(db)
  expect(await readChanges(db, start, 10)).toMatchObject({ heldMs: 0 })
})

test('what a restored database holds from a future that is not its own is not waited for', async () => {
  const start = await endOfFeed(db)
  await record('of the lost server')
  await db.pool.query(
    `update changes set xid = '9000000000000000000', created_at = now() - interval '1 hour' where key = 'of the lost server'`,
  )
  expect(await readChanges(db, start, 10)).toMatchObject({ changes: [], heldMs: 0 })
  await db.pool.query(`delete from changes where key = 'of the lost server'`)
})

test('under parallel writers with long and short transactions a reader misses nothing and repeats nothing', async () => {
  const start = await endOfFeed(db)
  let writing = true
  const writer = async (name: number) => {
    for (let i = 0; i < 25; i += 1) {
      await transaction(db, async (tx) => {
        await recordChange(tx, { kind: 'host', key: `${name}-${i}-a` })
        if (i % 3 === name % 3) await db.pool.query('select pg_sleep(0.003)')
        await recordChange(tx, { kind: 'host', key: `${name}-${i}-b` })
      })
    }
  }
  const writers = Promise.all([0, 1, 2, 3].map(writer)).finally(() => {
    writing = false
  })
  const seen: string[] = []
  let at = { keys: [] as string[], cursor: start }
  while (writing) {
    at = await follow(at.cursor, 10)
    seen.push(...at.keys)
  }
  await writers
  await endOfFeed(db)
  seen.push(...(await follow(at.cursor)).keys)
  expect(seen).toHaveLength(200)
  expect(new Set(seen).size).toBe(200)
})

test('a reader that is behind what was pruned takes a snapshot; one at the end goes on', async () => {
  const start = await endOfFeed(db)
  await record('old')
  await endOfFeed(db)
  const middle = (await follow(start)).cursor
  await pruneChanges(db, 1)
  expect((await follow(start)).keys).toEqual(['old'])
  await db.pool.query(`update changes set created_at = created_at - interval '2 hours'`)
  await pruneChanges(db, 1)
  expect(await readChanges(db, start, 10)).toEqual({ kind: 'snapshot-needed' })
  await record('new')
  await endOfFeed(db)
  expect((await follow(middle)).keys).toEqual(['new'])
})

test('a restored database has been pruned up to nowhere yet, whatever the server had said that it comes from', async () => {
  const { rows: now } = await db.pool.query<{ future: string }>(
    `select (pg_snapshot_xmax(pg_current_snapshot())::text::bigint + 50)::text as future`,
  )
  await db.pool.query('update feed set pruned_xid = $1::xid8, pruned_seq = 7', [now[0]!.future])
  const start = await endOfFeed(db)
  await record('first')
  await endOfFeed(db)
  expect((await follow(start)).keys).toEqual(['first'])
  await pruneChanges(db, 1)
  for (let i = 0; i < 60; i += 1) await record(`later-${i}`) // beyond the number that the other server had reached
  await endOfFeed(db)
  expect((await follow(start)).keys).toHaveLength(61)
})

test('of a key that changed a thousand times one change is left, for a reader that slept and one that was in the middle', async () => {
  const start = await endOfFeed(db)
  for (let i = 0; i < 1_000; i += 1) await record('restless')
  await record('quiet')
  await endOfFeed(db)
  const middle = await readChanges(db, start, 500)
  if (!('changes' in middle)) throw new Error('a snapshot is needed')
  expect(await compactChanges(db)).toBe(0) // a minute's changes stay
  await db.pool.query(`update changes set created_at = created_at - interval '2 minutes'`)
  expect(await compactChanges(db)).toBeGreaterThanOrEqual(999)
  for (const cursor of [start, middle.cursor]) expect((await follow(cursor)).keys).toEqual(['restless', 'quiet'])
  await record('restless')
  await endOfFeed(db)
  expect((await follow(start)).keys).toEqual(['restless', 'quiet', 'restless'])
})

test('compaction leaves what a transaction that still runs holds back', async () => {
  const start = await endOfFeed(db)
  await transaction(db, async (tx) => {
    await recordChange(tx, { kind: 'host', key: 'twice' })
    await record('twice')
    await db.pool.query(`update changes set created_at = created_at - interval '2 minutes'`)
    await compactChanges(db)
  })
  await endOfFeed(db)
  expect((await follow(start)).keys).toEqual(['twice', 'twice'])
})

test('a cursor of another database, or from the future of a restored one, takes a snapshot', async () => {
  const cursor = await currentCursor(db)
  expect(await readChanges(db, { ...cursor, epoch: `${cursor.epoch}0` }, 10)).toEqual({ kind: 'snapshot-needed' })
  expect(await readChanges(db, { ...cursor, xid: `${BigInt(cursor.xid) + 1_000_000n}` }, 10)).toEqual({ kind: 'snapshot-needed' })
  const other = await createTestDatabase()
  try {
    expect((await currentCursor(other.db)).epoch).not.toBe(cursor.epoch)
  } finally {
    await other.drop()
  }
})

test('a server that was put back to an earlier state is known by the mark that it has forgotten', async () => {
  await beatFeed(db)
  const { mark, ...place } = await currentCursor(db)
  expect(mark).toBeDefined()
  expect(await readChanges(db, { ...place, mark }, 1)).toHaveProperty('changes')
  expect(await readChanges(db, { ...place, mark: '1000:of-a-future-that-was-undone' }, 1)).toEqual({ kind: 'snapshot-needed' })
  const since = `${Date.now()}:of-a-future-that-was-undone-while-the-server-went-on`
  expect(await readChanges(db, { ...place, mark: since }, 1)).toEqual({ kind: 'snapshot-needed' })
})

test('marks are kept as long as changes are, and the last ones outlive any time without workers', async () => {
  const giveMarks = (count: number, hoursAgo: number) =>
    db.pool.query(
      `insert into feed_marks (mark)
      select floor(extract(epoch from now() - make_interval(hours => $2)) * 1000)::bigint || ':' || gen_random_uuid() from generate_series(1, $1)`,
      [count, hoursAgo],
    )
  const kept = async () => Number((await db.pool.query('select count(*) from feed_marks')).rows[0].count)
  await db.pool.query('delete from feed_marks')
  await giveMarks(800, 50)
  await pruneChanges(db, 48)
  expect(await kept()).toBe(600)
  await giveMarks(800, 47)
  await pruneChanges(db, 48)
  expect(await kept()).toBe(800)
})

test('an announcement reaches who listens, many of them in one hint, also after the connection was cut', async () => {
  let hints = 0
  let wake = () => {}
  const hinted = (count: number) =>
    new Promise<void>((resolve) => {
      wake = () => hints >= count && resolve()
      wake()
    })
  const listener = listenForChanges(db, () => {
    hints += 1
    wake()
  })
  const announcer = createAnnouncer(db)
  try {
    await hinted(1)
    for (let i = 0; i < 1_000; i += 1) announcer.announce(`host-${i}.customer.test`)
    await hinted(2)
    await db.pool.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and query like 'listen%'`,
    )
    await hinted(3)
    announcer.announce('again.customer.test')
    await announcer.close()
    await hinted(4)
    expect(hints).toBe(4)
  } finally {
    await listener.stop()
  }
})
