import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { closeDatabase, connectDatabase, type Db } from '../../src/core/db.ts'
import { migrate, readMigrations } from '../../src/core/migrations.ts'
import { administer, sibling } from './postgres-server.ts'

/** What `new Date()` and PostgreSQL's `now()` would say if it were that time. */
export type FakeClock = { now(): Date; set(at: Date): Promise<void> }

export type ClockedDatabase = { db: Db; clock: FakeClock; drop(): Promise<void> }

const MIGRATIONS = new URL('../../sql/', import.meta.url)

// Found before pg_catalog's own, in statements and in the defaults of columns that the migrations make from here on.
const CLOCK = `
  create table fake_clock (at timestamptz not null) with (fillfactor = 10);
  create function now() returns timestamptz language sql stable as 'select at from fake_clock';
  create function transaction_timestamp() returns timestamptz language sql stable as 'select at from fake_clock';
  create function statement_timestamp() returns timestamptz language sql stable as 'select at from fake_clock';
  create function clock_timestamp() returns timestamptz language sql volatile as 'select at from fake_clock';`

/** A migrated database on the server whose every clock is ours. Keywords such as `current_timestamp` would escape it. */
export async function createClockedDatabase(adminUrl: string, startAt: Date, poolMax: number): Promise<ClockedDatabase> {
  const name = `clocked_${randomBytes(6).toString('hex')}`
  await administer(adminUrl, `create database ${name}`)
  await administer(adminUrl, `alter database ${name} set search_path = public, pg_catalog`)
  const url = sibling(adminUrl, name)
  await administer(url, CLOCK)
  const keeper = new pg.Client({ connectionString: url })
  await keeper.connect()
  await keeper.query('insert into fake_clock values ($1)', [startAt])
  const db = connectDatabase(url, { applicationName: 'simulation', poolMax })
  await migrate(db, await readMigrations(MIGRATIONS))
  let now = startAt
  return {
    db,
    clock: {
      now: () => now,
      async set(at) {
        await keeper.query('update fake_clock set at = $1', [at])
        now = at
      },
    },
    async drop() {
      await closeDatabase(db)
      await keeper.end()
      await administer(adminUrl, `drop database ${name} with (force)`)
    },
  }
}
