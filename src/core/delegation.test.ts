import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/support/postgres.ts'
import { addProject, CLAIM_RULES, claim, freshHostname } from '../../test/support/tenants.ts'
import { type Hostname, parseHostname } from '../hostname.ts'
import { beginIssuance, claimDueRenewals, recordCertificate, recordIssuanceFailure } from './certificates.ts'
import type { Db } from './db.ts'
import { challengeNameOf, delegationLabel, findDelegation, isDelegationLabel } from './delegation.ts'
import type { DelegationState, DnsState } from './dns-report.ts'
import { findDomain, removeDomain } from './domains.ts'
import { CHALLENGE_PROBLEM, DELEGATION_PROBLEM, findProbeTarget, recordProbes } from './probes.ts'
import type { Project } from './projects.ts'

const ZONE = parseHostname('acme.example.com')

let database: TestDatabase
let db: Db
beforeAll(async () => {
  database = await createTestDatabase()
  db = database.db
})
afterAll(() => database.drop())

/** A check that found this of its delegation, and nothing at the hostname itself unless told. */
async function check(project: Project, hostname: Hostname, state: DelegationState, dns: DnsState = 'absent'): Promise<void> {
  const probe = await findProbeTarget(db, project, hostname)
  const value = `${delegationLabel(project.proof, hostname)}.${ZONE}`
  const delegation = { name: challengeNameOf(hostname), value, state, sentence: `It is ${state}.` }
  const report = {
    state: dns,
    sentence: 'It is absent.',
    expected: [],
    found: [],
    warnings: [],
    checkedAt: '2026-01-02T03:04:05.678Z',
  }
  await recordProbes(db, [{ probe, report: { ...report, delegation }, nextProbeInS: 300 }])
}

async function issueJobs(hostname: Hostname): Promise<number> {
  const { rows } = await db.pool.query(`select from graphile_worker.jobs where task_identifier = 'issue' and key = $1`, [
    `issue:${hostname}`,
  ])
  return rows.length
}

test('the label belongs to one project and one name; a wildcard shares it with the name that it stands below', async () => {
  const hostname = freshHostname()
  const label = delegationLabel('proof of one', hostname)
  expect(label).toMatch(/^[0-9a-f]{40}$/)
  expect(isDelegationLabel(label)).toBe(true)
  expect(delegationLabel('proof of one', hostname)).toBe(label)
  expect(delegationLabel('proof of another', hostname)).not.toBe(label)
  expect(delegationLabel('proof of one', freshHostname())).not.toBe(label)
  const wildcard = `*.${hostname}` as Hostname
  expect([delegationLabel('proof of one', wildcard), challengeNameOf(wildcard)]).toEqual([label, `_acme-challenge.${hostname}`])
  for (const other of ['ns1', 'www', label.toUpperCase(), `${label}0`]) expect(isDelegationLabel(other)).toBe(false)
})

test('once the challenge is delegated the certificate is ordered, once, though the hostname does not lead here', async () => {
  const project = await addProject(db)
  const hostname = await claim(db, project)
  await check(project, hostname, 'absent')
  expect([await issueJobs(hostname), (await findDelegation(db, hostname))!.delegated]).toEqual([0, false])
  await check(project, hostname, 'present')
  expect([await issueJobs(hostname), (await findDelegation(db, hostname))!.delegated]).toEqual([1, true])
  expect(await beginIssuance(db, hostname)).toMatchObject({ kind: 'go', attempt: 1 })
  await db.pool.query(`update graphile_worker._private_jobs set key = null`)
  await check(project, hostname, 'present')
  expect(await issueJobs(hostname)).toBe(0)
})

test('an attempt of long ago that came to nothing is made again when the challenge is delegated', async () => {
  const project = await addProject(db)
  const hostname = await claim(db, project)
  await db.pool.query('insert into certificates (hostname, project_id) values ($1, $2)', [hostname, project.id])
  await check(project, hostname, 'present')
  expect(await issueJobs(hostname)).toBe(1)
})

test('what is delegated is renewed before it is verified, as long as it stays so; a check without an answer changes nothing', async () => {
  const project = await addProject(db)
  const hostname = await claim(db, project)
  await check(project, hostname, 'present')
  await check(project, hostname, 'unknown')
  const due = async () => {
    await db.pool.query('update certificates set next_attempt_at = now() where hostname = $1', [hostname])
    return (await claimDueRenewals(db, 1_000)).includes(hostname)
  }
  expect(await due()).toBe(true)
  await check(project, hostname, 'elsewhere')
  expect(await due()).toBe(false)
})

test('a hostname that another project released owes no further proof for its certificate when its challenge is delegated', async () => {
  const [first, second] = [await addProject(db), await addProject(db)]
  const hostname = await claim(db, first)
  await removeDomain(db, first, hostname)
  await claim(db, second, hostname)
  expect(await beginIssuance(db, hostname)).toMatchObject({ kind: 'no', reason: expect.stringContaining('proof') })
  await check(second, hostname, 'present')
  expect(await beginIssuance(db, hostname)).toMatchObject({ kind: 'go' })
})

test('a domain shows the record to add, and how it stands, where there is a zone', async () => {
  const project = await addProject(db)
  const hostname = await claim(db, project)
  const shown = async () => (await findDomain(db, project, hostname, { ...CLAIM_RULES, dnsZone: ZONE })).dns.delegation
  const wanted = { name: `_acme-challenge.${hostname}`, type: 'CNAME', value: `${delegationLabel(project.proof, hostname)}.${ZONE}` }
  expect((await findDomain(db, project, hostname, CLAIM_RULES)).dns.delegation).toBeNull()
  expect(await shown()).toMatchObject({ ...wanted, state: 'unknown', sentence: expect.stringContaining(wanted.name) })
  await check(project, hostname, 'elsewhere')
  expect(await shown()).toEqual({ ...wanted, state: 'elsewhere', sentence: 'It is elsewhere.' })
  const moved = (await findDomain(db, project, hostname, { ...CLAIM_RULES, dnsZone: parseHostname('other.example.com') })).dns.delegation
  expect(moved!.state).toBe('unknown')
})

test('an attempt that failed for want of the delegation waits on while the hostname leads here, and no more once it is there', async () => {
  const project = await addProject(db)
  for (const type of [DELEGATION_PROBLEM, CHALLENGE_PROBLEM]) {
    const hostname = await claim(db, project)
    await check(project, hostname, 'absent', 'verified')
    expect(await beginIssuance(db, hostname)).toMatchObject({ kind: 'go' })
    await recordIssuanceFailure(db, hostname, { problem: { type }, sentence: 'One more record.' })
    await check(project, hostname, 'absent', 'verified')
    expect(await claimDueRenewals(db, 100)).not.toContain(hostname)
    await check(project, hostname, 'present', 'verified')
    expect(await claimDueRenewals(db, 100)).toContain(hostname)
  }
})

test('a wildcard that lacks the delegation for its renewal is not said to have left, and is tried for ever', async () => {
  const project = await addProject(db)
  const hostname = await claim(db, project)
  const past = new Date(Date.now() - 40 * 86_400_000)
  const issued = { chainPem: 'x', sealedKey: Buffer.of(1), issuer: 'x', serial: '1', notBefore: past, notAfter: past, renewAt: past }
  await beginIssuance(db, hostname)
  await recordCertificate(db, hostname, issued)
  await beginIssuance(db, hostname)
  const failure = { problem: { type: DELEGATION_PROBLEM }, sentence: 'One more record.' }
  expect(await recordIssuanceFailure(db, hostname, failure)).toEqual({ stopped: false })
  const { certificate } = await findDomain(db, project, hostname, { ...CLAIM_RULES, dnsZone: ZONE })
  expect(certificate).toMatchObject({ nextAttemptAt: expect.any(String), renewal: { plan: 'lifetime', dnsLeftAt: null } })
})
