import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { placeAfterAll } from '../../test/support/feed.ts'
import { createTestDatabase, type TestDatabase } from '../../test/support/postgres.ts'
import { addProject, CLAIM_RULES, claim, freshHostname } from '../../test/support/tenants.ts'
import type { Hostname } from '../hostname.ts'
import { type CheckLiveParts, checkLive } from '../jobs/check-live.ts'
import { beginIssuance, recordCertificate } from './certificates.ts'
import { type Cursor, currentCursor } from './changes.ts'
import type { Db } from './db.ts'
import type { DnsState } from './dns-report.ts'
import { findStatuses } from './domain-status.ts'
import { findDomain, removeDomain } from './domains.ts'
import { beatEdge, type EdgeAddress } from './edges.ts'
import { findLiveCheck, LIVE_TRIES_MAX, type LiveOutcome } from './live-checks.ts'
import { findProbeTarget, recordProbes } from './probes.ts'
import type { Project } from './projects.ts'
import { claimDueRenewalInfo } from './renewals.ts'

const SEEN: LiveOutcome = { kind: 'seen' }
const NOT_SEEN: LiveOutcome = { kind: 'not-seen', sentence: 'Nobody answered.' }
const YEAR_MS = 365 * 86_400_000

let database: TestDatabase
let db: Db
beforeAll(async () => {
  database = await createTestDatabase()
  db = database.db
})
afterAll(() => database.drop())

async function probed(project: Project, hostname: Hostname, state: DnsState): Promise<void> {
  const probe = await findProbeTarget(db, project, hostname)
  const report = { state, sentence: '', expected: [], found: [], warnings: [], checkedAt: new Date().toISOString() }
  await recordProbes(db, [{ probe, report, nextProbeInS: 300 }])
}

async function certified(hostname: Hostname, serial: string): Promise<void> {
  await db.pool.query(`update certificates set renew_at = now(), next_attempt_at = null where hostname = $1`, [hostname])
  expect(await beginIssuance(db, hostname)).toMatchObject({ kind: 'go' })
  const notAfter = new Date(Date.now() + YEAR_MS)
  const certificate = { chainPem: 'chain', sealedKey: Buffer.from('key'), issuer: 'CN=Test', serial, notBefore: new Date(), notAfter }
  await recordCertificate(db, hostname, { ...certificate, renewAt: notAfter })
}

async function prepare(): Promise<{ project: Project; hostname: Hostname; status(): Promise<string | undefined> }> {
  const project = await addProject(db)
  const hostname = freshHostname()
  await claim(db, project, hostname)
  await probed(project, hostname, 'verified')
  await certified(hostname, '0a')
  return { project, hostname, status: async () => (await findStatuses(db, project.id, [hostname])).get(hostname) }
}

const visited = (hostname: Hostname, outcome: LiveOutcome) => checkLive({ db, visit: async () => outcome }, { hostname })

async function jobs(hostname: Hostname): Promise<number> {
  const { rowCount } = await db.pool.query(`select from graphile_worker.jobs where key = $1`, [`live:${hostname}`])
  return rowCount!
}

test('a domain with record and certificate is live once a request of our own has come through', async () => {
  const { project, hostname, status } = await prepare()
  expect(await status()).toBe('certificate-pending')
  expect(await jobs(hostname)).toBe(1)
  await visited(hostname, NOT_SEEN)
  expect(await status()).toBe('certificate-pending')
  expect((await findDomain(db, project, hostname, CLAIM_RULES)).live).toEqual({ seenAt: null, sentence: null })
  await visited(hostname, SEEN)
  expect(await status()).toBe('live')
  expect((await findDomain(db, project, hostname, CLAIM_RULES)).live).toEqual({ seenAt: expect.any(String), sentence: null })
})

test('edges are waited for again when route or certificate changes for them, and not for what no edge is told', async () => {
  const { project, hostname } = await prepare()
  const xid = async () => BigInt((await findLiveCheck(db, hostname))!.xid)
  const first = await xid()
  await claimDueRenewalInfo(db, 1_000, 60)
  expect(await xid()).toBe(first)
  await certified(hostname, '0b')
  const renewed = await xid()
  expect(renewed).toBeGreaterThan(first)
  await claim(db, project, hostname, '{"plan":"gold"}')
  expect(await xid()).toBeGreaterThan(renewed)
})

test('a transaction of the database that a restored one was taken from is not waited for', async () => {
  const { hostname } = await prepare()
  await db.pool.query(`update domains set xid = '9000000000000000000' where hostname = $1`, [hostname])
  const { rows } = await db.pool.query<{ xid: string }>('select xid::text from certificates where hostname = $1', [hostname])
  expect((await findLiveCheck(db, hostname))?.xid).toBe(rows[0]!.xid)
})

test('where no request ever comes through, it counts as live after some tries, and a sentence says why', async () => {
  const { project, hostname, status } = await prepare()
  for (let n = 1; n < LIVE_TRIES_MAX; n++) await visited(hostname, NOT_SEEN)
  expect(await status()).toBe('certificate-pending')
  await visited(hostname, NOT_SEEN)
  expect(await status()).toBe('live')
  expect((await findDomain(db, project, hostname, CLAIM_RULES)).live).toEqual({ seenAt: null, sentence: 'Nobody answered.' })
})

test('a renewed certificate is looked at anew, and a live domain stays live meanwhile', async () => {
  const { hostname, status } = await prepare()
  await visited(hostname, SEEN)
  await db.pool.query(`delete from graphile_worker._private_jobs where key = $1`, [`live:${hostname}`])
  await certified(hostname, '0b')
  expect(await jobs(hostname)).toBe(1)
  expect((await findLiveCheck(db, hostname))?.serial).toBe('0b')
  await visited(hostname, NOT_SEEN)
  expect(await status()).toBe('live')
})

test('a record that went wrong has to be seen again once it is right; a silence of the DNS takes nothing back', async () => {
  const { project, hostname, status } = await prepare()
  await visited(hostname, SEEN)
  await probed(project, hostname, 'unknown')
  expect(await status()).toBe('live')
  await probed(project, hostname, 'wrong-target')
  expect(await status()).toBe('wrong-record')
  await probed(project, hostname, 'verified')
  expect(await status()).toBe('certificate-pending')
  await visited(hostname, SEEN)
  expect(await status()).toBe('live')
})

test('nobody visits a hostname without a certificate, without a right record, or given up', async () => {
  const unwanted = () => Promise.reject(new Error('nothing may be visited'))
  const { project, hostname } = await prepare()
  const bare = await claim(db, project)
  await probed(project, bare, 'verified')
  await checkLive({ db, visit: unwanted }, { hostname: bare })
  await probed(project, hostname, 'absent')
  await checkLive({ db, visit: unwanted }, { hostname })
  await removeDomain(db, project, hostname)
  await checkLive({ db, visit: unwanted }, { hostname })
})

async function edgeAt(place: Cursor, name = 'paris-1', silentForS = 0): Promise<void> {
  const said = { id: randomUUID(), name, address: undefined, version: '1', runsForMs: 0, behindMs: 0, place }
  await beatEdge(db, { ...said, routes: 0, certificates: 0, connections: 0, load: 0 })
  if (silentForS > 0)
    await db.pool.query(`update edges set heartbeat_at = now() - make_interval(secs => $1) where name = $2`, [silentForS, name])
}

test('it is not live, however often one looks, while an edge that is heard has not loaded it; the sentence names the edge', async () => {
  const before = await currentCursor(db)
  const { project, hostname, status } = await prepare()
  await edgeAt(before)
  for (let look = 0; look <= LIVE_TRIES_MAX; look++) await visited(hostname, SEEN)
  expect(await status()).toBe('certificate-pending')
  const { live } = await findDomain(db, project, hostname, CLAIM_RULES)
  expect(live.sentence).toContain('edge paris-1 has not loaded its route and certificate yet')
  expect(await jobs(hostname)).toBe(1)

  await edgeAt(before, 'oslo-1', 11)
  await db.pool.query(`delete from edges where name = 'paris-1'`)
  await edgeAt(await placeAfterAll(db))
  await visited(hostname, SEEN)
  expect(await status()).toBe('live')
  await db.pool.query('delete from edges')
})

test('the edges that are heard and have an address are visited too', async () => {
  const { hostname } = await prepare()
  const place = await placeAfterAll(db)
  await edgeAt(place, 'unreachable')
  await edgeAt(place, 'paris-1')
  await db.pool.query(`update edges set address = '10.0.0.7:8443' where name = 'paris-1'`)
  const asked: EdgeAddress[] = []
  const visit: CheckLiveParts['visit'] = async (_hostname, _serial, edges) => {
    asked.push(...edges)
    return SEEN
  }
  await checkLive({ db, visit }, { hostname })
  expect(asked).toEqual([{ name: 'paris-1', address: '10.0.0.7:8443' }])
  await db.pool.query('delete from edges')
})

test('a hostname of another project before is live once no edge can serve that one, or a silent one’s lease has run out', async () => {
  const { project: former, hostname } = await prepare()
  const before = await currentCursor(db)
  await removeDomain(db, former, hostname)
  const project = await addProject(db)
  await claim(db, project, hostname)
  await probed(project, hostname, 'verified')
  await certified(hostname, '0c')
  const status = async () => (await findStatuses(db, project.id, [hostname])).get(hostname)

  await edgeAt(before, 'oslo-1', 30)
  await visited(hostname, SEEN)
  expect(await status()).toBe('certificate-pending')
  const { live } = await findDomain(db, project, hostname, CLAIM_RULES)
  expect(live.sentence).toMatch(/edge oslo-1, not heard since \d\d:\d\d:\d\d UTC, may serve it for the project that held it before until/)
  await checkLive({ db, visit: async () => SEEN, leaseS: 20 }, { hostname })
  expect(await status()).toBe('live')
  await db.pool.query('delete from edges')
})
