import { readdir, readFile } from 'node:fs/promises'
import { runMigrations } from 'graphile-worker'
import pg from 'pg'
import { type Db, reachable } from './db.ts'

const MIGRATION_LOCK = 5_217_303_601 // any number, as long as every release uses the same
const FILE_NAME = /^\d{4}_[a-z0-9-]+\.sql$/

/**
 * Brings the schema up to the newest file of the folder (`0001_….sql`, in order of name), then installs the job queue's own.
 * Each file runs once, in a transaction of its own. Several machines may call this at the same time: one works, the others wait.
 */
export async function migrate(db: Db, folder: URL): Promise<{ applied: string[] }> {
  const files = (await readdir(folder)).filter((name) => FILE_NAME.test(name)).sort()
  return reachable(() => applyLocked(db, folder, files))
}

async function applyLocked(db: Db, folder: URL, files: string[]): Promise<{ applied: string[] }> {
  const client = new pg.Client(db.connection)
  client.on('error', () => {}) // the statement under way says it too
  try {
    await client.connect()
    await client.query('select pg_advisory_lock($1)', [MIGRATION_LOCK])
    const applied = await applyMissing(client, folder, files)
    await runMigrations({ pgPool: db.pool })
    return { applied }
  } finally {
    await client.end() // releases the lock too
  }
}

async function applyMissing(client: pg.Client, folder: URL, files: string[]): Promise<string[]> {
  await client.query('create table if not exists migrations (name text primary key, applied_at timestamptz not null default now())')
  const { rows } = await client.query<{ name: string }>('select name from migrations')
  const done = new Set(rows.map((row) => row.name))
  const missing = files.filter((name) => !done.has(name))
  for (const name of missing) await apply(client, name, await readFile(new URL(name, folder), 'utf8'))
  return missing
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
