import { afterAll, beforeAll, expect, test } from 'vitest'
import { currentCursor, readChanges, recordChange } from '../src/core/changes.ts'
import { closeDatabase, connectDatabase, type Db } from '../src/core/db.ts'
import { beatFeed } from '../src/core/feed-beats.ts'
import { migrate, readMigrations } from '../src/core/migrations.ts'
import { type PostgresPair, startPostgresPair } from './support/postgres-pair.ts'
import { administer } from './support/postgres-server.ts'
import { eventually } from './support/tree.ts'

const ROLLED_BACK = 10
const CLAIMED = 2 * ROLLED_BACK
const TRIES_MAX = 10

let pair: PostgresPair
let db: Db

beforeAll(async () => {
  pair = await startPostgresPair('crash')
  await administer(pair.primary.adminUrl, `alter system set wal_writer_delay = '10s'`) // else half a second in which all must be done
  await restart()
  await migrate(db, await readMigrations(new URL('../sql/', import.meta.url)))
  await beatFeed(db)
})

afterAll(async () => {
  if (db) await closeDatabase(db)
  await pair?.stop()
})

/**
 * With connections of its own behind it, as those from before are found dead one by one, and once the WAL writer rests: as the first thing it does it
 * writes all that there is.
 */
async function restart(): Promise<void> {
  if (db) await closeDatabase(db)
  await pair.primary.kill()
  await pair.primary.start()
  db = connectDatabase(pair.primary.url, { applicationName: 'test' })
  const resting = `select from pg_stat_activity where backend_type = 'walwriter' and wait_event = 'WalWriterMain'`
  await eventually(async () => (await db.pool.query(resting)).rowCount === 1, 30_000)
}

/** What a reader sees whose cursor is from just before a crash, if that has the server give away again the numbers of what was rolled back. */
async function followOverCrash(name: string): Promise<{ wanted: string[]; seen: string[] } | undefined> {
  await recordChange(db, { kind: 'host', key: `${name} before` })
  const numbers: bigint[] = []
  for (let n = 0; n < ROLLED_BACK; n += 1) {
    const answers = (await db.pool.query('begin; select pg_current_xact_id()::text as xid; rollback')) as unknown as {
      rows: { xid: string }[]
    }[]
    numbers.push(BigInt(answers[1]!.rows[0]!.xid))
  }
  const cursor = await currentCursor(db)
  await restart()
  const wanted = Array.from({ length: CLAIMED }, (_, n) => `${name} ${n}`)
  for (const key of wanted) await recordChange(db, { kind: 'host', key })
  const { rows } = await db.pool.query<{ xid: string }>('select xid::text from changes where key = $1', [wanted[0]])
  if (BigInt(rows[0]!.xid) > numbers.at(-1)!) return undefined
  const read = await readChanges(db, cursor, 100)
  if (!('changes' in read)) return { wanted, seen: wanted } // all is read anew
  return { wanted, seen: read.changes.map(({ key }) => key) }
}

test('a reader that began just before a crash misses nothing of transactions whose numbers are given away again', async () => {
  let outcome: Awaited<ReturnType<typeof followOverCrash>>
  for (let attempt = 1; !outcome && attempt <= TRIES_MAX; attempt += 1) outcome = await followOverCrash(`try-${attempt}`)
  expect(outcome, 'the server gave no number away again').toBeDefined()
  expect(outcome!.seen).toEqual(outcome!.wanted)
})
