import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { addMailJob } from '../src/core/mail-jobs.ts'
import { findProbeTarget, recordProbes } from '../src/core/probes.ts'
import type { Project } from '../src/core/projects.ts'
import { TAKEN_OVER_WITHIN_S } from '../src/core/workers.ts'
import { type Hostname, parseHostname } from '../src/hostname.ts'
import { signal } from '../src/processes.ts'
import { type AcmeStub, startAcmeStub } from './support/acme-stub.ts'
import { type DnsServer, startDnsServer } from './support/dns.ts'
import { startMailServer, type TestMail } from './support/mail.ts'
import { createTestDatabase, type TestDatabase } from './support/postgres.ts'
import { addProject, claim } from './support/tenants.ts'
import { eventually, startTrees, type Tree } from './support/tree.ts'

const SECRET = 'the secret of many workers is longer than 32 bytes'
const EDGE_HOST = 'edge.namesake.example'
const HELD_TIMEOUT_MS = 60_000
const DONE_TIMEOUT_MS = 60_000
const TAKEN_OVER_TIMEOUT_MS = TAKEN_OVER_WITHIN_S * 1_000
const TIMEOUT_MS = 300_000

let database: TestDatabase
let dns: DnsServer
let stub: AcmeStub
let mail: TestMail
let project: Project
let trees: Tree[]
const folders: string[] = []
beforeAll(async () => {
  database = await createTestDatabase()
  dns = await startDnsServer()
  dns.set(EDGE_HOST, 'A', '127.0.0.1')
  stub = await startAcmeStub({ host: '0.0.0.0', processingLooks: 1 }) // not `localhost`: the ledger counts nothing for this machine
  mail = await startMailServer()
  project = await addProject(database.db)
  trees = await startTrees(...[1, 2].map(() => workerOf(mkdtempSync(join(tmpdir(), 'namesake-workers-')))))
}, TIMEOUT_MS)
afterAll(async () => {
  await Promise.all(trees.map((tree) => tree.stop()))
  await Promise.all([stub.stop(), dns.stop(), mail.stop(), database.drop()])
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

function workerOf(dataDir: string) {
  folders.push(dataDir)
  const env = {
    ...{ NAMESAKE_DATABASE_URL: database.url, NAMESAKE_SECRET: SECRET, NAMESAKE_DNS_SERVERS: dns.endpoint },
    ...{ NAMESAKE_EDGE_HOST: EDGE_HOST, NAMESAKE_EDGE_IPS: '127.0.0.1', NAMESAKE_ACME_EMAIL: 'ops@namesake.example' },
    ...{ NAMESAKE_ACME_DIRECTORY: stub.directoryUrl, NAMESAKE_ACME_CA_FILE: stub.caFile },
    ...{ NAMESAKE_SMTP_URL: mail.smtpUrl, NAMESAKE_MAIL_FROM: 'Namesake <namesake@vendor.test>' },
  }
  return { dataDir, env, args: ['--roles', 'worker'] }
}

type Found = { pid: number; version: string; checked: boolean }

async function one(statement: string, ...values: unknown[]): Promise<Found> {
  const { rows } = await database.db.pool.query<Found>(statement, values)
  if (!rows[0]) throw new Error(`nothing found: ${statement}`)
  return rows[0]
}

const pidOfAttempt = async (hostname: Hostname) =>
  (await one('select w.pid from workers w join certificates c on c.leased_by = w.id where c.hostname = $1', hostname)).pid
const HOLDER_OF_MAIL = `select w.pid from workers w join graphile_worker._private_jobs j on j.locked_by = w.id
  where j.payload->>'to' = $1 and w.heartbeat_at > now() - interval '5 s'`
/** Behind a pause of the machine its heartbeat comes again first. */
const pidOfMail = (to: string) => vi.waitFor(async () => (await one(HOLDER_OF_MAIL, to)).pid, { timeout: 30_000 })

async function claimNew(name: string): Promise<Hostname> {
  const hostname = parseHostname(`${name}.customer-of-${name}.com`)
  dns.set(hostname, 'CNAME', EDGE_HOST)
  await claim(database.db, project, hostname)
  return hostname
}

/** Claims and verifies: a worker orders the certificate at once. */
async function awaitsCertificate(name: string): Promise<Hostname> {
  const hostname = await claimNew(name)
  const probe = await findProbeTarget(database.db, project, hostname)
  const report = { state: 'verified' as const, sentence: '', expected: [], found: [], warnings: [], checkedAt: new Date().toISOString() }
  await recordProbes(database.db, [{ probe, report, nextProbeInS: 86_400 }])
  return hostname
}

const isIssued = async (hostname: Hostname) =>
  (await database.db.pool.query('select from certificates where hostname = $1 and chain_pem is not null', [hostname])).rows.length === 1
const ledgerOf = async (hostname: Hostname) =>
  (await database.db.pool.query('select outcome from issuance_orders where hostname = $1 order by id', [hostname])).rows.map(
    (row) => row.outcome,
  )
const ordersFor = (hostname: Hostname) => stub.orders.filter(({ names }) => names.includes(hostname)).length
const mailsTo = (address: string) => mail.received.filter(({ to }) => to.includes(address))
const messageId = ({ raw }: { raw: string }) => /^Message-ID: (\S+)/im.exec(raw)![1]

const invite = (to: string) => addMailJob(database.db, { kind: 'invitation', to, projectName: 'Shop', role: 'member', invitedBy: null })

async function reached(moment: Promise<void>): Promise<void> {
  let come = false
  void moment.then(() => (come = true))
  await eventually(() => come, HELD_TIMEOUT_MS)
}

test('a worker killed in an order is replaced within seconds, and the order is not made twice', { timeout: TIMEOUT_MS }, async () => {
  const held = stub.hold('challenge', 'received')
  const hostname = await awaitsCertificate('killed-in-order')
  await reached(held.reached)
  process.kill(await pidOfAttempt(hostname), 'SIGKILL')
  held.drop()
  await eventually(() => isIssued(hostname), TAKEN_OVER_TIMEOUT_MS + DONE_TIMEOUT_MS)
  expect(ordersFor(hostname)).toBe(1)
  expect(await ledgerOf(hostname)).toEqual(['issued'])
})

test('a worker killed in a mail is replaced within seconds, and the mail has one Message-ID however often it comes', {
  timeout: TIMEOUT_MS,
}, async () => {
  const held = mail.hold()
  await invite('killed@vendor.test')
  await reached(held.reached)
  process.kill(await pidOfMail('killed@vendor.test'), 'SIGKILL')
  await eventually(() => mailsTo('killed@vendor.test').length > 0, TAKEN_OVER_TIMEOUT_MS + DONE_TIMEOUT_MS)
  expect(mailsTo('killed@vendor.test')).toHaveLength(1)
  held.release() // the mail server had all of it when the sender died: it may deliver it too
  await eventually(() => mailsTo('killed@vendor.test').length === 2)
  const [first, second] = mailsTo('killed@vendor.test').map(messageId)
  expect(first).toBe(second)
  expect(first).toMatch(/^<[0-9a-f]{40}@vendor\.test>$/)
})

test("a killed worker's DNS check is made by another within seconds", { timeout: TIMEOUT_MS }, async () => {
  dns.behave('killed-in-probe.customer-of-killed-in-probe.com', { latencyMs: 2_000 })
  const hostname = await claimNew('killed-in-probe')
  const claimed =
    'select w.pid from workers w join probes p on p.claimed_by = w.id join domains d on d.id = p.domain_id where d.hostname = $1'
  await eventually(() => one(claimed, hostname).then(() => true))
  process.kill((await one(claimed, hostname)).pid, 'SIGKILL')
  const checked =
    'select p.checked_at is not null as checked, 0 as pid from probes p join domains d on d.id = p.domain_id where d.hostname = $1'
  expect((await one(checked, hostname)).checked).toBe(false)
  await eventually(async () => (await one(checked, hostname)).checked, TAKEN_OVER_TIMEOUT_MS + DONE_TIMEOUT_MS)
})

test('a worker that was frozen and lost its order meanwhile writes nothing over what the other one brought', {
  timeout: TIMEOUT_MS,
}, async () => {
  const held = stub.hold('challenge', 'received')
  const hostname = await awaitsCertificate('frozen')
  await reached(held.reached)
  const frozen = await pidOfAttempt(hostname)
  process.kill(frozen, 'SIGSTOP')
  try {
    held.release()
    await eventually(() => isIssued(hostname), TAKEN_OVER_TIMEOUT_MS + DONE_TIMEOUT_MS)
    const before = await one('select version::text, 0 as pid from certificates where hostname = $1', hostname)
    process.kill(frozen, 'SIGCONT')
    await eventually(() => trees.some((tree) => tree.output().includes('later attempt')), DONE_TIMEOUT_MS)
    expect(await one('select version::text, 0 as pid from certificates where hostname = $1', hostname)).toEqual(before)
  } finally {
    signal(frozen, 'SIGCONT')
  }
  expect(ordersFor(hostname)).toBe(1)
  expect(await ledgerOf(hostname)).toEqual(['issued'])
})
