import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { closeDatabase, connectDatabase, type Db } from '../src/core/db.ts'
import { type Edge, listEdges } from '../src/core/edges.ts'
import { checkLive } from '../src/jobs/check-live.ts'
import { signal } from '../src/processes.ts'
import { freePorts } from './support/ports.ts'
import { administer, type PostgresServer, sibling, startPostgres } from './support/postgres-server.ts'
import { addVendor, eventually, localRoot, processesOf, startTrees, type Tree, type Vendor } from './support/tree.ts'
import { visit } from './support/visitor.ts'

const SECRET = 'a secret of the fleet of 32 bytes or more'

// A server of its own: the feed waits for the oldest transaction of the whole server, and other test files hold theirs open.
let server: PostgresServer
let db: Db
let here: Tree
let there: Tree
let vendor: Vendor
let other: Vendor
const upstream = createServer((_, response) => response.end('hello'))

beforeAll(async () => {
  server = await startPostgres({ durable: false })
  await administer(server.adminUrl, 'create database fleet')
  const url = sibling(server.adminUrl, 'fleet')
  db = connectDatabase(url, { applicationName: 'test' })
  const [port, otherPort] = (await freePorts(2)) as [number, number]
  // Where the DNS leads is `here`, the machine of the workers; only they reach `there` at its address.
  const env = { NAMESAKE_DATABASE_URL: url, NAMESAKE_SECRET: SECRET, NAMESAKE_PUBLIC_HTTPS_PORT: String(port) }
  const at = (name: string, its: number) => ({
    NAMESAKE_EDGE_NAME: name,
    NAMESAKE_HTTPS_ADDR: `127.0.0.1:${its}`,
    NAMESAKE_EDGE_ADDRESS: '127.0.0.1',
  })
  ;[here, there] = (await startTrees(
    { env: { ...env, ...at('here', port) } },
    { env: { ...env, ...at('there', otherPort), LD_PRELOAD: '' }, args: ['--roles', 'edge'] },
  )) as [Tree, Tree]
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve))
  const to = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`
  vendor = await addVendor(here, 'shop', to)
  other = await addVendor(here, 'other', to)
  await eventually(async () => (await listEdges(db)).length === 2, 60_000)
})

afterAll(async () => {
  await Promise.all([here?.stop(), there?.stop()])
  upstream.close()
  if (db) await closeDatabase(db)
  await server?.stop()
})

type Live = { seenAt: string | null; sentence: string | null }

async function liveOf(hostname: string, of = vendor): Promise<Live> {
  const { live } = (await (await of.call(`/v1/edge/domains/${hostname}`)).json()) as { live: Live }
  return live
}

async function untilLive(hostname: string, of = vendor): Promise<void> {
  await eventually(async () => (await liveOf(hostname, of)).seenAt !== null, 40_000)
}

/** The hostname waits for the edge, and its page says so. */
async function untilMissing(hostname: string, edge: string, of = vendor): Promise<void> {
  await eventually(async () => (await liveOf(hostname, of)).sentence?.includes(`edge ${edge}`) ?? false, 60_000)
  expect((await liveOf(hostname, of)).seenAt).toBeNull()
}

test('edge processes, and no others, allocate with jemalloc, but where the operator has another wish', async () => {
  const hasJemalloc = ({ pid }: { pid: number }) => readFileSync(`/proc/${pid}/maps`, 'utf8').includes('libjemalloc.so.2')
  const [ofHere, ofThere] = await Promise.all([here, there].map((tree) => processesOf(tree)))
  expect(ofHere!.filter(hasJemalloc).map(({ pid }) => pid)).toEqual(ofHere!.filter(({ role }) => role === 'edge').map(({ pid }) => pid))
  expect(ofThere!.filter(hasJemalloc)).toEqual([])
})

test('edges list shows every machine as it says of itself', async () => {
  await vendor.claim('first.localhost')
  await untilLive('first.localhost')
  await eventually(async () => (await listEdges(db)).every(({ certificates }) => certificates > 0), 60_000)
  const edges = await here.command<Edge[]>('edges', 'list')
  expect(edges).toMatchObject([
    { name: 'here', state: 'fresh', address: `127.0.0.1:${here.httpsPort}`, version: expect.stringMatching(/^\d+\.\d+/) },
    { name: 'there', state: 'fresh', address: `127.0.0.1:${there.httpsPort}` },
  ])
  for (const edge of edges) {
    expect(edge.routes).toBeGreaterThan(0)
    expect(edge.behindMs).toBeLessThan(10_000)
  }
  const silent = Array.from({ length: 5 }, () => connect(there.httpsPort, '127.0.0.1'))
  await eventually(async () => (await listEdges(db)).some(({ name, connections }) => name === 'there' && connections >= 5), 8_000)
  for (const socket of silent) socket.destroy()
  await expect(here.command('edges', 'forget', 'there')).rejects.toThrow('heard within the last ten seconds')
})

test('a hostname is live only when every edge process of every machine has its route: a stopped one holds it back', async () => {
  const [stopped] = await processesOf(there, 'edge')
  signal(stopped!.pid, 'SIGSTOP')
  try {
    await vendor.claim('second.localhost')
    const onOthers = { port: here.httpsPort, hostname: 'second.localhost', ca: localRoot(here) }
    await eventually(async () => (await visit(onOthers)).status === 200, 60_000)
    await untilMissing('second.localhost', 'there')
    expect((await listEdges(db)).find(({ name }) => name === 'there')).toMatchObject({ state: 'fresh' })
  } finally {
    signal(stopped!.pid, 'SIGCONT')
  }
  await untilLive('second.localhost')
})

test('an edge whose follower stands still is waited for while it counts as heard, and no longer', async () => {
  const [follower] = await processesOf(there, 'follower')
  signal(follower!.pid, 'SIGSTOP')
  try {
    await vendor.claim('third.localhost')
    await untilMissing('third.localhost', 'there')
    await untilLive('third.localhost')
    const edge = (await listEdges(db)).find(({ name }) => name === 'there')!
    expect(edge.state).toBe('silent')
  } finally {
    signal(follower!.pid, 'SIGCONT')
  }
  await eventually(async () => (await listEdges(db)).every(({ state }) => state === 'fresh'), 60_000)
})

test('a hostname that changed project waits for the silent edge too, which still serves the former one, until its lease has run out', async () => {
  await vendor.claim('moved.localhost')
  await untilLive('moved.localhost')
  const [follower] = await processesOf(there, 'follower')
  signal(follower!.pid, 'SIGSTOP')
  try {
    expect((await vendor.call('/v1/edge/domains/moved.localhost', { method: 'DELETE' })).status).toBe(204)
    await other.claim('moved.localhost')
    await untilMissing('moved.localhost', 'there', other)
    await eventually(async () => (await listEdges(db)).some(({ state }) => state === 'silent'), 60_000)
    await eventually(async () => (await liveOf('moved.localhost', other)).sentence?.includes('not heard since') ?? false, 60_000)
    expect((await liveOf('moved.localhost', other)).seenAt).toBeNull()
    await checkLive({ db, visit: async () => ({ kind: 'seen' }), leaseS: 1 }, { hostname: 'moved.localhost' })
    expect((await liveOf('moved.localhost', other)).seenAt).not.toBeNull()
  } finally {
    signal(follower!.pid, 'SIGCONT')
  }
})
