import { randomBytes, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from '../../test/support/postgres.ts'
import { addProject, claim } from '../../test/support/tenants.ts'
import { requestIssuance } from './certificates.ts'
import { loadTlsAlpnChallenges } from './challenges.ts'
import { currentCursor, readChanges } from './changes.ts'
import { closeDatabase, connectDatabase, type Db } from './db.ts'
import { prepareEdgeRole, readSchemaState } from './edge-role.ts'
import { beatEdge } from './edges.ts'
import { migrate, readMigrations } from './migrations.ts'
import { probeSoon } from './probes.ts'
import { eachCertificatePage, eachRoutePage, loadCertificates, loadRouteRows, loadRoutes } from './routes.ts'
import { readEdgeSetting, writeSettingOnce } from './settings.ts'

const MIGRATIONS = await readMigrations(new URL('../../sql/', import.meta.url))
const REFUSED = { code: '42501' }
const READ = [
  'certificates',
  'challenges',
  'changes',
  'domains',
  'edges',
  'feed',
  'feed_beats',
  'feed_marks',
  'migrations',
  'probes',
  'projects',
]
const WRITTEN = ['edges']
const login = `edge_${randomBytes(6).toString('hex')}`

let database: TestDatabase
let edge: Db

beforeAll(async () => {
  database = await createTestDatabase()
  await prepareEdgeRole(database.db)
  await database.db.pool.query(`create role ${login} login in role namesake_edge`)
  edge = loginTo(database.url, login)
})

afterAll(async () => {
  await closeDatabase(edge)
  await database.drop()
})

test('the login of an edge machine does all that the follower does', async () => {
  const { db } = database
  const before = await currentCursor(edge)
  const project = await addProject(db)
  const hostname = await claim(db, project)
  await writeSettingOnce(db, 'thumbprint', Buffer.from('print'))
  const news = await readChanges(edge, before, 10)
  expect('kind' in news ? news : news.changes).toContainEqual({ kind: 'host', key: hostname })
  const reading = { metadata: false }
  expect(await loadRoutes(edge, [hostname], reading)).toMatchObject([{ hostname, metadataJson: '{}' }])
  for await (const page of eachRoutePage(edge, 10, reading)) expect(page).toHaveLength(1)
  expect(await loadCertificates(edge, [hostname])).toEqual([])
  for await (const page of eachCertificatePage(edge, 10)) expect(page).toEqual([])
  expect(await loadRouteRows(edge, [hostname], { metadata: false })).toMatchObject([{ hostname, projectId: project.id }])
  expect(await loadTlsAlpnChallenges(edge)).toEqual([])
  expect(await readEdgeSetting(edge, 'thumbprint')).toEqual(Buffer.from('print'))
  await probeSoon(edge, hostname)
  expect(await requestIssuance(edge, hostname)).toEqual({ kind: 'requested' })
  const { rows } = await db.pool.query('select key, max_attempts from graphile_worker.jobs where key = $1', [`issue:${hostname}`])
  expect(rows).toEqual([{ key: `issue:${hostname}`, max_attempts: 3 }])
  const place = await currentCursor(edge)
  const state = { behindMs: 0, runsForMs: 0, place, routes: 1, certificates: 0, connections: 0, load: 0 }
  const beat = { id: randomUUID(), name: 'edge', address: undefined, version: '1', ...state }
  await beatEdge(edge, beat)
  await beatEdge(edge, { ...beat, routes: 2 })
  expect(await readSchemaState(edge, MIGRATIONS)).toEqual({ kind: 'stands' })
})

test('every table but those that it reads refuses it everything, also the tables of the job queue and of later releases', async () => {
  await database.db.pool.query('create table of_a_later_release (one int)')
  const { rows: tables } = await database.db.pool.query<{ name: string; schema: string }>(
    `select relname as name, relnamespace::regnamespace::text as schema from pg_class
     where relkind in ('r', 'p', 'v', 'm', 'f') and relnamespace::regnamespace::text !~ '^pg_|^information_schema$'`,
  )
  expect(tables.length).toBeGreaterThan(25)
  for (const { name, schema } of tables) {
    const mayRead = schema === 'public' && READ.includes(name)
    const mayWrite = schema === 'public' && WRITTEN.includes(name)
    const statements = [
      ...(mayRead ? [] : [`select 1 from ${schema}.${name}`]),
      ...(mayWrite ? [] : [`insert into ${schema}.${name} default values`]),
      `delete from ${schema}.${name}`,
      `truncate ${schema}.${name}`,
    ]
    for (const statement of statements) await expect(edge.pool.query(statement), statement).rejects.toMatchObject(REFUSED)
    const { rows: columns } = await database.db.pool.query<{ name: string }>(
      `select attname as name from pg_attribute where attrelid = $1::regclass and attnum > 0 and not attisdropped
         and has_column_privilege($2, attrelid, attnum, 'update')`,
      [`${schema}.${name}`, login],
    )
    expect(mayWrite ? [] : columns).toEqual([])
  }
})

test('it reads no key of an account or of the local authority, no token, no member, no mail, no session and no metadata', async () => {
  await writeSettingOnce(database.db, 'account-key', Buffer.from('sealed'))
  await writeSettingOnce(database.db, 'local-ca', Buffer.from('sealed'))
  expect(await readEdgeSetting(edge, 'account-key')).toBeUndefined()
  expect(await readEdgeSetting(edge, 'local-ca')).toBeUndefined()
  for (const statement of [
    'select value from settings',
    'select hash from tokens',
    'select email from members',
    'select email from sign_in_links',
    'select hash from sessions',
    'select body_text from kept_mails',
    'select sealed_key from orders_under_way',
    'select metadata from domains',
    'select proof from projects',
    'select * from graphile_worker._private_jobs',
    `select graphile_worker.add_job('mail', '{}')`,
  ])
    await expect(edge.pool.query(statement), statement).rejects.toMatchObject(REFUSED)
})

test('it has no job queued for a hostname that nobody claimed, whatever it puts before the tables of ours', async () => {
  const client = await edge.pool.connect()
  try {
    await client.query('create temporary table domains (hostname text, deleted_at timestamptz)')
    await client.query(`insert into pg_temp.domains values ('nobodys.customer.com', null)`)
    await client.query(`select ask_for_certificate('nobodys.customer.com')`)
  } finally {
    client.release()
  }
  const { rows } = await database.db.pool.query(`select 1 from graphile_worker.jobs where key = 'issue:nobodys.customer.com'`)
  expect(rows).toEqual([])
})

test('databases of one cluster that are set up at once do not fight over the group, nor does one with itself', async () => {
  const other = await createTestDatabase()
  try {
    const outcomes = await Promise.all([database.db, other.db, other.db, database.db].map(prepareEdgeRole))
    expect(outcomes).toEqual(Array.from({ length: 4 }, () => ({ kind: 'ready' })))
  } finally {
    await other.drop()
  }
})

test('on an empty database it waits for the schema, and on one without its grants it says what to grant', async () => {
  const empty = await createEmptyDatabase()
  const stranger = loginTo(empty.url, login)
  try {
    expect(await readSchemaState(stranger, MIGRATIONS)).toMatchObject({ kind: 'behind' })
    await migrate(empty.db, MIGRATIONS)
    expect(await readSchemaState(stranger, MIGRATIONS)).toMatchObject({ kind: 'forbidden', sentence: expect.stringContaining('grant') })
    await prepareEdgeRole(empty.db)
    expect(await readSchemaState(stranger, MIGRATIONS)).toEqual({ kind: 'stands' })
    expect(await readSchemaState(stranger, [...MIGRATIONS, { name: '9999_later.sql', text: '' }])).toMatchObject({ kind: 'behind' })
  } finally {
    await closeDatabase(stranger)
    await empty.drop()
  }
})

test('an owner that may create no roles migrates all the same, and grants once somebody else has made the group', async () => {
  const { db, url, drop } = await createEmptyDatabase()
  const { rows } = await db.pool.query<{ name: string }>('select current_database() as name')
  const name = `owner_${login}`
  await db.pool.query(`create role ${name} login; alter database ${rows[0]!.name} owner to ${name}`)
  const owner = loginTo(url, name)
  try {
    await migrate(owner, MIGRATIONS)
    expect(await prepareEdgeRole(owner)).toEqual({ kind: 'ready' }) // the test before has made it
  } finally {
    await closeDatabase(owner)
    await drop()
    await database.db.pool.query(`drop role ${name}`)
  }
})

function loginTo(url: string, name: string): Db {
  return connectDatabase(url.replace('postgres://postgres@', `postgres://${name}@`), { applicationName: 'edge machine', poolMax: 3 })
}
