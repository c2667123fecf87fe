import { mkdtempSync, rmSync } from 'node:fs'
import { Agent, request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type FormerRelease, unpackFormerRelease } from './support/former-release.ts'
import { startLoad } from './support/load.ts'
import { createTestDatabase } from './support/postgres.ts'
import { addVendor, eventually, localRoot, startTree, type Tree, type Vendor } from './support/tree.ts'
import { startUpstream, type Upstream } from './support/upstream.ts'
import { visit } from './support/visitor.ts'

const SHOP = 'shop.localhost'
const SECRET = 'a secret of two releases of 32 bytes or more'
const NOWHERE = 'postgres://namesake@127.0.0.1:1/namesake'
const ANSWERS_BEFORE_MORE = 100

let release: FormerRelease
let database: Awaited<ReturnType<typeof createTestDatabase>>
let upstream: Upstream
let former: Tree
let vendor: Vendor
const folders: string[] = []

const dataDir = () => {
  const folder = mkdtempSync(join(tmpdir(), 'namesake-releases-'))
  folders.push(folder)
  return folder
}
const env = () => ({
  NAMESAKE_DATABASE_URL: database.url,
  NAMESAKE_SECRET: SECRET,
  NAMESAKE_EDGE_WORKERS: '1',
  NAMESAKE_ACCESS_LOG_SAMPLE: '0',
})
const serves = async (tree: Tree, hostname = SHOP) =>
  (await visit({ port: tree.httpsPort, hostname, ca: localRoot(former) }).catch(() => undefined))?.status === 200

beforeAll(async () => {
  release = unpackFormerRelease()
  database = await createTestDatabase() // with today's migrations
  upstream = await startUpstream()
  former = await startTree({ launcher: release.launcher, cwd: release.folder, dataDir: dataDir(), env: env() })
})

afterAll(async () => {
  await former?.stop()
  await upstream?.stop()
  await database?.drop()
  release?.remove()
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

test("yesterday's release claims, verifies, issues and serves on today's schema", async () => {
  vendor = await addVendor(former, 'shop', upstream.url)
  await vendor.claim(SHOP)
  await eventually(() => serves(former), 60_000)
  const isVerified = async () => {
    const claimed = (await (await vendor.call(`/v1/edge/domains/${SHOP}`)).json()) as { verified: boolean }
    return claimed.verified
  }
  await eventually(isVerified, 60_000)
})

test("both releases serve one database, and visitors move from yesterday's to today's without losing a request", async () => {
  const today = await startTree({ dataDir: dataDir(), env: env() })
  try {
    let place = former
    const load = startLoad({
      'new connection': async () => expectServed((await visit({ port: place.httpsPort, hostname: SHOP, ca: localRoot(former) })).status),
      'kept connection to yesterday': keptVisitor(() => place.httpsPort),
      'kept connection of another': keptVisitor(() => place.httpsPort),
      resolve: async () => expectServed((await vendor.call(`/v1/edge/resolve?hostname=${SHOP}`, { at: place })).status),
    })
    const more = async () => {
      const before = load.answered()
      await eventually(() => load.answered() > before + ANSWERS_BEFORE_MORE || load.lost.length > 0, 60_000)
    }
    await more()
    expect((await vendor.call('/v1/edge/domains', { method: 'POST', body: { hostname: 'old.localhost' }, at: former })).status).toBe(200)
    expect((await vendor.call('/v1/edge/domains', { method: 'POST', body: { hostname: 'new.localhost' }, at: today })).status).toBe(200)
    for (const tree of [former, today]) {
      for (const hostname of ['old.localhost', 'new.localhost']) await eventually(() => serves(tree, hostname), 60_000)
    }
    place = today // as a balancer does it: new ones go there, those on the way end
    await more()
    expect(await former.stop()).toBe(0)
    await more()
    await load.stop()
    expect(load.lost).toEqual([])
  } finally {
    await today.stop()
  }
})

test("today's edge serves from the copy that yesterday's release made, with the database away", async () => {
  await former.stop()
  const today = await startTree({
    dataDir: former.dataDir,
    env: { ...env(), NAMESAKE_DATABASE_URL: NOWHERE },
    args: ['--roles', 'edge'],
    awaitReady: false,
  })
  try {
    await eventually(() => serves(today), 60_000)
    expect(await serves(today, 'nobodys.localhost')).toBe(false)
  } finally {
    await today.stop()
  }
})

/** One connection at a time, kept while the server keeps it. */
function keptVisitor(port: () => number): () => Promise<void> {
  const agents = new Map<number, Agent>()
  return async () => {
    const agent = agents.get(port()) ?? new Agent({ keepAlive: true, maxSockets: 1 })
    agents.set(port(), agent)
    const target = { host: '127.0.0.1', port: port(), servername: SHOP, ca: localRoot(former), agent, headers: { host: SHOP } }
    const answer = await new Promise<{ status: number }>((resolve, reject) => {
      const sent = request(target, (incoming) => void text(incoming).then(() => resolve({ status: incoming.statusCode! }), reject))
      sent.on('error', reject).end()
    })
    expectServed(answer.status)
  }
}

function expectServed(status: number): void {
  if (status !== 200) throw new Error(`status ${status}`)
}
