import { sql } from 'kysely'
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { createTestDatabase } from '../../test/support/postgres.ts'
import { CLAIM_RULES, PROJECT_RULES } from '../../test/support/tenants.ts'
import { presentChallenge, withdrawChallenge } from '../core/challenges.ts'
import { createAnnouncer, recordChange } from '../core/changes.ts'
import { closeDatabase, connectDatabase, type Db, rows, transaction } from '../core/db.ts'
import { registerDomain, removeDomain } from '../core/domains.ts'
import { createProject, deleteProject, type Project, updateProject } from '../core/projects.ts'
import { loadRoutes } from '../core/routes.ts'
import { writeSetting } from '../core/settings.ts'
import { parseHostname } from '../hostname.ts'
import { databaseSource } from '../roles/database-source.ts'
import { connectFollower } from '../roles/follower-databases.ts'
import { temporaryFolder } from './copy.fixture.ts'
import { type CopyReader, openCopyReader } from './copy-reader.ts'
import { openCopyWriter } from './copy-writer.ts'
import { createFollower, type Follower } from './follower.ts'

let database: Awaited<ReturnType<typeof createTestDatabase>>
let db: Db
let projects = 0
let project: Project
let reader: CopyReader
let follower: Follower
let end: () => Promise<void>

beforeAll(async () => {
  database = await createTestDatabase()
  db = database.db
})
afterAll(() => database.drop())

beforeEach(async () => {
  projects += 1
  project = await createProject(
    db,
    { name: `Project ${projects}`, upstreamUrl: 'https://one.example.com', plan: 'unlimited' },
    PROJECT_RULES,
  )
  const place = temporaryFolder()
  const writer = openCopyWriter(place.path)
  reader = openCopyReader(place.path)
  follower = createFollower({
    source: databaseSource(db),
    writer,
    settingNames: ['thumbprint'],
    log: pino({ level: 'silent' }),
    now: Date.now,
  })
  follower.start()
  end = async () => {
    await follower.stop()
    reader.close()
    writer.close()
    place.remove()
  }
  await expect.poll(() => follower.status().complete).toBe(true)
})
afterEach(() => end())

const named = (number: number) => parseHostname(`shop${number}.p${projects}.example.org`)
const claim = (number: number) => registerDomain(db, project, { hostname: named(number), metadataJson: '{"n":1}' }, CLAIM_RULES)
const routed = (count: number) => Array.from({ length: count }, (_, number) => reader.findRoute(named(number))).filter((route) => route)

test('each connection to a feed of its own counts as another server, which may be a standby that is behind', async () => {
  const feed = connectDatabase(database.url, { applicationName: 'feed', poolMax: 1 })
  try {
    const source = databaseSource(db, { feed })
    await source.currentCursor()
    const before = source.server!()
    await source.currentCursor()
    expect(source.server!()).toBe(before)
    await db.pool.query(`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'feed'`)
    await vi.waitFor(() => source.currentCursor(), { timeout: 10_000 })
    expect(source.server!()).toBe(before + 1)
  } finally {
    await closeDatabase(feed)
  }
})

test('claims made by many transactions at once all reach the copy', async () => {
  const announcer = createAnnouncer(db)
  await Promise.all(
    Array.from({ length: 400 }, async (_, number) => {
      await claim(number)
      announcer.announce(named(number))
    }),
  )
  await announcer.close()
  await expect.poll(() => routed(400).length).toBe(400)
  expect(routed(1)).toEqual(await loadRoutes(db, [named(0)]))
  expect(follower.report().snapshots).toBe(1)
})

test('a claim whose transaction began first and commits last is not passed over', async () => {
  const slow = db.openClient()
  await slow.connect()
  await slow.query('begin')
  await slow.query("insert into domains (hostname, project_id, metadata) values ($1, $2, '{}')", [named(0), project.id])
  await slow.query("insert into changes (kind, key) values ('host', $1)", [named(0)])
  await Promise.all(Array.from({ length: 50 }, (_, number) => claim(number + 1)))
  const before = follower.status().asOfMs
  await expect.poll(() => follower.status().asOfMs).toBeGreaterThan(before)
  await slow.query('commit')
  await slow.end()
  await expect.poll(() => routed(51).length).toBe(51)
})

test('removals, changed projects and settings reach the copy', async () => {
  await Promise.all(Array.from({ length: 5 }, (_, number) => claim(number)))
  await expect.poll(() => routed(5).length).toBe(5)
  await removeDomain(db, project, named(0))
  await updateProject(db, project.slug, { upstreamUrl: 'https://two.example.com' }, PROJECT_RULES)
  await writeSetting(db, 'thumbprint', Buffer.from(`of ${projects}`))
  await expect.poll(() => reader.findSetting('thumbprint')?.toString()).toBe(`of ${projects}`)
  expect(reader.findRoute(named(0))).toBeUndefined()
  for (let number = 1; number < 5; number += 1) expect(reader.findRoute(named(number))?.upstreamUrl).toBe('https://two.example.com')
})

test('how a project’s pages look reaches the copy once a project, by the feed and by a snapshot, and goes with it', async () => {
  const inCopy = () => reader.findBrand(project.id)
  await expect.poll(inCopy).toMatchObject({ name: `Project ${projects}`, errorPage: null })
  await updateProject(db, project.slug, { brand: { color: '#1a56c4' }, errorPage: '<p>Back soon</p>' }, PROJECT_RULES)
  await expect.poll(inCopy).toMatchObject({ color: '#1a56c4', errorPage: '<p>Back soon</p>' })
  await deleteProject(db, project)
  await expect.poll(inCopy).toBeUndefined()
})

test('a TLS-ALPN-01 challenge reaches the copy while it is pending, and one of DNS never does', async () => {
  const challenge = (type: 'tls-alpn-01' | 'dns-01', value: string) => ({ type, key: named(0), value })
  const inCopy = () => reader.readChallenges()!.filter(({ hostname }) => hostname === named(0))
  await presentChallenge(db, challenge('dns-01', 'text'))
  await presentChallenge(db, challenge('tls-alpn-01', 'z.older'))
  await presentChallenge(db, challenge('tls-alpn-01', 'a.newer'))
  await expect.poll(() => inCopy().map(({ keyAuthorization }) => keyAuthorization)).toEqual(['z.older', 'a.newer'])
  await withdrawChallenge(db, challenge('tls-alpn-01', 'a.newer'))
  await withdrawChallenge(db, challenge('tls-alpn-01', 'z.older'))
  await expect.poll(inCopy).toEqual([])
})

test('look-ups that hang, of however many visitors, hold up nothing that the feed brings', async () => {
  const databases = connectFollower({ databaseUrl: database.url, feedDatabaseUrl: undefined }, pino({ level: 'silent' }))
  const place = temporaryFolder()
  const bounded = openCopyWriter(place.path, { metadata: true, hostnamesMax: 100 })
  const alone = createFollower({
    source: databaseSource(databases.db, { lookups: databases.visits }),
    writer: bounded,
    settingNames: ['ticket-keys'],
    log: pino({ level: 'silent' }),
    now: Date.now,
  })
  const inCopy = openCopyReader(place.path)
  const blocker = database.db.openClient()
  await blocker.connect()
  try {
    alone.start()
    await expect.poll(() => bounded.state().cursor).toBeDefined()
    let answers: Promise<unknown>[] = []
    await transaction(db, async (tx) => {
      await rows(tx, sql`insert into settings (name, value) values ('ticket-keys', 'new')`)
      await recordChange(tx, { kind: 'setting', key: 'ticket-keys' })
      await blocker.query('begin; lock table projects') // a later transaction than the change's, so the feed does not wait for it
      answers = Array.from({ length: 40 }, (_, number) => alone.findRoute(named(number)))
    })
    await expect.poll(() => inCopy.findSetting('ticket-keys')?.toString()).toBe('new')
    await blocker.query('commit')
    expect((await Promise.all(answers)).length).toBe(40)
  } finally {
    await blocker.end()
    await alone.stop()
    inCopy.close()
    bounded.close()
    place.remove()
    await databases.close()
  }
})

test('a hostname that another project claims next leads to that project', async () => {
  await claim(0)
  await expect.poll(() => reader.findRoute(named(0))?.projectId).toBe(project.id)
  const other = await createProject(
    db,
    { name: `Other ${projects}`, upstreamUrl: 'https://other.example.com', plan: 'unlimited' },
    PROJECT_RULES,
  )
  await removeDomain(db, project, named(0))
  await registerDomain(db, other, { hostname: named(0), metadataJson: '{}' }, CLAIM_RULES)
  await expect.poll(() => reader.findRoute(named(0))?.projectId).toBe(other.id)
  expect(reader.findRoute(named(0))).toMatchObject({ verified: false, proofNeeded: true, upstreamUrl: 'https://other.example.com' })
})
