import { createServer } from 'node:http'
import { Agent, request } from 'node:https'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { closeDatabase, connectDatabase, type Db } from '../src/core/db.ts'
import { pause } from '../src/lib/back-off.ts'
import { signal } from '../src/processes.ts'
import { administer, type PostgresServer, sibling, startPostgres } from './support/postgres-server.ts'
import { addVendor, eventually, localRoot, processesOf, startTrees, type Tree, type Vendor } from './support/tree.ts'
import { visit } from './support/visitor.ts'

const HOSTNAME = 'shop.localhost'
const SECRET = 'a secret of the fleet of 32 bytes or more'
/** What the product promises, and what a machine that runs other tests beside this one is allowed on top. */
const PROMISE_MS = 1_000
const NOISE_FACTOR = 3

// A server of its own: the feed waits for the oldest transaction of the whole server, and other test files hold theirs open.
let server: PostgresServer
let db: Db
let here: Tree
let there: Tree
let vendor: Vendor
let root: string
const upstreams = { blue: createServer((_, response) => response.end('blue')), green: createServer((_, response) => response.end('green')) }

beforeAll(async () => {
  server = await startPostgres({ durable: false })
  await administer(server.adminUrl, 'create database fleet')
  const url = sibling(server.adminUrl, 'fleet')
  db = connectDatabase(url, { applicationName: 'test' })
  const env = { NAMESAKE_DATABASE_URL: url, NAMESAKE_SECRET: SECRET, NAMESAKE_ACCESS_LOG_SAMPLE: '0' }
  ;[here, there] = (await startTrees({ env }, { env, args: ['--roles', 'api,edge'] })) as [Tree, Tree]
  for (const upstream of Object.values(upstreams)) await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve))
  vendor = await addVendor(here, 'shop', urlOf('blue'))
  root = localRoot(here)
  await vendor.claim(HOSTNAME)
  for (const tree of [here, there]) {
    await eventually(async () => (await visit({ port: tree.httpsPort, hostname: HOSTNAME, ca: root })).status === 200, 60_000)
  }
})

afterAll(async () => {
  await Promise.all([here?.stop(), there?.stop()])
  for (const upstream of Object.values(upstreams)) upstream.close()
  if (db) await closeDatabase(db)
  await server?.stop()
})

test('both machines, started at once on an empty database, came up with one schema and one root of trust', () => {
  expect(localRoot(there)).toBe(root)
})

test('a changed upstream URL holds on every edge process of every machine within a second', async () => {
  const visitors = await visitorOfEveryEdgeProcess()
  const asking = startAsking(visitors.map(({ ask }) => ask))
  await asking.eachHasSeen('200 blue')
  await here.command('projects', 'update', '--slug', vendor.slug, '--upstream', urlOf('green'))
  await asking.eachHasSeen('200 green')
  await asking.stop()
  for (const visitor of visitors) visitor.leave()
  expect(asking.others('200 blue', '200 green')).toEqual([])
  expect(Math.max(...asking.lastSeen('200 blue')) - (await changedAt('project'))).toBeLessThan(PROMISE_MS * NOISE_FACTOR)
})

test('a removed hostname is gone from every edge process of every machine within a second', async () => {
  const hostname = 'leaving.localhost'
  await vendor.claim(hostname)
  const visitors = await visitorOfEveryEdgeProcess(hostname)
  const asking = startAsking(visitors.map(({ ask }) => ask))
  await asking.eachHasSeen('200 green')
  const removed = await vendor.call(`/v1/edge/domains/${hostname}`, { method: 'DELETE', at: there })
  expect(removed.status).toBe(204)
  await asking.eachHasSeen('404')
  await asking.stop()
  for (const visitor of visitors) visitor.leave()
  expect(asking.others('200 green', '404')).toEqual([])
  expect(Math.max(...asking.lastSeen('200 green')) - (await changedAt('host'))).toBeLessThan(PROMISE_MS * NOISE_FACTOR)
})

test('a revoked token is refused on every machine within a second, however warm it was in their memory', async () => {
  const asking = startAsking([here, there].map((at) => async () => String((await vendor.call('/v1/edge/domains', { at })).status)))
  await asking.eachHasSeen('200')
  const [token] = await here.command<{ id: string }[]>('tokens', 'list', '--project', vendor.slug)
  await here.command('tokens', 'revoke', '--project', vendor.slug, token!.id)
  await asking.eachHasSeen('401')
  await asking.stop()
  expect(asking.others('200', '401')).toEqual([])
  expect(Math.max(...asking.lastSeen('200')) - (await changedAt('token'))).toBeLessThan(PROMISE_MS * NOISE_FACTOR)
})

const urlOf = (colour: 'blue' | 'green') => `http://127.0.0.1:${(upstreams[colour].address() as AddressInfo).port}`

/** When the last change of this kind was made, by the database's clock, which is this machine's. */
async function changedAt(kind: string): Promise<number> {
  const { rows } = await db.pool.query<{ created_at: Date }>(
    'select created_at from changes where kind = $1 order by created_at desc limit 1',
    [kind],
  )
  return rows[0]!.created_at.getTime()
}

type Visitor = { ask(): Promise<string>; leave(): void }

/** One kept connection to each edge process of both machines: its siblings are stopped while it is opened, so that none of them can take it. */
async function visitorOfEveryEdgeProcess(hostname = HOSTNAME): Promise<Visitor[]> {
  const visitors: Visitor[] = []
  for (const tree of [here, there]) {
    const pids = (await processesOf(tree, 'edge')).map(({ pid }) => pid)
    expect(pids).toHaveLength(2)
    for (const pid of pids) {
      const siblings = pids.filter((other) => other !== pid)
      for (const sibling of siblings) signal(sibling, 'SIGSTOP')
      try {
        const visitor = keptVisitor(tree, hostname)
        visitors.push(visitor)
        await eventually(async () => (await visitor.ask()).startsWith('200'))
      } finally {
        for (const sibling of siblings) signal(sibling, 'SIGCONT')
      }
    }
  }
  return visitors
}

function keptVisitor(tree: Tree, hostname: string): Visitor {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const target = { host: '127.0.0.1', port: tree.httpsPort, servername: hostname, ca: root, agent, headers: { host: hostname } }
  const ask = () =>
    new Promise<string>((resolve, reject) => {
      const sent = request(target, (answer) => {
        const status = answer.statusCode!
        text(answer).then((body) => resolve(status === 200 ? `${status} ${body}` : String(status)), reject)
      })
      sent.on('error', reject).end()
    })
  return { ask, leave: () => agent.destroy() }
}

const ASK_EVERY_MS = 10

/** Asks on every lane again and again, and notes when a question was put and what came back. */
function startAsking(lanes: (() => Promise<string>)[]) {
  const seen = lanes.map((): { askedAt: number; answer: string }[] => [])
  let stopped = false
  const run = async (lane: number) => {
    while (!stopped) {
      const askedAt = Date.now()
      const answer = await lanes[lane]!().catch((error: Error) => error.message)
      seen[lane]!.push({ askedAt, answer })
      await pause(ASK_EVERY_MS)
    }
  }
  const running = Promise.all(lanes.map((_, lane) => run(lane)))
  return {
    eachHasSeen: (wanted: string) => eventually(() => seen.every((lane) => lane.at(-1)?.answer === wanted)),
    /** When each lane last put a question that was answered so. */
    lastSeen: (wanted: string) => seen.map((lane) => lane.findLast(({ answer }) => answer === wanted)!.askedAt),
    others: (...expected: string[]) => seen.flat().filter(({ answer }) => !expected.includes(answer)),
    async stop() {
      stopped = true
      await running
    },
  }
}
