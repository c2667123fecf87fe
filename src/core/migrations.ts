import { readdir, readFile } from 'node:fs/promises'
import { runMigrations } from 'graphile-worker'
import type pg from 'pg'
import { pause } from '../lib/back-off.ts'
import { type Db, reachable } from './db.ts'

const MIGRATION_LOCK = 5_217_303_601 // any number, as long as every release uses the same
const FILE_NAME = /^\d{4}_[a-z0-9-]+\.sql$/
const NUMBERED = /^\d+.*\.sql$/i
const LOCK_TIMEOUT_MS = 2_000 // behind a statement that waits for a table waits every later one, and with them the whole service
const LOCK_PAUSE_MS = 3_000 // those go on meanwhile
const LOCK_PATIENCE_MS = 120_000 // an upgrade gives its successor 300 s
const LOCK_NOT_AVAILABLE = '55P03'

export type Migration = { name: string; text: string }

export type MigrationWaits = {
  /** Told what a migration waits for, once for each. */
  say?(sentence: string): void
  /** For how long a migration is tried again whose tables others hold. */
  patienceMs?: number
}

/** The folder's migrations (`0001_what-it-is.sql`) in order of name. Throws when a numbered file is named otherwise: skipped, it would be missed late. */
export async function readMigrations(folder: URL): Promise<Migration[]> {
  const names = (await readdir(folder)).filter((name) => NUMBERED.test(name)).sort()
  const misnamed = names.find((name) => !FILE_NAME.test(name))
  if (misnamed) throw new Error(`the migration ${misnamed} must be called NNNN_words-with-hyphens.sql`)
  return Promise.all(names.map(async (name) => ({ name, text: await readFile(new URL(name, folder), 'utf8') })))
}

/**
 * Brings the schema up to the last of the migrations, then installs the job queue's own. Each runs once, in a transaction of its own. Several machines may call this at the same time: one works, the others wait.
 * A migration whose tables something long holds, as a dump, lets everybody else go on, and is tried again until that ends or the patience does.
 */
export async function migrate(db: Db, migrations: readonly Migration[], waits: MigrationWaits = {}): Promise<{ applied: string[] }> {
  return reachable(() => applyLocked(db, migrations, waits))
}

async function applyLocked(db: Db, migrations: readonly Migration[], waits: MigrationWaits): Promise<{ applied: string[] }> {
  const client = db.openClient()
  try {
    await client.connect()
    // What was asked by a process that was killed since ends too; a server on a system that cannot tell refuses the setting.
    await client.query(`set client_connection_check_interval = '1s'`).catch(() => {})
    await client.query('select pg_advisory_lock($1)', [MIGRATION_LOCK])
    const applied = await applyMissing(client, migrations, waits)
    await runMigrations({ pgPool: db.pool })
    return { applied }
  } finally {
    await client.end() // releases the lock too
  }
}

async function applyMissing(client: pg.Client, migrations: readonly Migration[], waits: MigrationWaits): Promise<string[]> {
  await client.query('create table if not exists migrations (name text primary key, applied_at timestamptz not null default now())')
  const { rows } = await client.query<{ name: string }>('select name from migrations')
  const done = new Set(rows.map((row) => row.name))
  const missing = migrations.filter(({ name }) => !done.has(name))
  for (const migration of missing) await applyWithPatience(client, migration, waits)
  return missing.map(({ name }) => name)
}

async function applyWithPatience(client: pg.Client, migration: Migration, waits: MigrationWaits): Promise<void> {
  const { say, patienceMs = LOCK_PATIENCE_MS } = waits
  const begun = performance.now()
  for (let tries = 1; ; tries += 1) {
    try {
      return await apply(client, migration)
    } catch (error) {
      await client.query('rollback').catch(() => {}) // the error before says more
      if ((error as { code?: unknown }).code !== LOCK_NOT_AVAILABLE)
        throw new Error(`migration ${migration.name} failed, and nothing of it was kept: ${(error as Error).message}`, { cause: error })
      const holder = await likelyHolder(client)
      if (performance.now() - begun >= patienceMs)
        throw new Error(
          `migration ${migration.name} was not made, and nothing of it was kept: something long holds its tables, as a dump or a report does (${holder}). Let it end, or end it with pg_terminate_backend, then try again`,
          { cause: error },
        )
      if (tries === 1)
        say?.(
          `migration ${migration.name} waits for tables that something long holds, as a dump or a report does (${holder}): trying again every few seconds, and everybody else goes on`,
        )
      await pause(LOCK_PAUSE_MS)
    }
  }
}

async function apply(client: pg.Client, { name, text }: Migration): Promise<void> {
  await client.query('begin')
  await client.query(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`)
  await client.query(text)
  await client.query('insert into migrations (name) values ($1)', [name])
  await client.query('commit')
}

/** Whoever has had a transaction open for longest; a login of few rights is not shown the transactions of others. */
async function likelyHolder(client: pg.Client): Promise<string> {
  const { rows } = await client.query<{ pid: number; name: string; seconds: number }>(
    `select pid, coalesce(nullif(application_name, ''), usename) as name, extract(epoch from clock_timestamp() - xact_start)::int as seconds
     from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and xact_start is not null
     order by xact_start limit 1`,
  )
  const [oldest] = rows
  if (!oldest) return 'pg_stat_activity shows it to an administrator'
  return `the longest open transaction is that of ${oldest.name}, process ${oldest.pid} of the server, ${oldest.seconds} s`
}
