import { execFileSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, statSync, writeFileSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { pruneChanges } from '../src/core/changes.ts'
import { closeDatabase, connectDatabase, type Db } from '../src/core/db.ts'
import { currentGeneration } from '../src/replica/copy-files.ts'
import { copyPath } from '../src/roles/copy-place.ts'
import { drawLine, type Line } from './support/cut-line.ts'
import { administer, type PostgresServer, sibling, startPostgres } from './support/postgres-server.ts'
import { addVendor, eventually, localRoot, startTree, type Tree, type Vendor } from './support/tree.ts'
import { startUpstream, type Upstream } from './support/upstream.ts'
import { visit } from './support/visitor.ts'

const SECRET = 'a secret of the copy of 32 bytes or more'
const HOSTNAMES = Array.from({ length: 40 }, (_, number) => `shop${number}.localhost`)
const DAY_S = 86_400
const FEED_KEPT_HOURS = 48 // as the worker has it
const PAGE_BYTES = 4_096

// A server of its own: databases are exchanged below, and the feed waits for the oldest transaction of the whole server.
let server: PostgresServer
let db: Db
let line: Line
let upstream: Upstream
let control: Tree
let edge: Tree
let vendor: Vendor
let root: string
const dataDir = mkdtempSync(join(tmpdir(), 'namesake-copy-'))

beforeAll(async () => {
  server = await startPostgres({ durable: false })
  await administer(server.adminUrl, 'create database live')
  db = connectDatabase(sibling(server.adminUrl, 'live'), { applicationName: 'test' })
  line = await drawLine(sibling(server.adminUrl, 'live'))
  upstream = await startUpstream()
  await startControl()
  root = localRoot(control)
  vendor = await addVendor(control, 'shop', upstream.url)
  await startEdge()
  for (const hostname of HOSTNAMES) await vendor.claim(hostname)
  await eventually(async () => (await refused(HOSTNAMES)).length === 0, 60_000)
}, 150_000)

afterAll(async () => {
  await Promise.all([edge?.stop(), control?.stop()])
  await upstream?.stop()
  await line?.cut()
  if (db) await closeDatabase(db)
  await server?.stop()
  rmSync(dataDir, { recursive: true, force: true })
})

const env = () => ({ NAMESAKE_DATABASE_URL: line.url, NAMESAKE_SECRET: SECRET, NAMESAKE_EDGE_WORKERS: '1', NAMESAKE_LOG_LEVEL: 'warn' })
const startControl = async () => {
  control = await startTree({ args: ['--roles', 'api,worker'], env: { ...env(), NAMESAKE_DATABASE_URL: sibling(server.adminUrl, 'live') } })
}
const startEdge = async (at = dataDir) => {
  edge = await startTree({ args: ['--roles', 'edge'], dataDir: at, env: env() })
}

/** Those of the hostnames that are not answered with a certificate of their own. */
async function refused(hostnames: readonly string[]): Promise<string[]> {
  const statuses = await Promise.all(
    hostnames.map((hostname) =>
      visit({ port: edge.httpsPort, hostname, ca: root }).then(
        ({ status }) => status,
        () => 0,
      ),
    ),
  )
  return hostnames.filter((_, at) => statuses[at] !== 200)
}

async function metric(name: string): Promise<number> {
  const text = await (await fetch(`${edge.internalUrl}/metrics`)).text()
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1])
}

const readiness = async () => (await fetch(`${edge.internalUrl}/ready`)).status
const claimAndAwait = async (hostname: string) => {
  const claimed = await vendor.call('/v1/edge/domains', { method: 'POST', body: { hostname }, at: control })
  expect(claimed.status).toBe(200)
  await eventually(async () => (await refused([hostname])).length === 0, 60_000)
}

test('with database, api and worker away every hostname is served after the edge has started again, and the staleness shows', async () => {
  await edge.stop()
  await line.cut()
  await startEdge()
  expect(await refused(HOSTNAMES)).toEqual([])
  expect(await readiness()).toBe(200)
  expect(await metric('namesake_copy_routes')).toBe(HOSTNAMES.length)
  expect(await metric('namesake_copy_complete')).toBe(1)
  expect(await metric('namesake_copy_certificates_ending')).toBe(0)
  await line.mend()
  await eventually(async () => (await metric('namesake_feed_lag_seconds')) < 3, 60_000)
  expect(await metric('namesake_copy_rebuilds_total')).toBe(0)
})

test('a copy damaged while the database is away serves what can be read, and is built anew when that returns', async () => {
  await edge.stop()
  await line.cut()
  const file = currentGeneration(copyPath({ dataDir }))!
  const pages = statSync(file).size / PAGE_BYTES
  const handle = openSync(file, 'r+')
  writeSync(handle, Buffer.alloc(PAGE_BYTES, 0xff), 0, PAGE_BYTES, Math.floor(pages / 2) * PAGE_BYTES)
  closeSync(handle)
  edge = await startTree({ args: ['--roles', 'edge'], dataDir, env: env(), awaitReady: false })
  await eventually(async () => (await refused(HOSTNAMES)).length < HOSTNAMES.length / 2, 60_000)
  await line.mend()
  await eventually(async () => (await refused(HOSTNAMES)).length === 0 && (await readiness()) === 200, 60_000)
  await eventually(async () => (await metric('namesake_copy_rebuilds_total')) === 1, 60_000)
  expect(readFileSync(`${copyPath({ dataDir })}.damaged`).length).toBeGreaterThan(0)
})

test('an edge that slept a day catches up from the feed, without a snapshot', async () => {
  await edge.stop()
  await vendor.claim('overnight.localhost')
  await db.pool.query('update changes set created_at = created_at - make_interval(secs => $1)', [DAY_S])
  await pruneChanges(db, FEED_KEPT_HOURS)
  await startEdge()
  await eventually(async () => (await refused([...HOSTNAMES, 'overnight.localhost'])).length === 0, 60_000)
  expect(await metric('namesake_copy_rebuilds_total')).toBe(0)
})

test('an edge that slept beyond what the feed keeps takes a snapshot by itself, and serves meanwhile', async () => {
  await edge.stop()
  await vendor.claim('long-ago.localhost')
  await db.pool.query('update changes set created_at = created_at - make_interval(hours => $1)', [FEED_KEPT_HOURS + 1])
  await pruneChanges(db, FEED_KEPT_HOURS)
  await startEdge()
  expect(await refused(HOSTNAMES)).toEqual([])
  await eventually(async () => (await refused(['long-ago.localhost'])).length === 0, 60_000)
  expect(await metric('namesake_copy_rebuilds_total')).toBe(1)
})

test.skipIf(process.getuid?.() !== 0)(
  'a full disk stops the following, never the serving, and heals by itself when there is room',
  async () => {
    await edge.stop()
    const small = mkdtempSync(join(tmpdir(), 'namesake-small-'))
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=12m,mode=755', 'tmpfs', small])
    try {
      await startEdge(small)
      await eventually(async () => (await refused(HOSTNAMES)).length === 0, 60_000)
      const filler = join(small, 'filler')
      expect(() => writeFileSync(filler, Buffer.alloc(16 * 1024 * 1024))).toThrow('ENOSPC')
      // The room that the copy's log has already is used up by changes: then there is none for the next.
      for (let number = 0; !(await isStuck()) && number < 600; number += 1) {
        await db.pool.query(`insert into changes (kind, key) select 'host', 'shop' || n || '.localhost' from generate_series(0, 39) as n`)
        await db.pool.query('update domains set version = nextval($1)', ['versions'])
        await new Promise((resolve) => setTimeout(resolve, 100))
      }
      expect(await isStuck()).toBe(true)
      expect(await refused(HOSTNAMES)).toEqual([])
      expect(await readiness()).toBe(200)
      rmSync(filler)
      await eventually(async () => !(await isStuck()), 60_000)
      await claimAndAwait('after-the-flood.localhost')
      await edge.stop()
    } finally {
      await edge.stop()
      execFileSync('umount', ['-l', small])
      rmSync(small, { recursive: true, force: true })
      await startEdge()
    }
  },
)

const isStuck = async (): Promise<boolean> => {
  const { processes } = (await (await fetch(`${edge.internalUrl}/ready`)).json()) as { processes: { role: string; trouble?: string }[] }
  return processes.some(({ role, trouble }) => role === 'follower' && trouble !== undefined)
}

test('a database restored from a backup is noticed: a new snapshot is taken while the old copy serves', async () => {
  await control.stop()
  await line.cut()
  await closeDatabase(db)
  // A connection that was cut a moment ago may not have ended yet.
  await eventually(() => administer(server.adminUrl, 'create database saved template live').then(() => true))
  await line.mend()
  await startControl()
  await claimAndAwait('after-the-backup.localhost')
  await control.stop()
  await line.cut()
  await administer(server.adminUrl, 'drop database live with (force)')
  await administer(server.adminUrl, 'alter database saved rename to live')
  const rebuilds = await metric('namesake_copy_rebuilds_total')
  expect(await refused([...HOSTNAMES, 'after-the-backup.localhost'])).toEqual([])
  await line.mend()
  await eventually(async () => {
    expect(await refused(HOSTNAMES)).toEqual([])
    return (await metric('namesake_copy_rebuilds_total')) === rebuilds + 1
  }, 60_000)
  await eventually(async () => (await refused(['after-the-backup.localhost'])).length === 1, 60_000)
  db = connectDatabase(sibling(server.adminUrl, 'live'), { applicationName: 'test' })
  await startControl()
  await claimAndAwait('after-the-restore.localhost')
})
