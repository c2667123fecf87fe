import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { nameOf, signal } from '../src/processes.ts'
import { drawLine } from './support/cut-line.ts'
import { createTestDatabase } from './support/postgres.ts'
import { addVendor, eventually, localRoot, processesOf, startTree, type Tree, type Vendor } from './support/tree.ts'
import { startUpstream, type Upstream } from './support/upstream.ts'
import { handshake, knock, recordClientHello, renamed, visit } from './support/visitor.ts'

const SHOP = 'shop.localhost'
const NOBODYS = 'nobodys.localhost'
const SECRET = 'a secret of the outage of 32 bytes or more'
const NOTICED_LAG_MS = 5_000
const REFUSAL_MS_MAX = 5_000

type Outage = { tree: Tree; begin(): Promise<void>; end(): Promise<void>; stop(): Promise<void> }

/** The embedded server is there and says nothing more. */
async function silence(): Promise<Outage> {
  const tree = await startTree()
  let frozen: number[] = []
  const end = async () => {
    for (const pid of frozen.splice(0)) signal(pid, 'SIGCONT')
  }
  return {
    tree,
    async begin() {
      // Its first process makes the others: once it is stopped, there are no more than these.
      const isServer = (pid: number) => nameOf(pid).startsWith('postgres')
      const first = tree.pids().find(isServer)!
      signal(first, 'SIGSTOP')
      frozen = tree.pids().filter(isServer)
      for (const pid of frozen) signal(pid, 'SIGSTOP')
    },
    end,
    async stop() {
      await end()
      await tree.stop()
    },
  }
}

/** An external server to which there is no way any more. */
async function lostWay(): Promise<Outage> {
  const database = await createTestDatabase()
  const line = await drawLine(database.url)
  const tree = await startTree({ env: { NAMESAKE_DATABASE_URL: line.url, NAMESAKE_SECRET: SECRET } })
  return {
    tree,
    begin: line.cut,
    end: line.mend,
    async stop() {
      await tree.stop()
      await line.cut()
      await database.drop()
    },
  }
}

let upstream: Upstream

beforeAll(async () => {
  upstream = await startUpstream()
})

afterAll(() => upstream.stop())

describe.each([
  ['the embedded database falls silent', silence],
  ['the external database can no longer be reached', lostWay],
])('while %s', (_, prepare) => {
  let outage: Outage
  let tree: Tree
  let vendor: Vendor
  let root: string

  beforeAll(async () => {
    outage = await prepare()
    tree = outage.tree
    root = localRoot(tree)
    vendor = await addVendor(tree, 'shop', upstream.url)
    await vendor.claim(SHOP)
    await eventually(async () => (await visitShop()) === 200, 60_000)
    expect(await certificateCheck(SHOP)).toBe(200)
    expect((await resolveShop()).status).toBe(200)
    await outage.begin()
    await eventually(async () => (await lags()).every((lag) => lag > NOTICED_LAG_MS), 60_000)
  }, 90_000)

  afterAll(() => outage?.stop(), 60_000)

  const visitShop = async () => (await visit({ port: tree.httpsPort, hostname: SHOP, ca: root })).status
  const resolveShop = () => vendor.call(`/v1/edge/resolve?hostname=${SHOP}`)
  const lags = async () => (await processesOf(tree)).flatMap(({ role, lagMs }) => (role === 'edge' || role === 'follower' ? [lagMs!] : []))
  const certificateCheck = async (domain: string) => (await fetch(`${tree.internalUrl}/internal/certificate-check?domain=${domain}`)).status

  test('registered hostnames go on being served, on new connections, by every edge process', async () => {
    const statuses = await Promise.all(Array.from({ length: 40 }, visitShop))
    expect(new Set(statuses)).toEqual(new Set([200]))
  })

  test('hostnames that nobody claimed are refused in TLS, soon', async () => {
    const begun = performance.now()
    await expect(handshake({ port: tree.httpsPort, hostname: NOBODYS, ca: root })).rejects.toThrow(/handshake failure/)
    expect(performance.now() - begun).toBeLessThan(REFUSAL_MS_MAX)
  })

  test('a crowd of them is refused as soon, and the registered ones are served beside it', async () => {
    const hello = await recordClientHello('00000.nobodys.localhost')
    const crowd = Array.from({ length: 500 }, (_, i) => knock(tree.httpsPort, renamed(hello, '00000', String(10_000 + i))))
    const begun = performance.now()
    expect(await visitShop()).toBe(200)
    await Promise.all(crowd)
    expect(performance.now() - begun).toBeLessThan(REFUSAL_MS_MAX)
  })

  test('the certificate check tells registered hostnames from others, soon', async () => {
    const begun = performance.now()
    expect([await certificateCheck(SHOP), await certificateCheck(NOBODYS)]).toEqual([200, 404])
    expect(performance.now() - begun).toBeLessThan(REFUSAL_MS_MAX)
  })

  test('applications are still told to whom a registered hostname belongs', async () => {
    const answer = await resolveShop()
    expect([answer.status, await answer.json()]).toEqual([200, expect.objectContaining({ hostname: SHOP, projectSlug: 'shop' })])
  })

  test('the lag shows in the metrics, and the tree still counts as ready', async () => {
    expect((await fetch(`${tree.internalUrl}/ready`)).status).toBe(200)
    const metrics = await (await fetch(`${tree.internalUrl}/metrics`)).text()
    expect(Number(/^namesake_feed_lag_seconds (\S+)$/m.exec(metrics)?.[1])).toBeGreaterThan(NOTICED_LAG_MS / 1_000)
    expect(metrics).toMatch(/^namesake_orders_total\{outcome="refused"\} \d+$/m) // before the first one, too
    expect(metrics).toMatch(/^namesake_probes_total\{state="loop"\} 0$/m)
    expect(metrics).toMatch(/^namesake_edge_upstream_errors_total\{reason="tls"\} 0$/m)
  })

  test('they are told so too after the follower has died and come back meanwhile', async () => {
    const [former] = await processesOf(tree, 'follower')
    signal(former!.pid, 'SIGKILL')
    await eventually(async () => (await processesOf(tree, 'follower')).some(({ pid }) => pid !== former!.pid), 60_000)
    expect((await resolveShop()).status).toBe(200)
  })

  test('after its return everything catches up: a new claim is verified, certified and served', async () => {
    await outage.end()
    await eventually(async () => (await lags()).every((lag) => lag < NOTICED_LAG_MS), 60_000)
    await eventually(async () => (await vendor.claim(NOBODYS)) === undefined, 60_000)
    await eventually(async () => (await visit({ port: tree.httpsPort, hostname: NOBODYS, ca: root })).status === 200, 60_000)
  })
})
