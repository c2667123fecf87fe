import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createLinkSigner } from '../src/core/link-signer.ts'
import { requestSignIn } from '../src/core/sign-in-links.ts'
import { type Resealed, readSecretStatus, type SecretStatus } from '../src/roles/resealing.ts'
import { startLoad } from './support/load.ts'
import { createTestDatabase, type TestDatabase } from './support/postgres.ts'
import { addVendor, eventually, localRoot, type ProcessState, startTree, type Tree } from './support/tree.ts'
import { startUpstream, type Upstream } from './support/upstream.ts'
import { visit } from './support/visitor.ts'

const OLD = 'the secret that was told to too many people'
const NEW = 'the secret that nobody but the operator knows'
const NEXT = 'the secret of which one machine was not told'
const NOWHERE = 'postgres://namesake@127.0.0.1:1/namesake'
const HOSTNAMES = ['one.localhost', 'two.localhost', 'three.localhost']
const LATE = 'late.localhost'
const SERVED_TIMEOUT_MS = 60_000

let database: TestDatabase
let upstream: Upstream
let controlDir: string
let edgeDir: string
const trees = new Set<Tree>()
beforeAll(async () => {
  database = await createTestDatabase()
  upstream = await startUpstream()
  ;[controlDir, edgeDir] = ['control', 'edge'].map((name) => mkdtempSync(join(tmpdir(), `namesake-secret-${name}-`))) as [string, string]
})
afterAll(async () => {
  await Promise.all(Array.from(trees, (tree) => tree.stop()))
  await Promise.all([database.drop(), upstream.stop()])
  for (const folder of [controlDir, edgeDir]) rmSync(folder, { recursive: true, force: true })
})

async function start(dataDir: string, roles: string, secret: string, databaseUrl = database.url): Promise<Tree> {
  const env = { NAMESAKE_DATABASE_URL: databaseUrl, NAMESAKE_SECRET: secret, NAMESAKE_EDGE_WORKERS: '1', NAMESAKE_ACCESS_LOG_SAMPLE: '0' }
  const tree = await startTree({ dataDir, args: ['--roles', roles], env })
  trees.add(tree)
  return tree
}

async function processOf(tree: Tree, wanted: string): Promise<ProcessState> {
  const { processes } = (await (await fetch(`${tree.internalUrl}/ready`)).json()) as { processes: ProcessState[] }
  return processes.find(({ role }) => role === wanted)!
}

async function signIn(tree: Tree): Promise<string> {
  await requestSignIn(database.db, 'ada@vendor.test', 'open')
  const { rows } = await database.db.pool.query('select id from sign_in_links order by expires_at desc limit 1')
  const token = createLinkSigner([OLD], 'sign-in').tokenOf(rows[0].id)
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(`${tree.apiUrl}/v1/auth/callback`, { method: 'POST', headers, body: JSON.stringify({ token }) })
  expect(answer.status).toBe(200)
  return answer.headers.getSetCookie()[0]!.split(';')[0]!
}

test('the secret is changed while everything serves, and then the former one is needed for nothing', { timeout: 400_000 }, async () => {
  let control = await start(controlDir, 'api,worker', `${OLD},${NEW}`)
  const edge = await start(edgeDir, 'edge', `${OLD},${NEW}`)
  const root = localRoot(control)
  const vendor = await addVendor(control, 'shop', upstream.url)
  const isServed = async (hostname: string, at = edge) => (await visit({ port: at.httpsPort, hostname, ca: root })).status === 200
  for (const hostname of HOSTNAMES) {
    await vendor.claim(hostname)
    await eventually(() => isServed(hostname), SERVED_TIMEOUT_MS)
  }
  const session = await signIn(control)
  const lane = (hostname: string) => async () => {
    if (!(await isServed(hostname))) throw new Error(`${hostname} was not served`)
  }
  const load = startLoad(Object.fromEntries(HOSTNAMES.map((hostname) => [hostname, lane(hostname)])))

  await control.stop()
  control = await start(controlDir, 'api,worker', `${NEW},${OLD}`)
  const before = await control.command<SecretStatus>('secret', 'status')
  expect(before).toMatchObject({ former: expect.toSatisfy((former) => former >= HOSTNAMES.length + 4), unknown: 0 })
  await vendor.call('/v1/edge/domains', { method: 'POST', body: { hostname: LATE }, at: control })
  await eventually(() => isServed(LATE), SERVED_TIMEOUT_MS) // sealed by the new one, opened by an edge that has it second
  const done = await control.command<Resealed & { status: SecretStatus }>('secret', 'reseal')
  expect(done).toMatchObject({ resealed: before.former, unreadable: [], status: { former: 0, unknown: 0 } })
  expect(new Set(done.status.sealed.map(({ secret }) => secret))).toEqual(new Set(['first']))
  expect(await control.command<Resealed>('secret', 'reseal')).toMatchObject({ resealed: 0 })
  const status = async (secret: string) => readSecretStatus(database.db, { secrets: [secret] })
  expect(await status(NEW)).toMatchObject({ former: 0, unknown: 0 })
  expect(await status(OLD)).toMatchObject({ former: 0, unknown: before.former + 1 })
  await control.stop()
  control = await start(controlDir, 'api,worker', NEW)

  await eventually(async () => {
    return (await processOf(edge, 'follower')).lagMs! < 1_000
  })
  await load.stop()
  expect(load.lost).toEqual([])
  expect(load.answered()).toBeGreaterThan(10)
  await edge.stop()

  // Without a database: what is opened here came through the change feed before.
  const alone = await start(edgeDir, 'edge', NEW, NOWHERE)
  for (const hostname of [...HOSTNAMES, LATE]) expect(await isServed(hostname, alone)).toBe(true)
  const me = await fetch(`${control.apiUrl}/v1/auth/me`, { headers: { cookie: session } })
  expect(me.status).toBe(200)
})

test('an edge that was not told the newest secret serves what it has when session tickets get new keys, and when it starts', {
  timeout: 400_000,
}, async () => {
  await Promise.all(Array.from(trees, (tree) => tree.stop()))
  const [hostname] = HOSTNAMES as [string]
  let edge = await start(edgeDir, 'edge', NEW)
  const root = localRoot([...trees][0]!)
  const isServed = async () => (await visit({ port: edge.httpsPort, hostname, ca: root })).status === 200
  const pidOf = async (tree: Tree) => (await processOf(tree, 'edge')).pid
  expect(await isServed()).toBe(true)
  const pid = await pidOf(edge)
  await database.db.pool.query("update settings set updated_at = now() - interval '2 days' where name = 'ticket-keys'")
  const control = await start(controlDir, 'api,worker', `${NEXT},${NEW}`)
  await eventually(() => edge.output().includes('keys of session tickets that all edges share cannot be opened'), SERVED_TIMEOUT_MS)
  expect(await isServed()).toBe(true)
  expect(await pidOf(edge)).toBe(pid)
  await edge.stop()
  edge = await start(edgeDir, 'edge', NEW, NOWHERE)
  expect(await isServed()).toBe(true)
  await control.stop()
})
