import { afterAll, beforeAll, expect, test } from 'vitest'
import { changesSince, endOfFeed } from '../../test/support/feed.ts'
import { inDays, issued, issue as issueTo, takeIssueJobs } from '../../test/support/issuance.ts'
import { createTestDatabase, type TestDatabase } from '../../test/support/postgres.ts'
import { addProject, CLAIM_RULES, claim, freshHostname } from '../../test/support/tenants.ts'
import type { Hostname } from '../hostname.ts'
import {
  beginIssuance,
  claimDueRenewals,
  forgetReleasedCertificates,
  type RenewalRound,
  recordCertificate,
  recordIssuanceFailure,
  requestIssuance,
} from './certificates.ts'
import type { Db } from './db.ts'
import type { DnsReport } from './dns-report.ts'
import { findDomain, removeDomain } from './domains.ts'
import { claimDueProbes, DNS_PROBLEM, DNS_UNKNOWN_PROBLEM, recordProbes } from './probes.ts'
import { requestRenewal } from './renewal-request.ts'
import { claimDueRenewalInfo, recordRenewalTime } from './renewals.ts'
import { type CertificateRow, eachCertificatePage, loadCertificates } from './routes.ts'

let database: TestDatabase
let db: Db
beforeAll(async () => {
  database = await createTestDatabase()
  db = database.db
})
afterAll(() => database.drop())

const issue = (hostname: Hostname, certificate = issued()) => issueTo(db, hostname, certificate)
const jobs = (hostname: Hostname) => takeIssueJobs(db, hostname)

const set = (hostname: Hostname, assignment: string) =>
  db.pool.query(`update certificates set ${assignment} where hostname = $1`, [hostname])
const verify = (hostname: Hostname) =>
  db.pool.query('update domains set verified_at = now() where hostname = $1 and deleted_at is null', [hostname])

test('a request for a registered hostname is one job, however many ask; for others there is none', async () => {
  const hostname = await claim(db, await addProject(db))
  const answers = await Promise.all(Array.from({ length: 20 }, () => requestIssuance(db, hostname)))
  expect(answers).toEqual(answers.map(() => ({ kind: 'requested' })))
  expect(await jobs(hostname)).toBe(1)
  const stranger = freshHostname()
  expect(await requestIssuance(db, stranger)).toEqual({ kind: 'refused', reason: `${stranger} is not registered` })
  expect(await beginIssuance(db, stranger)).toMatchObject({ kind: 'no' })
  expect(await jobs(stranger)).toBe(0)
})

test('of several workers one gets the order, and a request meanwhile joins it', async () => {
  const project = await addProject(db)
  const hostname = await claim(db, project)
  const begun = await Promise.all(Array.from({ length: 8 }, () => beginIssuance(db, hostname)))
  expect(begun.filter(({ kind }) => kind === 'go')).toEqual([
    {
      kind: 'go',
      projectId: project.id,
      attempt: 1,
      begunAt: expect.any(String),
      renewing: false,
      asRenewal: false,
      directory: 'local',
      orderId: null,
      asked: false,
    },
  ])
  expect(await requestIssuance(db, hostname)).toEqual({ kind: 'requested' })
  expect(await jobs(hostname)).toBe(0)
  expect((await findDomain(db, project, hostname, CLAIM_RULES)).certificate).toMatchObject({ state: 'pending', attempts: 1 })
})

test('an issued certificate reaches the edges and the details, and no second one is ordered', async () => {
  const project = await addProject(db)
  const hostname = await claim(db, project)
  const cursor = await endOfFeed(db)
  const certificate = issued()
  await issue(hostname, certificate)
  expect(await changesSince(db, cursor)).toMatchObject([{ kind: 'certificate', key: hostname }])
  expect(await loadCertificates(db, [hostname])).toEqual([
    {
      ...{ hostname, state: 'issued', chainPem: certificate.chainPem, sealedKey: certificate.sealedKey },
      ...{ notAfterMs: certificate.notAfter.getTime(), reason: null, nextAttemptAtMs: null, version: expect.any(Number) },
    },
  ])
  expect((await findDomain(db, project, hostname, CLAIM_RULES)).certificate).toEqual({
    ...{ state: 'issued', origin: 'ordered', issuer: 'CN=Test CA', serial: '0a', notBefore: certificate.notBefore.toISOString() },
    ...{ notAfter: certificate.notAfter.toISOString(), renewAt: certificate.renewAt.toISOString(), attempts: 0 },
    ...{ lastAttemptAt: expect.stringMatching(/Z$/), lastError: null, nextAttemptAt: null },
    ...{ nextIssuanceAt: null, nextIssuanceReason: null },
    renewal: {
      ...{ plan: 'lifetime', sentence: expect.stringContaining('two thirds'), explanationUrl: null, ariCheckedAt: null },
      ...{ dnsLeftAt: null, stoppedAt: null },
    },
  })
  // Whoever asks has not heard of it yet, and waits for the news; no job is added, and none that stands would be let go.
  expect(await requestIssuance(db, hostname)).toEqual({ kind: 'requested' })
  expect(await beginIssuance(db, hostname)).toMatchObject({ kind: 'no' })
})

test("a failure keeps the authority's words and waits 1, 2, 4 … minutes, six hours at most, or as long as it says", async () => {
  const project = await addProject(db)
  const hostname = await claim(db, project)
  const problem = { type: 'urn:ietf:params:acme:error:rateLimited', detail: 'too many \0 certificates', subproblems: [{ z: 1, a: 2 }] }
  const waits: number[] = []
  for (const retryAfterS of [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 90_000]) {
    expect(await beginIssuance(db, hostname)).toMatchObject({ kind: 'go', attempt: waits.length + 1 })
    await recordIssuanceFailure(db, hostname, { problem, sentence: 'The authority says: too many.', retryAfterS })
    const { certificate } = await findDomain(db, project, hostname, CLAIM_RULES)
    waits.push(Math.round((Date.parse(certificate.nextAttemptAt!) - Date.parse(certificate.lastAttemptAt!)) / 60_000))
    expect(await requestIssuance(db, hostname)).toMatchObject({ kind: 'refused', reason: expect.stringContaining('too many') })
    expect(await beginIssuance(db, hostname)).toMatchObject({ kind: 'no' })
    await set(hostname, 'next_attempt_at = now()')
  }
  expect(waits).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 360, 1_500])
  const { certificate } = await findDomain(db, project, hostname, CLAIM_RULES)
  expect(certificate).toMatchObject({ state: 'failed', attempts: 11, lastError: { sentence: 'The authority says: too many.', problem } })
  expect(await loadCertificates(db, [hostname])).toMatchObject([{ state: 'failed', reason: 'The authority says: too many.' }])
  expect(await requestIssuance(db, hostname)).toEqual({ kind: 'requested' })
})

test('a failed renewal keeps the old certificate', async () => {
  const project = await addProject(db)
  const hostname = await claim(db, project)
  await issue(hostname, issued(30, -1))
  expect(await beginIssuance(db, hostname)).toMatchObject({ kind: 'go', attempt: 1, renewing: true })
  await recordIssuanceFailure(db, hostname, { problem: {}, sentence: 'No.' })
  expect(await loadCertificates(db, [hostname])).toMatchObject([{ state: 'issued', reason: 'No.', chainPem: issued().chainPem }])
})

/** How long the next attempt waits, in minutes, when so many have failed. */
async function waitAfter(hostname: Hostname, attempts: number, problem: object = {}, retryAfterS?: number): Promise<number> {
  await set(hostname, `attempts = ${attempts - 1}, renew_at = now(), next_attempt_at = now(), postponed_until = null`)
  expect(await beginIssuance(db, hostname)).toMatchObject({ kind: 'go' })
  await recordIssuanceFailure(db, hostname, { problem, sentence: 'No.', retryAfterS })
  const { rows } = await db.pool.query(
    'select round(extract(epoch from next_attempt_at - last_attempt_at) / 60)::int as minutes from certificates where hostname = $1',
    [hostname],
  )
  return rows[0].minutes
}

test.each([
  ['30 days', 1_440],
  ['6 days', 720],
  ['2 days', 240],
  ['12 hours', 60],
  ['1 hour', 15],
  ['10 minutes', 10],
  ['-1 minute', 360],
])('a renewal that goes on failing with %s left is tried again after %i minutes', async (left, minutes) => {
  const hostname = await claim(db, await addProject(db))
  await issue(hostname)
  await set(hostname, `not_after = now() + interval '${left}'`)
  expect(await waitAfter(hostname, 1)).toBe(1)
  expect(await waitAfter(hostname, 20)).toBe(minutes)
  expect(await waitAfter(hostname, 1, { type: 'urn:namesake:error:malformedAnswer' }, 86_400 * 365)).toBe(minutes) // whatever a page in an outage asks for
})

test('a certificate of six days has a dozen attempts to be renewed in its last third, none of them after its end', async () => {
  const hostname = await claim(db, await addProject(db))
  await issue(hostname)
  let leftMin = 2 * 1_440
  let attempts = 0
  while (leftMin > 0) {
    attempts += 1
    await set(hostname, `not_after = now() + interval '${leftMin} minutes'`)
    leftMin -= await waitAfter(hostname, attempts)
  }
  expect(leftMin).toBe(0)
  expect(attempts).toBeGreaterThanOrEqual(12)
  expect(attempts).toBeLessThan(60)
})

test('when DNS has left, the certificate says since when, is tried for until 30 days after its end, and comes back with the DNS', async () => {
  const project = await addProject(db)
  const hostname = await claim(db, project)
  await verify(hostname)
  await issue(hostname)
  const problem = { type: DNS_PROBLEM }
  const certificate = async () => (await findDomain(db, project, hostname, CLAIM_RULES)).certificate
  await waitAfter(hostname, 1, problem)
  const { dnsLeftAt } = (await certificate()).renewal!
  expect((await certificate()).renewal).toMatchObject({
    plan: 'lifetime',
    sentence: expect.stringContaining(`elsewhere since ${dnsLeftAt}`),
  })
  await set(hostname, `not_after = now() - interval '29 days'`)
  expect(await waitAfter(hostname, 40, problem)).toBe(360)
  expect((await certificate()).renewal).toMatchObject({ dnsLeftAt, stoppedAt: null })
  await waitAfter(hostname, 41, { type: DNS_UNKNOWN_PROBLEM })
  expect((await certificate()).renewal).toMatchObject({ dnsLeftAt })
  await set(hostname, `not_after = now() - interval '31 days'`)
  await waitAfter(hostname, 42, problem)
  const stopped = await certificate()
  expect(stopped).toMatchObject({ state: 'issued', nextAttemptAt: null, renewal: { plan: 'stopped', dnsLeftAt } })
  expect(stopped.renewal!.sentence).toMatch(/has led elsewhere since .* renewal stopped on .* orders a certificate at once/)
  expect(await claimDueRenewals(db, 100)).not.toContain(hostname)
  expect(await requestIssuance(db, hostname)).toMatchObject({ kind: 'refused' })
  await set(hostname, `last_attempt_at = now() - interval '11 minutes'`)
  expect(await requestIssuance(db, hostname)).toEqual({ kind: 'requested' })
  const [probe] = (await claimDueProbes(db, { line: 'answered', limit: 100, leaseS: 60 })).filter((due) => due.hostname === hostname)
  const report: DnsReport = {
    ...{ state: 'verified', sentence: '', expected: [], found: [], warnings: [], checkedAt: new Date(0).toISOString() },
  }
  await recordProbes(db, [{ probe: probe!, report, nextProbeInS: 60 }])
  expect(await certificate()).toMatchObject({ lastError: null, renewal: { plan: 'lifetime', dnsLeftAt: null, stoppedAt: null } })
  expect(await claimDueRenewals(db, 100)).toContain(hostname)
  expect(await beginIssuance(db, hostname)).toMatchObject({ kind: 'go' })
})

test('whatever else goes wrong, an expired certificate is tried for ever', async () => {
  const hostname = await claim(db, await addProject(db))
  await issue(hostname)
  await set(hostname, `not_after = now() - interval '400 days'`)
  expect(await waitAfter(hostname, 1_000, { type: 'urn:ietf:params:acme:error:serverInternal' })).toBe(360)
})

test('two attempts at once that wait for the same room make one order, even when the first has its certificate meanwhile', async () => {
  const hostname = await claim(db, await addProject(db))
  const directory = 'https://room.example.com/directory'
  const outcomes = await Promise.all(
    Array.from({ length: 4 }, async () => {
      const begun = await beginIssuance(db, hostname, { directories: [directory] })
      if (begun.kind === 'go') await recordCertificate(db, hostname, issued())
      return begun.kind
    }),
  )
  expect(outcomes.sort()).toEqual(['go', 'no', 'no', 'no'])
  const { rows } = await db.pool.query('select from issuance_orders where directory = $1', [directory])
  expect(rows).toHaveLength(1)
})

test('renewals, retries and orders whose worker died come back by themselves; idle hostnames do not', async () => {
  const project = await addProject(db)
  const names = await Promise.all(Array.from({ length: 6 }, () => claim(db, project)))
  const [renewal, retry, orphan, early, unverified, released] = names as [Hostname, Hostname, Hostname, Hostname, Hostname, Hostname]
  for (const hostname of [renewal, retry, orphan, early]) await verify(hostname)
  await issue(renewal, issued(30, -1))
  await issue(early)
  await issue(released, issued(30, -1))
  for (const hostname of [retry, unverified, orphan]) await beginIssuance(db, hostname)
  for (const hostname of [retry, unverified]) await recordIssuanceFailure(db, hostname, { problem: {}, sentence: 'No.' })
  for (const hostname of [retry, unverified, orphan]) await set(hostname, 'next_attempt_at = now(), lease_until = null')
  await removeDomain(db, project, released)
  expect(await claimDueRenewals(db, 100)).toEqual([renewal, retry, orphan].sort())
  for (const hostname of [renewal, retry, orphan]) expect(await jobs(hostname)).toBe(1)
  for (const hostname of [renewal, retry, orphan]) expect(await beginIssuance(db, hostname)).toMatchObject({ kind: 'go' })
  expect(await claimDueRenewals(db, 100)).toEqual([])
  expect(await requestIssuance(db, unverified)).toEqual({ kind: 'requested' })
})

test('a renewal that was asked for is not put off by an answer of its authority that was on its way', async () => {
  const hostname = await claim(db, await addProject(db))
  await verify(hostname)
  await issue(hostname, issued())
  const held = (await claimDueRenewalInfo(db, 1_000, 60)).find((one) => one.hostname === hostname)!
  expect(await requestRenewal(db, hostname)).toMatchObject({ kind: 'requested' })
  await recordRenewalTime(db, held, { renewAt: inDays(30), askAgainInS: 60, wish: 'none' })
  expect(await beginIssuance(db, hostname)).toMatchObject({ kind: 'go' })
})

test('a renewal that was asked for is not put off by what its authority wishes, until it is made', async () => {
  const hostname = await claim(db, await addProject(db))
  await verify(hostname)
  await issue(hostname, issued())
  expect((await claimDueRenewalInfo(db, 1_000, 60)).map((held) => held.hostname)).toContain(hostname)
  expect(await requestRenewal(db, hostname)).toMatchObject({ kind: 'requested' })
  const begun = await beginIssuance(db, hostname)
  if (begun.kind === 'no') throw new Error(begun.reason)
  await recordIssuanceFailure(db, hostname, { problem: { type: 'about:blank' }, sentence: 'The authority is busy.' }, begun)
  await set(hostname, "ari_due_at = ari_due_at - interval '1 day'")
  expect((await claimDueRenewalInfo(db, 1_000, 60)).map((held) => held.hostname)).not.toContain(hostname)
  await set(hostname, 'next_attempt_at = now()')
  expect(await claimDueRenewals(db, 100)).toContain(hostname)
  await issue(hostname, { ...issued(), serial: '0b' })
  expect((await claimDueRenewalInfo(db, 1_000, 60)).map((held) => held.hostname)).toContain(hostname)
})

test('nobody is asked about the renewal of what has expired', async () => {
  const hostname = await claim(db, await addProject(db))
  await verify(hostname)
  await issue(hostname)
  await set(hostname, "not_after = now() - interval '1 hour'")
  expect((await claimDueRenewalInfo(db, 1_000, 60)).map((held) => held.hostname)).not.toContain(hostname)
})

test('a renewal that may not be made now does not stand in the way of others', async () => {
  const project = await addProject(db)
  const [owing, later, due] = [await claim(db, project), await claim(db, project), await claim(db, project)]
  for (const hostname of [owing, due]) await issue(hostname, issued(30, -1))
  await issue(later, issued(30, 1)) // the authority has come to wish it so between two attempts
  for (const hostname of [owing, later]) await set(hostname, `next_attempt_at = now() - interval '2 days'`)
  await db.pool.query(`update domains set created_at = now() - interval '8 days' where hostname = $1`, [owing])
  for (let sweep = 0; sweep < 2; sweep += 1) expect(await claimDueRenewals(db, 1)).toEqual([])
  expect(await claimDueRenewals(db, 1)).toEqual([due])
})

test('what is not due any more, or waits for a limit, does not stand in the way of others, and comes back when it is', async () => {
  const project = await addProject(db)
  const [early, waiting, due] = [await claim(db, project), await claim(db, project), await claim(db, project)]
  for (const hostname of [early, waiting, due]) await issue(hostname, issued(30, -1))
  await set(early, `next_attempt_at = now() - interval '2 days', attempts = 3, renew_at = now() + interval '9 days'`)
  await set(waiting, `next_attempt_at = now() - interval '2 days', postponed_until = now() + interval '9 days'`)
  await set(due, `next_attempt_at = now() - interval '47 hours'`)
  expect(await claimDueRenewals(db, 2)).toEqual([])
  expect(await claimDueRenewals(db, 1)).toEqual([due])
  const { rows } = await db.pool.query(
    `select attempts, round(extract(epoch from next_attempt_at - now()) / 86400)::int as days from certificates where hostname = any($1)`,
    [[early, waiting]],
  )
  expect(rows).toEqual([9, 9].map((days) => ({ days, attempts: 0 })))
  expect(await jobs(due)).toBe(1)
})

test('a round through what is due comes to all of it, though what is in the queue stays due', async () => {
  const project = await addProject(db)
  const names = await Promise.all(Array.from({ length: 3 }, () => claim(db, project)))
  for (const [i, hostname] of names.entries()) {
    await issue(hostname, issued(30, -1))
    await set(hostname, `next_attempt_at = now() - interval '${900 - i} days'`) // before all that other tests leave
  }
  const round: RenewalRound = {}
  const claimed: Hostname[][] = []
  for (let sweep = 0; sweep < 3; sweep += 1) claimed.push(await claimDueRenewals(db, 1, round))
  expect(claimed).toEqual(names.map((hostname) => [hostname]))
  const others = await claimDueRenewals(db, 1_000, round)
  for (const hostname of names) expect(others).not.toContain(hostname)
  expect(await claimDueRenewals(db, 1, round)).toEqual(names.slice(0, 1))
})

test('what waits in the queue keeps its place there, however often it is asked for', async () => {
  const hostname = await claim(db, await addProject(db))
  await verify(hostname)
  const place = async () => {
    const { rows } = await db.pool.query('select id, run_at from graphile_worker._private_jobs where key = $1', [`issue:${hostname}`])
    return rows
  }
  await requestIssuance(db, hostname)
  const before = await place()
  expect(before).toHaveLength(1)
  expect(await requestIssuance(db, hostname)).toEqual({ kind: 'requested' })
  await db.pool.query(
    `insert into certificates (hostname, project_id, next_attempt_at) select hostname, project_id, now() from domains where hostname = $1`,
    [hostname],
  )
  expect(await claimDueRenewals(db, 100)).toContain(hostname)
  expect(await place()).toEqual(before)
})

test('a renewal has the DNS looked at as well', async () => {
  const project = await addProject(db)
  const hostname = await claim(db, project)
  await verify(hostname)
  await issue(hostname, issued(30, -1))
  const { rowCount } = await db.pool.query(
    `update probes set next_probe_at = now() + interval '7 days' from domains d
    where d.id = domain_id and d.hostname = $1`,
    [hostname],
  )
  expect(rowCount).toBe(1)
  expect(await claimDueRenewals(db, 100)).toContain(hostname)
  const { nextCheckAt } = (await findDomain(db, project, hostname, CLAIM_RULES)).dns
  expect(Date.parse(nextCheckAt!)).toBeLessThanOrEqual(Date.now())
})

test('a hostname that owes a proof gets no certificate', async () => {
  const [first, second] = [await addProject(db), await addProject(db)]
  const hostname = await claim(db, first)
  await removeDomain(db, first, hostname)
  await claim(db, second, hostname)
  expect(await requestIssuance(db, hostname)).toMatchObject({ kind: 'refused', reason: expect.stringContaining('proof') })
  expect(await beginIssuance(db, hostname)).toMatchObject({ kind: 'no' })
  await verify(hostname)
  expect(await requestIssuance(db, hostname)).toEqual({ kind: 'requested' })
})

test("a released hostname's certificate waits 30 days for its own project's return, out of sight meanwhile", async () => {
  const project = await addProject(db)
  const hostname = await claim(db, project)
  await issue(hostname)
  const removedAt = await endOfFeed(db)
  await removeDomain(db, project, hostname)
  expect(await changesSince(db, removedAt)).toMatchObject([{ kind: 'host' }, { kind: 'certificate', key: hostname }])
  expect(await loadCertificates(db, [hostname])).toEqual([])
  expect(await forgetReleasedCertificates(db)).toBe(0)
  const returnedAt = await endOfFeed(db)
  await claim(db, project, hostname)
  expect(await changesSince(db, returnedAt)).toMatchObject([{ kind: 'host' }, { kind: 'certificate', key: hostname }])
  expect(await loadCertificates(db, [hostname])).toMatchObject([{ state: 'issued' }])
  await removeDomain(db, project, hostname)
  await db.pool.query(`update domains set deleted_at = deleted_at - interval '31 days' where hostname = $1`, [hostname])
  expect(await forgetReleasedCertificates(db)).toBe(1)
})

test("another project's claim ends what the last holder's certificate was", async () => {
  const [first, second] = [await addProject(db), await addProject(db)]
  const hostname = await claim(db, first)
  await issue(hostname)
  await removeDomain(db, first, hostname)
  await claim(db, second, hostname)
  expect((await db.pool.query('select from certificates where hostname = $1', [hostname])).rows).toEqual([])
  expect((await findDomain(db, second, hostname, CLAIM_RULES)).certificate.state).toBe('none')
})

test('a certificate that arrives after its hostname changed hands is not kept for the new holder', async () => {
  const [first, second] = [await addProject(db), await addProject(db)]
  const hostname = await claim(db, first)
  await beginIssuance(db, hostname)
  await removeDomain(db, first, hostname)
  await claim(db, second, hostname)
  await recordCertificate(db, hostname, issued())
  expect(await loadCertificates(db, [hostname])).toEqual([])
})

test('every certificate comes in pages by hostname', async () => {
  const project = await addProject(db)
  for (let i = 0; i < 5; i += 1) await issue(await claim(db, project))
  const pages: CertificateRow[][] = []
  for await (const page of eachCertificatePage(db, 2)) pages.push(page)
  const hostnames = pages.flat().map(({ hostname }) => hostname)
  expect(hostnames).toEqual([...new Set(hostnames)].sort())
  expect(hostnames.length).toBeGreaterThanOrEqual(5)
  expect(pages.every((page) => page.length <= 2)).toBe(true)
})
