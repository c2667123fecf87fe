import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type DnsServer, startDnsServer } from './support/dns.ts'
import { startLoad } from './support/load.ts'
import { type Pebble, startPebble } from './support/pebble.ts'
import { freePorts } from './support/ports.ts'
import { createTestDatabase, type TestDatabase } from './support/postgres.ts'
import { addVendor, eventually, startTree, type Tree, type Vendor } from './support/tree.ts'
import { startUpstream, type Upstream } from './support/upstream.ts'
import { handshake, knock, recordClientHello, renamed, visit } from './support/visitor.ts'

const EDGE_HOST = 'edge.namesake.example'
const SHOP = 'shop.customer.com'
const CLAIMS = 1_000
const VISITED = 200
const STRANGERS = 10_000
const CALLERS = 100
const HANDSHAKE_FAILURE = Buffer.from([21, 3, 3, 0, 2, 2, 40])

/** What the tree does anyway: the feed, due probes, renewals, and two thirds of it graphile-worker's polls. */
const IDLE_TRANSACTIONS_PER_S_MAX = 100
const STORM_TRANSACTIONS_MAX = 200
/** What a connection has done PostgreSQL counts when it has rested for ten seconds, if not before. */
const COUNTED_AFTER_S = 10.5
const LOG_BYTES_MAX = 20_000

let dns: DnsServer
let pebble: Pebble
let database: TestDatabase
let upstream: Upstream
let tree: Tree
let vendor: Vendor
let root: string

beforeAll(async () => {
  const [httpPort] = (await freePorts(1)) as [number]
  dns = await startDnsServer()
  dns.set(EDGE_HOST, 'A', '127.0.0.1')
  dns.set(SHOP, 'CNAME', EDGE_HOST)
  pebble = await startPebble({ httpPort, dnsServer: dns.endpoint })
  database = await createTestDatabase()
  upstream = await startUpstream()
  tree = await startTree({
    env: {
      NAMESAKE_DATABASE_URL: database.url,
      NAMESAKE_SECRET: 'a secret for unknown names of 32 bytes or more',
      NAMESAKE_EDGE_HOST: EDGE_HOST,
      NAMESAKE_EDGE_IPS: '127.0.0.1',
      NAMESAKE_DNS_SERVERS: dns.endpoint,
      NAMESAKE_ACME_DIRECTORY: pebble.directoryUrl,
      NAMESAKE_ACME_CA_FILE: pebble.caFile,
      NAMESAKE_ALLOW_PRIVATE_UPSTREAMS: 'true',
      NAMESAKE_HTTP_ADDR: `127.0.0.1:${httpPort}`,
      NAMESAKE_ACCESS_LOG_SAMPLE: '0',
    },
  })
  root = await pebble.rootPem()
  vendor = await addVendor(tree, 'shop', upstream.url)
  await vendor.claim(SHOP)
  await eventually(async () => (await visitShop()).status === 200, 60_000)
})

afterAll(async () => {
  await tree?.stop()
  await database?.drop()
  await pebble?.stop()
  await upstream?.stop()
  await dns?.stop()
})

// First of all: what claims have the tree do would count too.
test('10,000 names that nobody claimed: every one is refused, without an order, a query storm or a log flood, and a registered hostname is served beside them', async () => {
  const hello = await recordClientHello('00000.stranger.example')
  const load = startLoad({
    visitor: async () => {
      const { status } = await visitShop()
      if (status !== 200) throw new Error(`status ${status}`)
    },
  })
  await pause(COUNTED_AFTER_S * 1_000) // or the start would count too
  const beforeIdle = await transactions()
  await pause(COUNTED_AFTER_S * 1_000)
  const idlePerS = ((await transactions()) - beforeIdle) / COUNTED_AFTER_S
  const before = { bytes: tree.output().length, transactions: await transactions(), at: performance.now() }
  const answers = new Map<string, number>()
  await inLanes(
    CALLERS,
    Array.from({ length: STRANGERS }, (_, i) => String(10_000 + i)),
    async (label) => {
      const answer = (await knock(tree.httpsPort, renamed(hello, '00000', label))).toString('hex')
      answers.set(answer, (answers.get(answer) ?? 0) + 1)
    },
  )
  const seconds = (performance.now() - before.at) / 1_000
  await load.stop()
  const spent = (await transactions()) - before.transactions

  expect(Object.fromEntries(answers)).toEqual({ [HANDSHAKE_FAILURE.toString('hex')]: STRANGERS })
  expect(load.lost).toEqual([])
  expect(load.answered()).toBeGreaterThan(10)
  expect(pebble.output()).not.toContain('stranger.example')
  expect(tree.output().length - before.bytes).toBeLessThan(LOG_BYTES_MAX)
  expect(idlePerS).toBeLessThan(IDLE_TRANSACTIONS_PER_S_MAX)
  expect(spent).toBeLessThan(STORM_TRANSACTIONS_MAX + seconds * idlePerS)
})

test('of 1,000 claimed names that point nowhere, 200 are visited: each is refused, and the authority never hears of one', async () => {
  const names = Array.from({ length: CLAIMS }, (_, i) => `shop-${i}.nowhere.example`)
  await inLanes(20, names, vendor.claim)
  await inLanes(20, names.slice(0, VISITED), async (hostname) => {
    await expect(handshake({ port: tree.httpsPort, hostname, ca: root })).rejects.toThrow(/handshake failure/)
  })
  expect(pebble.output()).toContain(SHOP)
  expect(pebble.output()).not.toContain('nowhere.example')
  const details = (await (await vendor.call(`/v1/edge/domains/${names[0]}`)).json()) as { certificate: { lastError: unknown } }
  expect(details.certificate.lastError).not.toBeNull()
})

const visitShop = () => visit({ port: tree.httpsPort, hostname: SHOP, ca: root })

/** Statements and transactions that the database has ended so far. */
async function transactions(): Promise<number> {
  const { rows } = await database.db.pool.query<{ ended: string }>(
    'select xact_commit + xact_rollback as ended from pg_stat_database where datname = current_database()',
  )
  return Number(rows[0]!.ended)
}

/** Does it for every item, so many at a time. */
async function inLanes<T>(lanes: number, items: readonly T[], act: (item: T) => Promise<unknown>): Promise<void> {
  let next = 0
  const run = async () => {
    while (next < items.length) await act(items[next++]!)
  }
  await Promise.all(Array.from({ length: lanes }, run))
}
