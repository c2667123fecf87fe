import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, type TLSSocket } from 'node:tls'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createLinkSigner } from '../src/core/link-signer.ts'
import { requestSignIn } from '../src/core/sign-in-links.ts'
import { startLoad } from './support/load.ts'
import { createTestDatabase, type TestDatabase } from './support/postgres.ts'
import { addVendor, eventually, localRoot, processesOf, startTree, type Tree, type Vendor } from './support/tree.ts'
import { startUpstream, type Upstream } from './support/upstream.ts'
import { visit } from './support/visitor.ts'

const SECRET = 'a secret of machines whose clocks are wrong'
const HOSTNAME = 'shop.localhost'
const FAKETIME = '/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1'
const SERVED_TIMEOUT_MS = 30_000
const MACHINES = [
  ['ahead', 'api,worker,edge'],
  ['behind', 'api,worker,edge'],
  ['right', 'edge'],
] as const

let database: TestDatabase
let upstream: Upstream
let folder: string
const trees: Tree[] = []
let vendor: Vendor
let root: string
beforeAll(async () => {
  database = await createTestDatabase()
  upstream = await startUpstream()
  folder = mkdtempSync(join(tmpdir(), 'namesake-skew-'))
  chmodSync(folder, 0o755) // a tree that was started as root gives it up, and reads its clock all the same
  for (const name of ['ahead', 'behind', 'right']) writeFileSync(join(folder, name), { ahead: '+300', behind: '-300', right: '+0' }[name]!)
  // One after the other: the first sets the database up.
  for (const [name, roles] of MACHINES) trees.push(await startTree({ args: ['--roles', roles], env: machine(name) }))
  vendor = await addVendor(trees[0]!, 'shop', upstream.url)
  root = localRoot(trees[0]!)
}, 180_000)
afterAll(async () => {
  await Promise.all(trees.map((tree) => tree.stop()))
  await Promise.all([database.drop(), upstream.stop()])
  rmSync(folder, { recursive: true, force: true })
})

/** A machine whose clock is what its file says, also when that changes while it runs. Durations are right, as on a real one. */
function machine(name: string): Record<string, string> {
  const own = { NAMESAKE_DATABASE_URL: database.url, NAMESAKE_SECRET: SECRET, NAMESAKE_EDGE_WORKERS: '1', NAMESAKE_ACCESS_LOG_SAMPLE: '0' }
  const clock = { FAKETIME_TIMESTAMP_FILE: join(folder, name), FAKETIME_NO_CACHE: '1', DONT_FAKE_MONOTONIC: '1' }
  return { ...own, LD_PRELOAD: FAKETIME, ...clock }
}

const isServed = async (tree: Tree, hostname = HOSTNAME) => (await visit({ port: tree.httpsPort, hostname, ca: root })).status === 200
const lagOf = async (tree: Tree) => (await processesOf(tree, 'follower'))[0]!.lagMs!
const behindOf = async (tree: Tree) => (await processesOf(tree, 'follower'))[0]!.edge?.behindMs ?? Number.POSITIVE_INFINITY

/** A TLS connection with the session of one before, if any; with the session that it was given. */
function shake(tree: Tree, session?: Buffer): Promise<{ reused: boolean; session: Buffer }> {
  return new Promise((resolve, reject) => {
    const options = { port: tree.httpsPort, host: '127.0.0.1', servername: HOSTNAME, ca: root, maxVersion: 'TLSv1.2', session } as const
    const socket: TLSSocket = connect(options, () => {
      resolve({ reused: socket.isSessionReused(), session: socket.getSession()! })
      socket.destroy()
    })
    socket.once('error', reject)
  })
}

test('with clocks five minutes ahead and behind, a claim on either is live, and served through all', async () => {
  const [ahead, behind] = trees as [Tree, Tree]
  await vendor.claim(HOSTNAME)
  await vendor.call('/v1/edge/domains', { method: 'POST', body: { hostname: 'other.localhost' }, at: behind })
  for (const hostname of [HOSTNAME, 'other.localhost']) {
    for (const tree of trees) await eventually(() => isServed(tree, hostname), SERVED_TIMEOUT_MS)
  }
  const { rows } = await database.db.pool.query('select hostname, count(*)::int as attempts from order_history group by 1')
  for (const { attempts } of rows) expect(attempts).toBe(1)
  await eventually(async () => {
    const { rows: seen } = await database.db.pool.query('select live_at, live_sentence from probes')
    return seen.length === 2 && seen.every((row) => row.live_at !== null && Math.abs(row.live_at.getTime() - Date.now()) < 60_000)
  }, SERVED_TIMEOUT_MS)
  for (const tree of trees) await eventually(async () => (await lagOf(tree)) < 5_000)
  expect(ahead.apiUrl).not.toBe(behind.apiUrl)
})

test('a session that began on a machine five minutes ahead is valid on one that is behind, and a TLS session resumes', async () => {
  const [ahead, behind, right] = trees as [Tree, Tree, Tree]
  await requestSignIn(database.db, 'ada@vendor.test', 'open')
  const { rows } = await database.db.pool.query('select id from sign_in_links')
  const body = JSON.stringify({ token: createLinkSigner([SECRET], 'sign-in').tokenOf(rows[0].id) })
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(`${ahead.apiUrl}/v1/auth/callback`, { method: 'POST', headers, body })
  expect(answer.status).toBe(200)
  const cookie = answer.headers.getSetCookie()[0]!.split(';')[0]!
  expect((await fetch(`${behind.apiUrl}/v1/auth/me`, { headers: { cookie } })).status).toBe(200)
  for (const [from, to] of [
    [ahead, behind],
    [behind, ahead],
    [right, behind],
  ] as const) {
    const { session } = await shake(from)
    expect((await shake(to, session)).reused).toBe(true)
  }
})

test('a clock that jumps by an hour, forwards and back, stops nothing and makes no copy look old or young', async () => {
  const jumping = trees[2]!
  const load = startLoad({ shop: async () => ((await isServed(jumping)) ? undefined : Promise.reject(new Error('not served'))) })
  for (const [n, offset] of ['+3600', '-3600', '+0'].entries()) {
    writeFileSync(join(folder, 'right'), offset)
    const before = load.answered()
    await eventually(() => load.answered() > before + 5, SERVED_TIMEOUT_MS)
    const hostname = `jump${n}.localhost`
    await vendor.claim(hostname)
    await eventually(() => isServed(jumping, hostname), SERVED_TIMEOUT_MS)
    await eventually(async () => (await lagOf(jumping)) < 5_000)
    await eventually(async () => (await behindOf(jumping)) < 5_000, SERVED_TIMEOUT_MS)
  }
  await load.stop()
  expect(load.lost).toEqual([])
})

test('an edge whose clock is a year ahead shows the certificates that it has, though they have ended by it, once none came', async () => {
  const ahead = trees[2]!
  writeFileSync(join(folder, 'right'), '+31536000')
  const begun = performance.now()
  await eventually(() => isServed(ahead), SERVED_TIMEOUT_MS)
  expect(performance.now() - begun).toBeGreaterThan(8_000)
  for (let n = 0; n < 20; n += 1) expect(await isServed(ahead)).toBe(true)
  writeFileSync(join(folder, 'right'), '+0')
})
