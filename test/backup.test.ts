import { execFile } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { chmodSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { pruneChanges, recordChange } from '../src/core/changes.ts'
import { closeDatabase, connectDatabase } from '../src/core/db.ts'
import { startLoad } from './support/load.ts'
import { administer, type PostgresServer, sibling, startPostgres } from './support/postgres-server.ts'
import { addVendor, eventually, localRoot, processesOf, startTree, type Tree } from './support/tree.ts'
import { startUpstream, type Upstream } from './support/upstream.ts'
import { handshake, visit } from './support/visitor.ts'

const SHOP = 'shop.localhost'
const REMOVED_LATER = 'removed-later.localhost'
const CLAIMED_LATER = 'claimed-later.localhost'
const SECRET = 'a secret of the backup of 32 bytes or more'
const TIMEOUT_MS = 600_000 // seven starts, on a machine that may be busy with other tests
const DEBIAN_15 = '/usr/lib/postgresql/15/bin'
const GUIDE = readFileSync(new URL('../docs/operations.md', import.meta.url), 'utf8')

/** Runs lines that docs/operations.md tells the operator to run, by the words that they begin with. */
async function asDocumented(begin: string, env: Record<string, string>, cwd: string): Promise<void> {
  const line = GUIDE.split('\n').find((candidate) => candidate.startsWith(begin))
  if (line === undefined) throw new Error(`docs/operations.md has no line that begins with: ${begin}`)
  const path = `${DEBIAN_15}:${process.env.PATH}`
  await promisify(execFile)('sh', ['-euc', line], { cwd, env: { ...process.env, PATH: path, ...env } })
}

async function serialAt(tree: Tree, hostname: string, ca: string): Promise<string> {
  const socket = await handshake({ port: tree.httpsPort, hostname, ca })
  const { serialNumber } = new X509Certificate(socket.getPeerCertificate().raw)
  socket.destroy()
  return serialNumber
}

/** A file in a folder that a setting names, as the guide writes it: an empty setting must not stand for the root. */
const within = (setting: string, file: string) => `"\${${setting}:?}/${file}"`

/** Makes a database what one is after days: it has given away many transaction numbers, has pruned its feed, and holds a change of yesterday. */
async function growOld(url: string): Promise<void> {
  const db = connectDatabase(url, { applicationName: 'test' })
  try {
    await db.pool.query('do $$ begin for n in 1..20000 loop perform pg_current_xact_id(); commit; end loop; end $$')
    await recordChange(db, { kind: 'setting', key: 'days ago' })
    await db.pool.query(`update changes set created_at = created_at - interval '3 days'`)
    await pruneChanges(db, 48)
    await recordChange(db, { kind: 'setting', key: 'yesterday' })
    await db.pool.query(`update changes set created_at = created_at - interval '1 day' where key = 'yesterday'`)
  } finally {
    await closeDatabase(db)
  }
}

const serves = (tree: Tree, hostname: string, ca: string) =>
  eventually(async () => (await visit({ port: tree.httpsPort, hostname, ca })).status === 200, 60_000)

const refuses = (tree: Tree, hostname: string, ca: string) =>
  eventually(async () => {
    const outcome = await handshake({ port: tree.httpsPort, hostname, ca }).catch((error: Error) => error)
    if (outcome instanceof Error) return /handshake failure/.test(outcome.message)
    outcome.destroy()
    return false
  }, 60_000)

test('a line of the guide does nothing where a setting that it takes is not in the shell', () => {
  const lines = GUIDE.split('\n').filter((line) => /^(?:pg_dump|pg_restore|cp|rm) /.test(line))
  expect(lines.length).toBeGreaterThanOrEqual(7)
  expect(lines.filter((line) => /\$(?!\{[A-Z_]+:\?\})/.test(line))).toEqual([])
})

let upstream: Upstream

beforeAll(async () => {
  upstream = await startUpstream()
})

afterAll(() => upstream.stop())

describe('a PostgreSQL server that was lost', () => {
  const servers: PostgresServer[] = []
  const trees: Tree[] = []
  const dir = mkdtempSync(join(tmpdir(), 'namesake-backup-'))
  chmodSync(dir, 0o755) // started by root, the service is an ordinary user
  const place = join(dir, 'db') // where the machines find the database, whichever server it is on
  const url = `postgres://postgres@localhost/namesake?host=${encodeURIComponent(place)}`
  const env = { NAMESAKE_DATABASE_URL: url, NAMESAKE_SECRET: SECRET, NAMESAKE_ACCESS_LOG_SAMPLE: '0', NAMESAKE_EDGE_WORKERS: '1' }

  const startServer = async (binDir?: string) => {
    const server = await startPostgres({ durable: false, binDir })
    servers.push(server)
    return server
  }
  const start = async (roles: string) => {
    const tree = await startTree({ env, args: ['--roles', roles] })
    trees.push(tree)
    return tree
  }
  const orders = async (databaseUrl: string) => {
    const client = new pg.Client({ connectionString: databaseUrl })
    await client.connect()
    const { rows } = await client.query<{ hostname: string; orders: string }>(
      `select hostname, count(*) as orders from order_history where hostname = any($1) group by 1 order by 1`,
      [[SHOP, REMOVED_LATER]],
    )
    await client.end()
    return rows
  }

  afterAll(async () => {
    await Promise.all(trees.map((tree) => tree.stop()))
    for (const server of servers) await server.stop().catch(() => {})
    rmSync(dir, { recursive: true })
  })

  test('is restored into an empty cluster from pg_dump, of a newer PostgreSQL too: edges go on meanwhile, and every certificate is the same', {
    timeout: TIMEOUT_MS,
  }, async () => {
    const old = await startServer(DEBIAN_15)
    await administer(old.adminUrl, 'create database namesake')
    symlinkSync(old.socketDir, place)
    const [control, edge] = [await start('api,worker'), await start('edge')] as [Tree, Tree]
    const vendor = await addVendor(control, 'shop', upstream.url)
    const root = localRoot(control)
    for (const hostname of [SHOP, REMOVED_LATER]) {
      await vendor.claim(hostname)
      await serves(edge, hostname, root)
    }
    const serials = [await serialAt(edge, SHOP, root), await serialAt(edge, REMOVED_LATER, root)]
    const ordersBefore = await orders(url)

    await growOld(url)
    await asDocumented('pg_dump ', env, dir)
    await vendor.claim(CLAIMED_LATER)
    await serves(edge, CLAIMED_LATER, root)
    expect((await vendor.call(`/v1/edge/domains/${REMOVED_LATER}`, { method: 'DELETE' })).status).toBe(204)
    await refuses(edge, REMOVED_LATER, root)

    const snapshots = async () => Number(((await processesOf(edge, 'follower')) as { snapshots?: number }[])[0]!.snapshots)
    const snapshotsBefore = await snapshots()
    const load = startLoad({
      shop: async () => {
        const { status } = await visit({ port: edge.httpsPort, hostname: SHOP, ca: root })
        if (status !== 200) throw new Error(String(status))
      },
    })
    await control.stop()
    await old.stop()
    servers.length = 0
    const fresh = await startServer()
    await administer(fresh.adminUrl, 'create database namesake')
    await asDocumented('pg_restore ', { ...env, NAMESAKE_DATABASE_URL: sibling(fresh.adminUrl, 'namesake') }, dir)
    rmSync(place)
    symlinkSync(fresh.socketDir, place)

    await serves(edge, REMOVED_LATER, root)
    await refuses(edge, CLAIMED_LATER, root)
    expect(await snapshots()).toBe(snapshotsBefore + 1)
    const newControl = await start('api,worker')
    expect(localRoot(newControl)).toBe(root)
    await vendor.call(`/v1/edge/domains/${SHOP}/check`, { method: 'POST', at: newControl })
    await load.stop()
    expect(load.lost).toEqual([])
    expect([await serialAt(edge, SHOP, root), await serialAt(edge, REMOVED_LATER, root)]).toEqual(serials)
    expect(await orders(url)).toEqual(ordersBefore)
    const later = await vendor.call('/v1/edge/domains', { method: 'POST', body: { hostname: CLAIMED_LATER }, at: newControl })
    expect(later.status).toBe(200)
    await serves(edge, CLAIMED_LATER, root)
    expect(await snapshots()).toBe(snapshotsBefore + 1)
    await eventually(async () => Number((await processesOf(edge, 'follower'))[0]!.lagMs) < 5_000)
  })
})

describe('the embedded database', () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'namesake-embedded-'))
  const backup = mkdtempSync(join(tmpdir(), 'namesake-embedded-backup-'))
  const places = { NAMESAKE_DATA_DIR: dataDir, BACKUP: backup }
  let tree: Tree | undefined

  afterAll(async () => {
    await tree?.stop()
    for (const dir of [dataDir, backup]) rmSync(dir, { recursive: true })
  })

  test('is restored from a copy of its files and the secret, taken while it was stopped', { timeout: TIMEOUT_MS }, async () => {
    tree = await startTree({ dataDir })
    const vendor = await addVendor(tree, 'shop', upstream.url)
    const root = localRoot(tree)
    await vendor.claim(SHOP)
    await serves(tree, SHOP, root)
    const serial = await serialAt(tree, SHOP, root)
    // That of Debian is too old for the server, which it learns when it has reached it.
    await expect(asDocumented('pg_dump --format=custom --file=namesake.dump --host', places, dataDir)).rejects.toThrow(
      'aborting because of server version mismatch',
    )
    await tree.stop()
    await asDocumented(`cp -a ${within('NAMESAKE_DATA_DIR', 'postgres')}`, places, dataDir)
    await asDocumented(`cp -a ${within('NAMESAKE_DATA_DIR', 'secret')}`, places, dataDir)

    tree = await startTree({ dataDir })
    const later = await vendor.call('/v1/edge/domains', { method: 'POST', body: { hostname: CLAIMED_LATER }, at: tree })
    expect(later.status).toBe(200)
    await serves(tree, CLAIMED_LATER, root)
    await tree.stop()
    await asDocumented(`rm -rf ${within('NAMESAKE_DATA_DIR', 'postgres')}`, places, dataDir)
    await asDocumented(`cp -a ${within('BACKUP', 'postgres')}`, places, dataDir)
    await asDocumented(`cp -a ${within('BACKUP', 'secret')}`, places, dataDir)

    tree = await startTree({ dataDir })
    await serves(tree, SHOP, root)
    expect(await serialAt(tree, SHOP, root)).toBe(serial)
    await refuses(tree, CLAIMED_LATER, root)
  })
})
