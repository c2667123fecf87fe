import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { closeDatabase, connectDatabase } from '../src/core/db.ts'
import { beatFeed, lastBeat } from '../src/core/feed-beats.ts'
import { pause } from '../src/lib/back-off.ts'
import { type PostgresPair, startPostgresPair } from './support/postgres-pair.ts'
import { administer } from './support/postgres-server.ts'
import { addVendor, eventually, localRoot, type ProcessState, processesOf, startTree, type Tree, type Vendor } from './support/tree.ts'
import { visit } from './support/visitor.ts'

const HOSTNAME = 'shop.localhost'
const SECRET = 'a secret of the failover of 32 bytes or more'
const CLAIM_LANES = 4
/** What the product promises of the control plane after the promotion, and what a machine that runs other tests is allowed on top. */
const PROMISE_MS = 5_000
const NOISE_FACTOR = 3

let pair: PostgresPair
let here: Tree
/** An edge alone, which follows the standby. */
let there: Tree
let vendor: Vendor
const upstream = createServer((_, response) => response.end('ours'))

beforeAll(async () => {
  pair = await startPostgresPair('failover')
  await pair.synchronize()
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve))
  const env = {
    NAMESAKE_DATABASE_URL: pair.url('read-write'),
    NAMESAKE_SECRET: SECRET,
    NAMESAKE_ACCESS_LOG_SAMPLE: '0',
    NAMESAKE_EDGE_WORKERS: '1',
  }
  here = await startTree({ env })
  there = await startTree({ env: { ...env, NAMESAKE_FEED_DATABASE_URL: pair.url('prefer-standby') }, args: ['--roles', 'edge'] })
  vendor = await addVendor(here, 'shop', `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`)
  await vendor.claim(HOSTNAME)
  for (const tree of [here, there]) await eventually(async () => (await visitShop(tree)) === 200, 60_000)
})

afterAll(async () => {
  await Promise.all([here?.stop(), there?.stop()])
  upstream.close()
  await pair?.stop()
})

const visitShop = async (tree: Tree) => (await visit({ port: tree.httpsPort, hostname: HOSTNAME, ca: localRoot(here) })).status
const followerOf = async (tree: Tree) =>
  (await processesOf(tree, 'follower'))[0] as ProcessState & { asOfMs: number; snapshots: number; promotions: number }

/** Port 80 redirects the names that it routes, and no others. */
function isRouted(tree: Tree, hostname: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const sent = request({ port: tree.httpPort, host: '127.0.0.1', headers: { host: hostname }, agent: false }, (answer) => {
      answer.resume()
      resolve(answer.statusCode === 308)
    })
    sent.on('error', reject).end()
  })
}

test('an edge whose standby replays nothing says so, and asks the primary for the hostnames that it misses', async () => {
  expect(await followerOf(there)).toMatchObject({ ready: true, snapshots: 1 })
  await administer(pair.standby.url, 'select pg_wal_replay_pause()')
  await eventually(async () => (await followerOf(there)).lagMs! > 5_000, 60_000)
  await vendor.claim('meanwhile.localhost')
  expect(await isRouted(there, 'meanwhile.localhost')).toBe(true)
  expect(await visitShop(there)).toBe(200)
  await administer(pair.standby.url, 'select pg_wal_replay_resume()')
  await eventually(async () => (await followerOf(there)).lagMs! < 3_000, 60_000)
})

test('when the primary dies under claims, its promoted standby loses none of them and no visitor notices', async () => {
  const acknowledged: { hostname: string; at: number }[] = []
  const visits: string[] = []
  let isRunning = true
  const lanes = Array.from({ length: CLAIM_LANES }, async (_, lane) => {
    for (let i = 0; isRunning; i += 1) {
      const hostname = `f${i}.lane${lane}.localhost`
      const answered = await vendor.claim(hostname).then(
        () => true,
        () => false,
      )
      if (answered) acknowledged.push({ hostname, at: performance.now() })
      else await pause(20)
    }
  })
  const visitors = [here, there].map(async (tree) => {
    while (isRunning) {
      visits.push(await visitShop(tree).then(String, (error: Error) => error.message))
      await pause(20)
    }
  })
  await eventually(() => acknowledged.length > 100, 60_000)
  const snapshots = await Promise.all([here, there].map(async (tree) => (await followerOf(tree)).snapshots))

  const killedAt = performance.now()
  await pair.primary.kill()
  await pair.standby.promote()
  const promotedAt = performance.now()
  await eventually(() => acknowledged.at(-1)!.at > promotedAt, 60_000)
  const backAt = acknowledged.find(({ at }) => at > promotedAt)!.at
  const before = acknowledged.length
  await eventually(() => acknowledged.length > before + 50, 60_000)
  isRunning = false
  await Promise.all([...lanes, ...visitors])

  console.log(
    `failover: promoted after ${Math.round(promotedAt - killedAt)} ms, first claim ${Math.round(backAt - promotedAt)} ms later; ` +
      `${acknowledged.length} claims acknowledged, ${visits.length} visits`,
  )
  expect(new Set(visits)).toEqual(new Set(['200']))
  expect(backAt - promotedAt).toBeLessThan(PROMISE_MS * NOISE_FACTOR)
  const db = connectDatabase(pair.standby.url, { applicationName: 'test' })
  const { rows } = await db.pool.query<{ hostname: string }>('select hostname from domains where deleted_at is null')
  await closeDatabase(db)
  const kept = new Set(rows.map(({ hostname }) => hostname))
  expect(acknowledged.filter(({ hostname }) => !kept.has(hostname))).toEqual([])
  const endedMs = Date.now()
  for (const tree of [here, there]) {
    // Look-ups alone would find fifty names a second.
    await eventually(async () => (await followerOf(tree)).asOfMs >= endedMs, 60_000)
    const unrouted = []
    for (const { hostname } of acknowledged) if (!(await isRouted(tree, hostname))) unrouted.push(hostname)
    expect(unrouted).toEqual([])
  }
  // The copies went on: what the standby may have lost was read again, and nothing else.
  const after = await Promise.all([here, there].map(followerOf))
  expect(after.map(({ snapshots, promotions }) => ({ snapshots, promotions }))).toEqual(
    snapshots.map((count) => ({ snapshots: count, promotions: 1 })),
  )
})

test('the dead primary comes back as a standby, and nothing is written to it', async () => {
  await pair.primary.becomeStandbyOf(pair.standby)
  await vendor.claim('late.localhost')
  for (const tree of [here, there]) await eventually(() => isRouted(tree, 'late.localhost'), 10_000)
  const db = connectDatabase(pair.primary.url, { applicationName: 'test' })
  try {
    await eventually(async () => (await db.pool.query(`select 1 from domains where hostname = 'late.localhost'`)).rowCount === 1)
    await expect(beatFeed(db)).rejects.toMatchObject({ code: 'database_unavailable' })
    expect(await lastBeat(db)).toMatchObject({ timeline: 2 })
  } finally {
    await closeDatabase(db)
  }
})
