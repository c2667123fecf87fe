import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { closeDatabase, connectDatabase, type Db } from '../src/core/db.ts'
import { registerDomain, removeDomain } from '../src/core/domains.ts'
import { beatFeed } from '../src/core/feed-beats.ts'
import { migrate, readMigrations } from '../src/core/migrations.ts'
import { parseHostname } from '../src/hostname.ts'
import { temporaryFolder } from '../src/replica/copy.fixture.ts'
import { openCopyWriter } from '../src/replica/copy-writer.ts'
import { createFollower } from '../src/replica/follower.ts'
import { databaseSource } from '../src/roles/database-source.ts'
import { startPostgresPair } from './support/postgres-pair.ts'
import { administer, type PostgresServer, sibling, startPostgres } from './support/postgres-server.ts'
import { addProject, CLAIM_RULES } from './support/tenants.ts'
import { eventually } from './support/tree.ts'

const DEBIAN_15 = '/usr/lib/postgresql/15/bin'
const REMOVED_LATER = 'removed-later.example.org'
const CLAIMED_LATER = 'claimed-later.example.org'
const NEWS = 'news.example.org'

const run = (program: string, args: string[]) => promisify(execFile)(join(DEBIAN_15, program), args)

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

function connect(url: string, options: { need?: 'prefer-standby' } = {}): Db {
  const db = connectDatabase(url, { applicationName: 'test', ...options })
  closing.push(() => closeDatabase(db))
  return db
}

/** An installation with one hostname, whose worker is the test. */
async function install(db: Db) {
  await migrate(db, await readMigrations(new URL('../sql/', import.meta.url)))
  const project = await addProject(db)
  const claim = (hostname: string) => registerDomain(db, project, { hostname: parseHostname(hostname), metadataJson: '{}' }, CLAIM_RULES)
  const marks = async () => Number((await db.pool.query('select count(*) from feed_marks')).rows[0].count)
  await claim(REMOVED_LATER)
  return {
    claim,
    remove: (hostname: string) => removeDomain(db, project, parseHostname(hostname)),
    /** One that counts: of two within half a second the other leaves nothing. */
    async beat() {
      const before = await marks()
      await eventually(async () => {
        await beatFeed(db)
        return (await marks()) > before
      })
    },
  }
}

function follow(db: Db, feed = db) {
  const place = temporaryFolder()
  const writer = openCopyWriter(place.path)
  const follower = createFollower({
    source: databaseSource(db, { feed }),
    writer,
    settingNames: [],
    log: pino({ level: 'silent' }),
    now: Date.now,
  })
  follower.start()
  closing.push(async () => {
    await follower.stop()
    writer.close()
    place.remove()
  })
  const holds = (hostname: string) => writer.findRoute(parseHostname(hostname)) !== undefined
  return { holds, until: (hostname: string) => eventually(() => holds(hostname), 60_000), mark: () => writer.state().cursor?.mark }
}

async function newestMark(db: Db): Promise<string> {
  return (await db.pool.query<{ mark: string }>('select mark from feed_marks order by id desc limit 1')).rows[0]!.mark
}

describe('a database that was put back by a dump, while its server went on', () => {
  const dir = mkdtempSync(join(tmpdir(), 'namesake-dump-'))
  let server: PostgresServer
  beforeAll(async () => {
    server = await startPostgres({ durable: false, binDir: DEBIAN_15 })
  })
  afterAll(async () => {
    await server.stop()
    rmSync(dir, { recursive: true })
  })

  const ways = [
    { name: 'replaced', options: ['--clean', '--if-exists'], before: 'select 1' },
    { name: 'emptied', options: [], before: 'drop schema public, graphile_worker cascade; create schema public' },
  ]
  test.for(ways)('is read afresh by an edge that stayed: $name', async ({ name, options, before }) => {
    await administer(server.adminUrl, `create database ${name}`)
    const url = sibling(server.adminUrl, name)
    const db = connect(url)
    const { claim, remove, beat } = await install(db)
    await beat()
    const dump = join(dir, name)
    await run('pg_dump', ['--format=custom', `--file=${dump}`, url])
    await beat()
    await claim(CLAIMED_LATER)
    await remove(REMOVED_LATER)
    const edge = follow(db)
    await edge.until(CLAIMED_LATER)

    await db.pool.query(before)
    await run('pg_restore', ['--exit-on-error', '--no-owner', '--single-transaction', ...options, `--dbname=${url}`, dump])
    await edge.until(REMOVED_LATER)
    expect(edge.holds(CLAIMED_LATER)).toBe(false)
    await beat()
    await claim(NEWS)
    await edge.until(NEWS)
  })
})

test('a volume’s snapshot that was put back is noticed by an edge that reads a standby', async () => {
  const pair = await startPostgresPair('shop')
  closing.push(() => pair.stop())
  const db = connect(pair.primary.url)
  const { claim, remove, beat } = await install(db)
  await beat()
  const { rows } = await db.pool.query<{ data_directory: string }>('show data_directory')
  const folder = rows[0]!.data_directory
  await pair.primary.kill()
  await promisify(execFile)('cp', ['-a', folder, `${folder}.backup`])
  await pair.primary.start()
  await beat()
  await claim(CLAIMED_LATER)
  await remove(REMOVED_LATER)
  const edge = follow(db, connect(pair.standby.url, { need: 'prefer-standby' }))
  await edge.until(CLAIMED_LATER)
  const lost = await newestMark(db)
  await eventually(() => edge.mark() === lost, 60_000)

  await pair.standby.kill()
  await pair.primary.kill()
  await rm(folder, { recursive: true })
  await rename(`${folder}.backup`, folder)
  await pair.primary.start()
  await pair.standby.becomeStandbyOf(pair.primary)
  await claim(NEWS)
  await beat()
  await edge.until(NEWS)
  expect([edge.holds(REMOVED_LATER), edge.holds(CLAIMED_LATER)]).toEqual([true, false])
})
