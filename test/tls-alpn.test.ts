import { Agent, request } from 'node:https'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createAcmeAuthority } from '../src/certs/acme-authority.ts'
import { generateAccountKey } from '../src/certs/keys.ts'
import { selfCheckTlsAlpn } from '../src/certs/tls-alpn.ts'
import { findChallenges, presentChallenge, withdrawChallenge } from '../src/core/challenges.ts'
import { createAnnouncer } from '../src/core/changes.ts'
import { parseHostname } from '../src/hostname.ts'
import { pause } from '../src/lib/back-off.ts'
import { signal } from '../src/processes.ts'
import { createTlsAlpnOnEdges } from '../src/roles/tls-alpn.ts'
import { startLoad } from './support/load.ts'
import { type Pebble, startPebble } from './support/pebble.ts'
import { freePorts } from './support/ports.ts'
import { createTestDatabase, type TestDatabase } from './support/postgres.ts'
import { openHttp2, openTls, requestHttp2 } from './support/raw-visitor.ts'
import { addVendor, eventually, processesOf, startTree, type Tree } from './support/tree.ts'
import { startUpstream, type Upstream } from './support/upstream.ts'
import { visit } from './support/visitor.ts'

const VISITED = ['shop.localhost', 'store.localhost']
const VALIDATIONS_PER_LANE = 10
const BYTES = 5_000
const PAUSE_MS = 10 // between the requests of one visitor: the machine is not to be saturated

let database: TestDatabase
let tree: Tree
let upstream: Upstream
let pebble: Pebble
let root: string

beforeAll(async () => {
  database = await createTestDatabase()
  upstream = await startUpstream()
  const [httpsPort, closedPort] = await freePorts(2)
  pebble = await startPebble({ tlsPort: httpsPort! }) // nobody listens on its port for HTTP-01
  tree = await startTree({
    env: {
      NAMESAKE_HTTPS_ADDR: `127.0.0.1:${httpsPort}`,
      NAMESAKE_PUBLIC_HTTP_PORT: String(closedPort),
      NAMESAKE_ACME_DIRECTORY: pebble.directoryUrl,
      NAMESAKE_ACME_CA_FILE: pebble.caFile,
      NAMESAKE_DATABASE_URL: database.url,
      NAMESAKE_SECRET: 'a secret of the test that is long enough',
      NAMESAKE_ACCESS_LOG_SAMPLE: '0',
    },
  })
  root = await pebble.rootPem()
  const vendor = await addVendor(tree, 'shop', upstream.url)
  for (const hostname of VISITED) await vendor.claim(hostname)
})

afterAll(async () => {
  await pebble?.stop()
  await tree?.stop()
  await upstream?.stop()
  await database?.drop()
})

test('where port 80 is closed, a claimed hostname gets its certificate by TLS-ALPN-01', async () => {
  for (const hostname of VISITED) await eventually(async () => (await visit(at(hostname))).status === 200, 60_000)
  expect(await validations()).toBeGreaterThanOrEqual(2 * VISITED.length)
})

test("where port 80 is closed, so does the service's own host", async () => {
  const { db } = database
  const issued = async () =>
    (await db.pool.query("select from certificates where hostname = 'edge.localhost' and state = 'issued'")).rowCount
  await eventually(async () => (await issued()) === 1, 60_000)
})

test('fifty validations by TLS-ALPN-01 disturb no visitor, whatever visitors do meanwhile', async () => {
  const { db } = database
  const announcer = createAnnouncer(db)
  const probe = { leadsToEdge: async () => ({ kind: 'yes' as const, addresses: ['127.0.0.1'] }) }
  const { solver } = createTlsAlpnOnEdges({ db, announce: announcer.announce, probe, port: tree.httpsPort })
  const { directoryUrl, caFile } = pebble
  const authority = createAcmeAuthority({ directoryUrl, caFile, accountKeyPem: await generateAccountKey() })
  const edges = await edgePids()
  const closing: (() => void)[] = []
  const load = startLoad(everyKindOfVisitor(closing))
  await eventually(() => load.answered() > 100, 60_000)

  // Of hostnames that visitors are asking for at the same moment, and of some that have no certificate yet.
  const lanes = [...VISITED, 'new1.localhost', 'new2.localhost', 'new3.localhost'].map(async (name) => {
    for (let i = 0; i < VALIDATIONS_PER_LANE; i++)
      await authority.issue(parseHostname(name), { signal: AbortSignal.timeout(30_000), solver })
  })
  const before = load.answered()
  await Promise.all(lanes)
  expect(load.answered() - before).toBeGreaterThan(100)
  await load.stop()
  for (const close of closing) close()
  await announcer.close()

  expect(load.lost).toEqual([])
  expect(await edgePids()).toEqual(edges)
  expect(await validations()).toBeGreaterThanOrEqual(2 * lanes.length * VALIDATIONS_PER_LANE)
  expect(await findChallenges(db, 'tls-alpn-01')).toEqual([])
})

test('a pending challenge is answered by processes that start while it is pending', async () => {
  const { db } = database
  const hostname = parseHostname('pending.localhost')
  const challenge = { type: 'tls-alpn-01', key: hostname, value: 'token.thumbprint' } as const
  const look = () => selfCheckTlsAlpn({ hostname, addresses: ['127.0.0.1'], port: tree.httpsPort, expected: challenge.value })
  await presentChallenge(db, challenge)
  await eventually(async () => (await look()).kind === 'ours')
  const former = await processesOf(tree)
  const killed = former.filter(({ role }) => role === 'edge' || role === 'follower').map(({ pid }) => pid)
  for (const pid of killed) signal(pid, 'SIGKILL')
  await eventually(async () => {
    const present = (await processesOf(tree)).filter(({ ready, pid }) => ready && !killed.includes(pid))
    return present.length === former.length
  }, 60_000)
  const looks = await Promise.all(Array.from({ length: 20 }, look))
  expect(looks.filter(({ kind }) => kind !== 'ours')).toEqual([])
  await withdrawChallenge(db, challenge)
  await eventually(async () => (await look()).kind === 'answered-by-other')
})

const at = (hostname: string) => ({ port: tree.httpsPort, hostname, ca: root, path: `/bytes?count=${BYTES}` })
const edgePids = async () => (await processesOf(tree, 'edge')).map(({ pid }) => pid).sort()

/** By authorities and by our own looks, in all edge processes. */
async function validations(): Promise<number> {
  const metrics = await (await fetch(`${tree.internalUrl}/metrics`)).text()
  return Number(/namesake_edge_handshakes_total\{[^}]*outcome="validated"[^}]*\} (\d+)/.exec(metrics)?.[1])
}

/** All of them check the certificate against the root, as a browser does. */
function everyKindOfVisitor(closing: (() => void)[]): Record<string, () => Promise<unknown>> {
  const lanes: Record<string, () => Promise<unknown>> = {}
  for (const hostname of VISITED) {
    const target = { port: tree.httpsPort, hostname, ca: root }
    lanes[`new HTTP/1.1 connection to ${hostname}`] = async () => expectWhole(await visit(at(hostname)))
    lanes[`new HTTP/2 connection to ${hostname}`] = async () => {
      const session = await openHttp2(target)
      await askHttp2(session, hostname).finally(() => session.close())
    }
    for (const ALPNProtocols of [undefined, ['h2', 'http/1.1'], ['http/1.1', 'acme-tls/1']]) {
      lanes[`handshake with ${hostname} offering ${ALPNProtocols}`] = async () => {
        const socket = await openTls({ ...target, more: { ALPNProtocols } })
        socket.destroy()
        if (socket.alpnProtocol === 'acme-tls/1') throw new Error('an authority’s protocol was chosen')
      }
    }
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    closing.push(() => agent.destroy())
    lanes[`kept HTTP/1.1 connection to ${hostname}`] = async () => expectWhole(await askKept(agent, hostname))
    const kept = openHttp2(target)
    closing.push(() => void kept.then((session) => session.close()))
    lanes[`kept HTTP/2 connection to ${hostname}`] = async () => askHttp2(await kept, hostname)
  }
  return Object.fromEntries(Object.entries(lanes).map(([name, ask]) => [name, () => ask().then(() => pause(PAUSE_MS))]))
}

async function askHttp2(session: Awaited<ReturnType<typeof openHttp2>>, hostname: string): Promise<void> {
  const { headers, body } = await requestHttp2(session, { ':path': `/bytes?count=${BYTES}`, ':authority': hostname })
  expectWhole({ status: headers[':status']!, body })
}

function askKept(agent: Agent, hostname: string): Promise<{ status: number; body: string }> {
  const { port, ca, path } = at(hostname)
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, servername: hostname, ca, agent, path, headers: { host: hostname } }, (answer) => {
      text(answer).then((body) => resolve({ status: answer.statusCode!, body }), reject)
    })
    sent.on('error', reject)
    sent.end()
  })
}

function expectWhole({ status, body }: { status: number; body: string }): void {
  if (status !== 200 || body.length !== BYTES) throw new Error(`status ${status} with ${body.length} bytes`)
}
