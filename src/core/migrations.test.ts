import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import pg from 'pg'
import { expect, test } from 'vitest'
import { changesSince, endOfFeed } from '../../test/support/feed.ts'
import { createEmptyDatabase, createTestDatabase } from '../../test/support/postgres.ts'
import { startPostgres } from '../../test/support/postgres-server.ts'
import { dumpSchema } from '../../test/support/schema-dump.ts'
import { addProject, claim } from '../../test/support/tenants.ts'
import { eventually } from '../../test/support/tree.ts'
import { beginIssuance, claimDueRenewals, requestIssuance } from './certificates.ts'
import { closeDatabase, connectDatabase } from './db.ts'
import { removeDomain } from './domains.ts'
import { migrate, readMigrations } from './migrations.ts'
import { claimDueProbes, recordProbes } from './probes.ts'
import { loadRoutes } from './routes.ts'

const FOLDER = new URL('../../sql/', import.meta.url)
const SCHEMA = '../../sql/schema.sql'
const DEBIAN_15 = '/usr/lib/postgresql/15/bin'

test('the numbered files add up to schema.sql', async () => {
  const { db, drop } = await createTestDatabase()
  try {
    await expect(await dumpSchema(db)).toMatchFileSnapshot(SCHEMA)
  } finally {
    await drop()
  }
})

test('machines that start together migrate once, and a second start finds nothing to do', async () => {
  const { db, url, drop } = await createEmptyDatabase()
  const others = Array.from({ length: 3 }, () => connectDatabase(url, { applicationName: 'other' }))
  try {
    const outcomes = await Promise.all([db, ...others].map(async (each) => migrate(each, await readMigrations(FOLDER))))
    const applied = outcomes.flatMap((outcome) => outcome.applied)
    expect(applied[0]).toBe('0001_projects.sql')
    expect(applied).toEqual([...new Set(applied)].sort())
    expect(await migrate(db, await readMigrations(FOLDER))).toEqual({ applied: [] })
  } finally {
    await Promise.all(others.map(closeDatabase))
    await drop()
  }
})

test('a numbered file that is not named as a migration is refused instead of skipped', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'namesake-sql-'))
  try {
    await writeFile(join(folder, '0001_good.sql'), 'select 1;')
    await writeFile(join(folder, 'schema.sql'), 'select 1;')
    expect(await readMigrations(pathToFileURL(`${folder}/`))).toMatchObject([{ name: '0001_good.sql' }])
    await writeFile(join(folder, '0002_not_good.sql'), 'select 1;')
    await expect(readMigrations(pathToFileURL(`${folder}/`))).rejects.toThrow('0002_not_good.sql must be called')
  } finally {
    await rm(folder, { recursive: true })
  }
})

test('a migration that fails leaves nothing behind and says which it was', async () => {
  const { db, drop } = await createEmptyDatabase()
  const folder = await mkdtemp(join(tmpdir(), 'namesake-sql-'))
  try {
    await writeFile(join(folder, '0001_good.sql'), 'create table good (id int);')
    await writeFile(join(folder, '0002_bad.sql'), 'create table half (id int); select nonsense;')
    await expect(migrate(db, await readMigrations(pathToFileURL(`${folder}/`)))).rejects.toThrow(/0002_bad\.sql failed.*nonsense/)
    const { rows } = await db.pool.query(`select to_regclass('good') is not null as good, to_regclass('half') is not null as half`)
    expect(rows).toEqual([{ good: true, half: false }])
    await writeFile(join(folder, '0002_bad.sql'), 'create table half (id int);')
    expect(await migrate(db, await readMigrations(pathToFileURL(`${folder}/`)))).toEqual({ applied: ['0002_bad.sql'] })
  } finally {
    await rm(folder, { recursive: true })
    await drop()
  }
})

test('behind a dump a migration waits alone: other statements go on, and it is made when the dump has ended', async () => {
  const { db, url, drop } = await createEmptyDatabase()
  const first = { name: '0001_first.sql', text: 'create table busy (id int)' }
  const second = { name: '0002_second.sql', text: 'alter table busy add column more int' }
  await migrate(db, [first])
  const dump = new pg.Client({ connectionString: url, application_name: 'pg_dump' })
  await dump.connect()
  try {
    await dump.query('begin; select from busy')
    const said: string[] = []
    const impatient = migrate(db, [first, second], { patienceMs: 0 })
    await expect(impatient).rejects.toThrow(/0002_second\.sql was not made.*a dump.*pg_dump, process \d+.*Let it end/)
    const migrating = migrate(db, [first, second], { say: (sentence) => said.push(sentence) })
    while (said.length === 0) await db.pool.query('select from busy') // which gives up after ten seconds of waiting
    await db.pool.query('select from busy')
    expect(said).toEqual([expect.stringMatching(/^migration 0002_second\.sql waits for tables .*pg_dump/)])
    await dump.query('commit')
    expect(await migrating).toEqual({ applied: ['0002_second.sql'] })
    await db.pool.query('select more from busy')
  } finally {
    await dump.end()
    await drop()
  }
})

test('a migration whose process was killed does not go on waiting at the server', async () => {
  const { db, url, drop } = await createEmptyDatabase()
  const other = connectDatabase(url, { applicationName: 'killed' })
  try {
    let client: pg.Client | undefined
    const killed = { ...other, openClient: () => (client = other.openClient()) }
    const migrating = migrate(killed, [{ name: '0001_slow.sql', text: 'select pg_sleep(60)' }]).catch((error: unknown) => error)
    const isSleeping = async () =>
      (await db.pool.query(`select from pg_stat_activity where application_name = 'killed' and query like '%pg_sleep%'`)).rowCount === 1
    await eventually(isSleeping)
    client!.connection.stream.destroy()
    await eventually(async () => !(await isSleeping()), 10_000)
    await migrating
  } finally {
    await closeDatabase(other)
    await drop()
  }
})

test('a role that merely owns its database can migrate it and use all of it', async () => {
  const { db, url, drop } = await createEmptyDatabase()
  const { rows } = await db.pool.query<{ name: string }>('select current_database() as name')
  const role = `owner_of_${rows[0]!.name}`
  await db.pool.query(`create role ${role} login; alter database ${rows[0]!.name} owner to ${role};`)
  const owner = connectDatabase(url.replace('postgres://postgres@', `postgres://${role}@`), { applicationName: 'owner' })
  try {
    await migrate(owner, await readMigrations(FOLDER))
    await liveThrough(owner)
  } finally {
    await closeDatabase(owner)
    await drop()
  }
})

test.skipIf(!existsSync(DEBIAN_15))('PostgreSQL 15 gets the same schema, and the verbs work on it', async () => {
  const server = await startPostgres({ durable: false, binDir: DEBIAN_15 })
  const db = connectDatabase(server.adminUrl, { applicationName: 'test' })
  try {
    await migrate(db, await readMigrations(FOLDER))
    await expect(await dumpSchema(db)).toMatchFileSnapshot(SCHEMA)
    await liveThrough(db)
  } finally {
    await closeDatabase(db)
    await server.stop()
  }
})

/** One claim's life: registered, checked, verified, its certificate begun, removed. */
async function liveThrough(db: Parameters<typeof claim>[0]): Promise<void> {
  const start = await endOfFeed(db)
  const project = await addProject(db)
  const hostname = await claim(db, project)
  const [probe] = await claimDueProbes(db, { line: 'answered', limit: 10, leaseS: 60 })
  const report = {
    state: 'verified' as const,
    sentence: 'Yes.',
    expected: [],
    found: [],
    warnings: [],
    checkedAt: '2026-01-01T00:00:00.000Z',
  }
  expect(await recordProbes(db, [{ probe: probe!, report, nextProbeInS: 300 }])).toEqual([hostname])
  expect(await loadRoutes(db, [hostname])).toMatchObject([{ hostname, verified: true }])
  expect(await requestIssuance(db, hostname)).toEqual({ kind: 'requested' })
  expect(await beginIssuance(db, hostname)).toMatchObject({ kind: 'go' })
  expect(await claimDueRenewals(db, 10)).toEqual([])
  await removeDomain(db, project, hostname)
  expect(await changesSince(db, start)).toMatchObject([{}, {}, {}, { kind: 'host' }, { kind: 'certificate' }])
}
