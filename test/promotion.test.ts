import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createProjectNews, type News, type ProjectNews } from '../src/api/project-news.ts'
import { currentCursor, readChanges, recordChange } from '../src/core/changes.ts'
import { closeDatabase, connectDatabase, type Db, transaction } from '../src/core/db.ts'
import { registerDomain, removeDomain } from '../src/core/domains.ts'
import { beatFeed } from '../src/core/feed-beats.ts'
import { migrate, readMigrations } from '../src/core/migrations.ts'
import type { Project } from '../src/core/projects.ts'
import { type Hostname, parseHostname } from '../src/hostname.ts'
import { temporaryFolder } from '../src/replica/copy.fixture.ts'
import { type CopyWriter, openCopyWriter } from '../src/replica/copy-writer.ts'
import { createFollower, type Follower } from '../src/replica/follower.ts'
import { databaseSource } from '../src/roles/database-source.ts'
import { type PostgresPair, startPostgresPair } from './support/postgres-pair.ts'
import { administer } from './support/postgres-server.ts'
import { addProject, CLAIM_RULES } from './support/tenants.ts'
import { eventually } from './support/tree.ts'

// Asynchronous on purpose: the end of what the primary says is lost.
let pair: PostgresPair
let db: Db
let standby: Db
let project: Project
let writer: CopyWriter
let follower: Follower
let news: ProjectNews
const place = temporaryFolder()
const KEPT = parseHostname('kept.example.org')
const RELEASED = parseHostname('released.example.org')
const LOST = parseHostname('lost.example.org')
const LATER = parseHostname('later.example.org')

beforeAll(async () => {
  pair = await startPostgresPair('promotion')
  db = connectDatabase(pair.url('read-write'), { applicationName: 'test' })
  standby = connectDatabase(pair.standby.url, { applicationName: 'test' })
  await migrate(db, await readMigrations(new URL('../sql/', import.meta.url)))
  project = await addProject(db)
  await beatFeed(db)
})

afterAll(async () => {
  await Promise.all([follower?.stop(), news?.close()])
  writer?.close()
  place.remove()
  await Promise.all([db, standby].map((each) => each && closeDatabase(each)))
  await pair?.stop()
})

const claim = (hostname: Hostname) => registerDomain(db, project, { hostname, metadataJson: '{}' }, CLAIM_RULES)

test('on a standby too, what a long transaction of the primary holds back is not passed over', async () => {
  const record = (on: Parameters<typeof recordChange>[0], key: string) => recordChange(on, { kind: 'setting', key })
  await eventually(async () => (await currentCursor(standby)).xid === (await currentCursor(db)).xid)
  const start = await currentCursor(standby)
  const read = async () => {
    const reading = await readChanges(standby, start, 100, db)
    return 'changes' in reading ? reading.changes.map(({ key }) => key) : [reading.kind]
  }
  await transaction(db, async (tx) => {
    await record(tx, 'slow')
    await record(db, 'fast')
    await beatFeed(db)
    const { rows } = await db.pool.query<{ lsn: string }>('select pg_current_wal_flush_lsn()::text as lsn')
    await eventually(
      async () => (await standby.pool.query('select 1 where pg_last_wal_replay_lsn() >= $1::pg_lsn', [rows[0]!.lsn])).rowCount === 1,
    )
    expect(await read()).toEqual([])
  })
  await eventually(async () => (await read()).length === 2)
  expect(await read()).toEqual(['slow', 'fast'])
})

test('a promotion that lost the last changes takes them back in the copy, without building it anew, and open pages ask for everything again', async () => {
  writer = openCopyWriter(place.path)
  follower = createFollower({
    source: databaseSource(db),
    writer,
    settingNames: [],
    log: pino({ level: 'silent' }),
    now: Date.now,
  })
  follower.start()
  const told: News[] = []
  news = createProjectNews({ db, log: pino({ level: 'silent' }) })
  await news.watch(project.id, (one) => void told.push(one))
  const isTold = (hostname: Hostname) => told.some((one) => one.kind === 'domain' && one.domain.hostname === hostname)
  const inCopy = (...hostnames: Hostname[]) => hostnames.map((hostname) => writer.findRoute(hostname) !== undefined)
  await claim(KEPT)
  await claim(RELEASED)
  await eventually(() => inCopy(KEPT, RELEASED).every(Boolean))
  const { asOfMs } = follower.status()
  await eventually(() => follower.status().asOfMs > asOfMs) // a reading behind both claims
  const { rows } = await db.pool.query<{ lsn: string }>('select pg_current_wal_insert_lsn()::text as lsn')
  await eventually(async () => {
    await beatFeed(db)
    return (await standby.pool.query('select 1 from feed_beats where lsn >= $1::pg_lsn', [rows[0]!.lsn])).rowCount === 1
  })

  await administer(pair.standby.adminUrl, `alter system set primary_conninfo = ''`)
  await administer(pair.standby.adminUrl, 'select pg_reload_conf()')
  await eventually(async () => (await db.pool.query('select 1 from pg_stat_replication')).rowCount === 0)
  await claim(LOST)
  await removeDomain(db, project, RELEASED)
  await eventually(() => writer.findRoute(LOST) !== undefined && writer.findRoute(RELEASED) === undefined)
  await pair.primary.kill()
  await pair.standby.promote()

  await eventually(() => follower.report().promotions === 1, 60_000)
  expect(inCopy(KEPT, RELEASED, LOST)).toEqual([true, true, false])
  await eventually(() => told.some(({ kind }) => kind === 'missed'))
  await claim(LATER)
  await eventually(() => writer.findRoute(LATER) !== undefined)
  await eventually(() => isTold(LATER))
  expect(follower.report()).toMatchObject({ snapshots: 1, promotions: 1 })
})
