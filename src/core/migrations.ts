import { readdir, readFile } from 'node:fs/promises'
import { runMigrations } from 'graphile-worker'
import type pg from 'pg'
import { type Db, reachable } from './db.ts'

const MIGRATION_LOCK = 5_217_303_601 // any number, as long as every release uses the same
const FILE_NAME = /^\d{4}_[a-z0-9-]+\.sql$/
const NUMBERED = /^\d+.*\.sql$/i

export type Migration = { name: string; text: string }

/** The folder's migrations (`0001_what-it-is.sql`) in order of name. Throws when a numbered file is named otherwise: skipped, it would be missed late. */
export async function readMigrations(folder: URL): Promise<Migration[]> {
  const names = (await readdir(folder)).filter((name) => NUMBERED.test(name)).sort()
  const misnamed = names.find((name) => !FILE_NAME.test(name))
  if (misnamed) throw new Error(`the migration ${misnamed} must be called NNNN_words-with-hyphens.sql`)
  return Promise.all(names.map(async (name) => ({ name, text: await readFile(new URL(name, folder), 'utf8') })))
}

/**
 * Brings the schema up to the last of the migrations, then installs the job queue's own. Each runs once, in a transaction of its own. Several machines may call this at the same time: one works, the others wait.
 */
export async function migrate(db: Db, migrations: readonly Migration[]): Promise<{ applied: string[] }> {
  return reachable(() => applyLocked(db, migrations))
}

async function applyLocked(db: Db, migrations: readonly Migration[]): Promise<{ applied: string[] }> {
  const client = db.openClient()
  client.on('error', () => {}) // the statement under way says it too
  try {
    await client.connect()
    await client.query('select pg_advisory_lock($1)', [MIGRATION_LOCK])
    const applied = await applyMissing(client, migrations)
    await runMigrations({ pgPool: db.pool })
    return { applied }
  } finally {
    await client.end() // releases the lock too
  }
}

async function applyMissing(client: pg.Client, migrations: readonly Migration[]): Promise<string[]> {
  await client.query('create table if not exists migrations (name text primary key, applied_at timestamptz not null default now())')
  const { rows } = await client.query<{ name: string }>('select name from migrations')
  const done = new Set(rows.map((row) => row.name))
  const missing = migrations.filter(({ name }) => !done.has(name))
  for (const { name, text } of missing) await apply(client, name, text)
  return missing.map(({ name }) => name)
}

async function apply(client: pg.Client, name: string, text: string): Promise<void> {
  try {
    await client.query('begin')
    await client.query(text)
    await client.query('insert into migrations (name) values ($1)', [name])
    await client.query('commit')
  } catch (error) {
    throw new Error(`migration ${name} failed, and nothing of it was kept: ${(error as Error).message}`, { cause: error })
  }
}
