import { createPrivateKey, X509Certificate } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { findProbeTarget, recordProbes } from '../src/core/probes.ts'
import type { Project } from '../src/core/projects.ts'
import { type Hostname, parseHostname } from '../src/hostname.ts'
import { createSealer } from '../src/lib/seal.ts'
import { signal } from '../src/processes.ts'
import { type AcmeStub, type StubStep, startAcmeStub } from './support/acme-stub.ts'
import { type DnsServer, startDnsServer } from './support/dns.ts'
import { createTestDatabase, type TestDatabase } from './support/postgres.ts'
import type { HoldPoint } from './support/stub-holds.ts'
import { addProject, claim } from './support/tenants.ts'
import { eventually, startTree, type Tree } from './support/tree.ts'

const SECRET = 'the secret of a crashing worker is longer than 32 bytes'
const EDGE_HOST = 'edge.namesake.example'
const REACHED_TIMEOUT_MS = 60_000
const ISSUED_TIMEOUT_MS = 60_000
const TIMEOUT_MS = 400_000 // up to six starts, on a machine that may be busy with other tests

let database: TestDatabase
let dns: DnsServer
let stub: AcmeStub
let project: Project
let dataDir: string
let crashes = 0
beforeAll(async () => {
  database = await createTestDatabase()
  dns = await startDnsServer()
  dns.set(EDGE_HOST, 'A', '127.0.0.1')
  // Not `localhost`: the ledger counts nothing for a directory on this machine.
  stub = await startAcmeStub({ host: '0.0.0.0', processingLooks: 1 })
  project = await addProject(database.db)
  dataDir = mkdtempSync(join(tmpdir(), 'namesake-crash-'))
})
afterAll(async () => {
  await Promise.all([stub.stop(), dns.stop(), database.drop()])
  rmSync(dataDir, { recursive: true, force: true })
})

async function startWorker(): Promise<Tree> {
  const tree = await startTree({
    dataDir,
    args: ['--roles', 'worker'],
    env: {
      ...{ NAMESAKE_DATABASE_URL: database.url, NAMESAKE_SECRET: SECRET, NAMESAKE_DNS_SERVERS: dns.endpoint },
      ...{ NAMESAKE_EDGE_HOST: EDGE_HOST, NAMESAKE_EDGE_IPS: '127.0.0.1', NAMESAKE_ACME_EMAIL: 'ops@namesake.example' },
      ...{ NAMESAKE_ACME_DIRECTORY: stub.directoryUrl, NAMESAKE_ACME_CA_FILE: stub.caFile },
    },
  })
  onTestFinished(() => killAll(tree))
  return tree
}

/** Says what the worker said when the moment does not come. */
async function inTime(moment: Promise<void>, tree: Tree): Promise<void> {
  let come = false
  void moment.then(() => (come = true))
  await eventually(() => come, REACHED_TIMEOUT_MS).catch((cause) => {
    throw new Error(`the worker did not come that far: ${tree.output()}`, { cause })
  })
}

async function killAll(tree: Tree): Promise<void> {
  if (tree.process.exitCode !== null || tree.process.signalCode !== null) return
  const gone = new Promise((resolve) => tree.process.once('exit', resolve))
  for (const pid of tree.pids()) signal(pid, 'SIGKILL')
  await gone
}

/** Claims and verifies a hostname of its own: a worker orders its certificate as soon as there is one. */
async function awaitsCertificate(): Promise<Hostname> {
  const hostname = parseHostname(`h${++crashes}.crash${crashes}.com`)
  dns.set(hostname, 'CNAME', EDGE_HOST)
  await claim(database.db, project, hostname)
  const probe = await findProbeTarget(database.db, project, hostname)
  const report = { state: 'verified' as const, sentence: '', expected: [], found: [], warnings: [], checkedAt: new Date().toISOString() }
  await recordProbes(database.db, [{ probe, report, nextProbeInS: 86_400 }])
  return hostname
}

/** What was left to the dead worker for three minutes is free, and its job too. */
async function threeMinutesLater(hostname: Hostname): Promise<void> {
  await database.db.pool.query(
    `update certificates set lease_until = lease_until - interval '4 minutes', next_attempt_at = least(next_attempt_at, now()) where hostname = $1`,
    [hostname],
  )
}

async function certificateOf(hostname: Hostname): Promise<{ chain_pem: string; sealed_key: Buffer } | undefined> {
  const { rows } = await database.db.pool.query(`select * from certificates where hostname = $1 and chain_pem is not null`, [hostname])
  return rows[0]
}

async function ledgerEntriesOf(hostname: Hostname): Promise<string[]> {
  const { rows } = await database.db.pool.query('select outcome from issuance_orders where hostname = $1 order by id', [hostname])
  return rows.map(({ outcome }) => outcome)
}

const ordersFor = (hostname: Hostname) => stub.orders.filter(({ names }) => names.includes(hostname))

/** Sealed keys of this hostname anywhere but in its certificate. */
async function keysUnderWay(hostname: Hostname): Promise<number> {
  const { rows: columns } = await database.db.pool.query<{ table: string; column: string }>(
    `select c.table_name as "table", c.column_name as "column" from information_schema.columns c
       join information_schema.columns h on h.table_schema = 'public' and h.table_name = c.table_name and h.column_name = 'hostname'
      where c.table_schema = 'public' and c.data_type = 'bytea' and (c.table_name, c.column_name) <> ('certificates', 'sealed_key')`,
  )
  let keys = 0
  for (const { table, column } of columns) {
    const held = await database.db.pool.query(`select 1 from "${table}" where hostname = $1 and "${column}" is not null`, [hostname])
    keys += held.rows.length
  }
  return keys
}

/** A new worker brings it to an end: one certificate whose key is ours, so many orders, these entries in the ledger, and nothing left under way. */
async function expectRecovery(hostname: Hostname, orders = 1, entries = ['issued']): Promise<void> {
  await threeMinutesLater(hostname)
  const tree = await startWorker()
  await eventually(async () => (await certificateOf(hostname)) !== undefined, ISSUED_TIMEOUT_MS)
  const { chain_pem, sealed_key } = (await certificateOf(hostname))!
  const keyPem = createSealer([SECRET], 'certificate-keys').open(sealed_key, hostname).toString()
  expect(new X509Certificate(chain_pem).checkPrivateKey(createPrivateKey(keyPem))).toBe(true)
  expect(ordersFor(hostname)).toHaveLength(orders)
  await eventually(async () => (await keysUnderWay(hostname)) === 0)
  expect(await ledgerEntriesOf(hostname)).toEqual(entries)
  await killAll(tree)
}

// One order each, but where the answer to newOrder was lost: the authority has it, and nobody knows its address. Whether a newOrder arrived
// at all cannot be known, so the ledger counts it; what was never sent it gives back.
test.for<[StubStep, HoldPoint, number?, string[]?]>([
  ['account', 'received'],
  ['new-order', 'received', 1, ['under-way', 'issued']],
  ['new-order', 'answered', 2, ['under-way', 'issued']],
  ['authorization', 'received'],
  ['authorization', 'answered'],
  ['challenge', 'received'],
  ['challenge', 'answered'],
  ['order', 'received'],
  ['order', 'answered'],
  ['finalize', 'received'],
  ['finalize', 'answered'],
  ['certificate', 'received'],
  ['certificate', 'answered'],
])(
  'a worker killed when the request %s is %s leaves an order that the next one ends',
  { timeout: TIMEOUT_MS },
  async ([step, point, orders, entries]) => {
    const held = stub.hold(step, point)
    const hostname = await awaitsCertificate()
    const tree = await startWorker()
    await inTime(held.reached, tree)
    await killAll(tree)
    held.drop()
    await expectRecovery(hostname, orders, entries)
  },
)

test('an order in which one worker after the other is killed is ended by the last of them', { timeout: TIMEOUT_MS }, async () => {
  const deaths: [StubStep, HoldPoint][] = [
    ['account', 'answered'],
    ['authorization', 'answered'],
    ['challenge', 'answered'],
    ['finalize', 'answered'],
    ['certificate', 'answered'],
  ]
  const hostname = await awaitsCertificate()
  for (const [step, point] of deaths) {
    const held = stub.hold(step, point)
    const tree = await startWorker()
    await inTime(held.reached, tree)
    await killAll(tree)
    held.drop()
    await threeMinutesLater(hostname)
  }
  await expectRecovery(hostname)
})

test('a worker killed just before it stores the certificate costs no second order', { timeout: TIMEOUT_MS }, async () => {
  const held = stub.hold('certificate', 'answered')
  const hostname = await awaitsCertificate()
  const tree = await startWorker()
  await inTime(held.reached, tree)
  const blocker = new pg.Client({ connectionString: database.url })
  await blocker.connect()
  await blocker.query('begin')
  await blocker.query('select from certificates where hostname = $1 for update', [hostname])
  held.release()
  await eventually(async () => {
    const { rows } = await database.db.pool.query(
      `select from pg_stat_activity where datname = current_database() and application_name = 'namesake worker' and wait_event_type = 'Lock'`,
    )
    return rows.length > 0
  })
  await killAll(tree)
  await database.db.pool.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'namesake worker'`,
  )
  await blocker.query('rollback')
  await blocker.end()
  expect(await certificateOf(hostname)).toBeUndefined()
  await expectRecovery(hostname)
})

test('a worker killed just after it stored the certificate leaves nothing to do', { timeout: TIMEOUT_MS }, async () => {
  const hostname = await awaitsCertificate()
  const tree = await startWorker()
  await eventually(async () => (await certificateOf(hostname)) !== undefined, ISSUED_TIMEOUT_MS, 2)
  await killAll(tree)
  await expectRecovery(hostname)
})
