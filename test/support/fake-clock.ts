import { randomBytes } from 'node:crypto'
import type pg from 'pg'
import { closeDatabase, connectDatabase, type Db } from '../../src/core/db.ts'
import { migrate, readMigrations } from '../../src/core/migrations.ts'
import { administer, sibling } from './postgres-server.ts'

/** What `new Date()` and PostgreSQL's `now()` would say if it were that time. */
export type FakeClock = { now(): Date; set(at: Date): void }

/** `connect` opens one more pool on it, under the same clock; whoever opens it closes it. */
export type ClockedDatabase = { db: Db; clock: FakeClock; connect(poolMax: number): Db; drop(): Promise<void> }

const MIGRATIONS = new URL('../../sql/', import.meta.url)

// Found before pg_catalog's own, in statements and in the defaults of columns that the migrations make from here on. One expression each, which
// the planner puts in the place of the call.
const CLOCK = ['now', 'transaction_timestamp', 'statement_timestamp', 'clock_timestamp']
  .map(
    (name) => `create function ${name}() returns timestamptz language sql stable as $$ select current_setting('fake.now')::timestamptz $$;`,
  )
  .join('')

/** A migrated database on the server whose every clock is ours. Keywords such as `current_timestamp` would escape it. */
export async function createClockedDatabase(adminUrl: string, startAt: Date, poolMax: number): Promise<ClockedDatabase> {
  const name = `clocked_${randomBytes(6).toString('hex')}`
  await administer(adminUrl, `create database ${name}`)
  await administer(adminUrl, `alter database ${name} set search_path = public, pg_catalog`)
  await administer(adminUrl, `alter database ${name} set fake.now = '${startAt.toISOString()}'`)
  const url = sibling(adminUrl, name)
  await administer(url, CLOCK)
  let now = startAt
  const connect = (connectionsMax: number) => {
    const db = connectDatabase(url, { applicationName: 'simulation', poolMax: connectionsMax })
    setBeforeUse(db.pool, () => now)
    return db
  }
  const db = connect(poolMax)
  await migrate(db, await readMigrations(MIGRATIONS))
  return {
    db,
    connect,
    clock: {
      now: () => now,
      set(at) {
        now = at
      },
    },
    async drop() {
      await closeDatabase(db)
      await administer(adminUrl, `drop database ${name} with (force)`)
    },
  }
}

type Taken = (error: Error | undefined, client?: pg.PoolClient, release?: pg.PoolClient['release']) => void

/** Whoever takes a connection from the pool finds its clock right. */
function setBeforeUse(pool: pg.Pool, now: () => Date): void {
  const shown = new WeakMap<pg.PoolClient, Date>()
  const connect = pool.connect.bind(pool) as () => Promise<pg.PoolClient>
  const connectInTime = async () => {
    const client = await connect()
    const at = now()
    try {
      if (shown.get(client) !== at) await client.query(`set fake.now = '${at.toISOString()}'`)
    } catch (error) {
      client.release(true)
      throw error
    }
    shown.set(client, at)
    return client
  }
  pool.connect = ((taken?: Taken) => {
    if (!taken) return connectInTime()
    connectInTime().then(
      (client) => taken(undefined, client, client.release.bind(client)),
      (error) => taken(error),
    )
  }) as typeof pool.connect
}
