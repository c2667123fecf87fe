import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/support/postgres.ts'
import { addProject, claim, EDGE_HOST, freshHostname } from '../../test/support/tenants.ts'
import type { Hostname } from '../hostname.ts'
import { checkLive } from '../jobs/check-live.ts'
import { beginIssuance, recordCertificate } from './certificates.ts'
import type { Db } from './db.ts'
import type { DnsState } from './dns-report.ts'
import { findStatuses } from './domain-status.ts'
import { findDomain, removeDomain } from './domains.ts'
import { findLiveCheck, LIVE_TRIES_MAX, type LiveOutcome } from './live-checks.ts'
import { findProbeTarget, recordProbes } from './probes.ts'
import type { Project } from './projects.ts'

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
  expect((await findDomain(db, project, hostname, EDGE_HOST)).live).toEqual({ seenAt: null, sentence: null })
  await visited(hostname, SEEN)
  expect(await status()).toBe('live')
  expect((await findDomain(db, project, hostname, EDGE_HOST)).live).toEqual({ seenAt: expect.any(String), sentence: null })
})

test('where no request ever comes through, it counts as live after some tries, and a sentence says why', async () => {
  const { project, hostname, status } = await prepare()
  for (let n = 1; n < LIVE_TRIES_MAX; n++) await visited(hostname, NOT_SEEN)
  expect(await status()).toBe('certificate-pending')
  await visited(hostname, NOT_SEEN)
  expect(await status()).toBe('live')
  expect((await findDomain(db, project, hostname, EDGE_HOST)).live).toEqual({ seenAt: null, sentence: 'Nobody answered.' })
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
