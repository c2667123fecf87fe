import { afterAll, beforeAll, expect, test } from 'vitest'
import { changesSince, endOfFeed } from '../../test/support/feed.ts'
import { createTestDatabase, type TestDatabase } from '../../test/support/postgres.ts'
import { addProject, CLAIM_RULES, claim, freshHostname, PROJECT_RULES } from '../../test/support/tenants.ts'
import { type Hostname, parseHostname, wildcardOver } from '../hostname.ts'
import { beginIssuance, claimDueRenewals, recordCertificate, recordIssuanceFailure } from './certificates.ts'
import type { Db } from './db.ts'
import type { DnsReport, DnsState } from './dns-report.ts'
import { findDomain, registerDomain, removeDomain } from './domains.ts'
import { importCertificate } from './imported-certificate.ts'
import {
  CAA_PROBLEM,
  CHALLENGE_PROBLEM,
  claimDueProbes,
  DNS_PROBLEM,
  type DueProbe,
  findProbeTarget,
  type ProbeLine,
  type ProbeResult,
  probeSoon,
  recordProbes,
  watchDomain,
} from './probes.ts'
import { deleteProject, type Project, updateProject } from './projects.ts'
import { loadRoutes } from './routes.ts'

let database: TestDatabase
let db: Db
beforeAll(async () => {
  database = await createTestDatabase()
  db = database.db
})
afterAll(() => database.drop())

const report = (state: DnsState): DnsReport => {
  const found = [{ name: 'x', type: 'TXT' as const, value: 'a\0b\ud800' }]
  return { state, sentence: `It is ${state}.`, expected: [], found, warnings: [], checkedAt: '2026-01-02T03:04:05.678Z' }
}
const warned = (probe: DueProbe, ...kinds: DnsReport['warnings'][number]['kind'][]) => ({
  ...{ probe, nextProbeInS: 300 },
  report: { ...report('verified'), warnings: kinds.map((kind) => ({ kind, sentence: 'Mend it.' })) },
})
const result = (probe: DueProbe, state: DnsState, nextProbeInS = 300) => ({ probe, report: report(state), nextProbeInS })
const dueOf = async (hostname: Hostname, line: ProbeLine = 'answered') =>
  (await claimDueProbes(db, { line, limit: 1_000, leaseS: 60 })).find((probe) => probe.hostname === hostname)

/** Seconds until the hostname's next probe. */
async function dueInS(hostname: Hostname): Promise<number> {
  const { rows } = await db.pool.query(
    `select extract(epoch from next_probe_at - now())::float8 as s from probes join domains on id = domain_id
     where hostname = $1 and deleted_at is null`,
    [hostname],
  )
  return rows[0].s
}

async function changedHosts(since: Awaited<ReturnType<typeof endOfFeed>>): Promise<string[]> {
  return (await changesSince(db, since)).filter(({ kind }) => kind === 'host').map(({ key }) => key)
}

/** Makes the claim look as if it had happened so long ago. */
const age = (hostname: Hostname, by: string) =>
  db.pool.query(`update domains set created_at = created_at - $2::interval where hostname = $1 and deleted_at is null`, [hostname, by])
const ageRelease = (hostname: Hostname, by: string) =>
  db.pool.query(`update domains set deleted_at = deleted_at - $2::interval where hostname = $1 and deleted_at is not null`, [hostname, by])
/** So many days pass for all claims of the hostname, also those that were given up. */
const pass = (hostname: Hostname, days: number) =>
  db.pool.query(
    'update domains set created_at = created_at - make_interval(days => $2), deleted_at = deleted_at - make_interval(days => $2) where hostname = $1',
    [hostname, days],
  )
const makeDue = (hostname: Hostname) =>
  db.pool.query(`update probes set next_probe_at = now() from domains where id = domain_id and hostname = $1 and deleted_at is null`, [
    hostname,
  ])

async function issueJobs(hostname: Hostname): Promise<number> {
  const { rows } = await db.pool.query(`select key from graphile_worker.jobs where task_identifier = 'issue' and key = $1`, [
    `issue:${hostname}`,
  ])
  return rows.length
}

test('a new claim is due at once, is given to one worker only, and is due again when its lease ends', async () => {
  const project = await addProject(db)
  const hostnames = await Promise.all(Array.from({ length: 20 }, () => claim(db, project)))
  const claimed = (
    await Promise.all(Array.from({ length: 8 }, () => claimDueProbes(db, { line: 'answered', limit: 5, leaseS: 60 })))
  ).flat()
  expect(claimed.map(({ hostname }) => hostname).sort()).toEqual([...hostnames].sort())
  expect(claimed[0]).toEqual({
    ...{ domainId: expect.stringMatching(/^\d+$/), hostname: expect.any(String), projectId: project.id },
    ...{ verified: false, proof: project.proof, proofNeeded: false, sharedDomains: [], cnameTarget: null },
    ...{ failures: 0, begunAt: expect.any(String) },
  })
  expect(await claimDueProbes(db, { line: 'answered', limit: 100, leaseS: 60 })).toEqual([])
  expect(await dueInS(hostnames[0]!)).toBeGreaterThan(50)
  await makeDue(hostnames[0]!)
  expect(await dueOf(hostnames[0]!)).toBeDefined()
})

test('a report is kept as it came and shown; one that says verified verifies once and orders the certificate', async () => {
  const project = await addProject(db)
  const hostname = await claim(db, project)
  const probe = (await dueOf(hostname))!
  expect(await recordProbes(db, [result(probe, 'absent')])).toEqual([])
  expect((await findDomain(db, project, hostname, CLAIM_RULES)).dns).toEqual({
    ...report('absent'),
    delegation: null,
    nextCheckAt: expect.stringMatching(/Z$/),
  })
  expect(await dueInS(hostname)).toBeGreaterThan(290)
  expect(await issueJobs(hostname)).toBe(0)
  const cursor = await endOfFeed(db)
  expect(await recordProbes(db, [result(probe, 'verified'), result(probe, 'verified')])).toEqual([hostname])
  expect(await recordProbes(db, [result(probe, 'verified')])).toEqual([])
  expect(await changedHosts(cursor)).toEqual([hostname])
  expect(await issueJobs(hostname)).toBe(1)
  const verified = await findDomain(db, project, hostname, CLAIM_RULES)
  expect(verified.certificate).toMatchObject({ state: 'pending', attempts: 0 })
  expect(verified).toMatchObject({ verified: true, verifiedAt: expect.stringMatching(/\.\d{3}Z$/), dns: { state: 'verified' } })
  for (const state of ['unknown', 'absent'] as const) await recordProbes(db, [result(probe, state)])
  expect(await findDomain(db, project, hostname, CLAIM_RULES)).toMatchObject({
    verified: true,
    verifiedAt: verified.verifiedAt,
    dns: { state: 'absent' },
  })
})

test('a certificate order that is lost with its worker is made again', async () => {
  const project = await addProject(db)
  const hostname = await claim(db, project)
  await recordProbes(db, [result((await dueOf(hostname))!, 'verified')])
  await db.pool.query('delete from graphile_worker._private_jobs')
  expect(await claimDueRenewals(db, 100)).not.toContain(hostname)
  await db.pool.query('update certificates set next_attempt_at = now() where hostname = $1', [hostname])
  expect(await claimDueRenewals(db, 100)).toContain(hostname)
  expect(await issueJobs(hostname)).toBe(1)
})

test('also that of a hostname which was held before and has no certificate', async () => {
  const project = await addProject(db)
  const hostname = await claim(db, project)
  await db.pool.query('insert into certificates (hostname, project_id) values ($1, $2)', [hostname, project.id])
  await recordProbes(db, [result((await dueOf(hostname))!, 'verified')])
  const { rows } = await db.pool.query('select next_attempt_at > now() as due from certificates where hostname = $1', [hostname])
  expect(rows).toEqual([{ due: true }])
})

test('DNS that is right ends the back-off of attempts that failed for want of it, before and after verification; others wait on', async () => {
  const project = await addProject(db)
  const fail = async (hostname: Hostname, type: string, detail?: string) => {
    await beginIssuance(db, hostname)
    await recordIssuanceFailure(db, hostname, { problem: { type, detail }, sentence: 'No.' })
  }
  const names = await Promise.all(Array.from({ length: 4 }, () => claim(db, project)))
  const [unverified, verified, renewal, refused] = names as [Hostname, Hostname, Hostname, Hostname]
  const findRight = async (hostname: Hostname) => recordProbes(db, [result(await findProbeTarget(db, project, hostname), 'verified')])
  for (const hostname of [verified, renewal, refused]) await findRight(hostname)
  await beginIssuance(db, renewal)
  const past = new Date(Date.now() - 1_000)
  const issued = { chainPem: 'x', sealedKey: Buffer.of(1), issuer: 'x', serial: '1', notBefore: past, notAfter: past, renewAt: past }
  await recordCertificate(db, renewal, issued)
  for (const hostname of [unverified, verified, renewal]) await fail(hostname, DNS_PROBLEM)
  await fail(refused, 'urn:ietf:params:acme:error:rateLimited', 'of "a\0b\ud800"')
  const cursor = await endOfFeed(db)
  for (const hostname of names) await findRight(hostname)
  const changed = (await changesSince(db, cursor)).filter(({ kind }) => kind === 'certificate').map(({ key }) => key)
  expect(changed.sort()).toEqual([unverified, verified, renewal].sort())
  const { certificate } = await findDomain(db, project, verified, CLAIM_RULES)
  expect(certificate).toMatchObject({ state: 'pending', attempts: 0, lastError: null, nextAttemptAt: null })
  expect((await findDomain(db, project, renewal, CLAIM_RULES)).certificate).toMatchObject({ state: 'issued', lastError: null })
  const due = await claimDueRenewals(db, 100)
  for (const hostname of [unverified, verified, renewal]) expect(due).toContain(hostname)
  expect(due).not.toContain(refused)
  expect(await beginIssuance(db, verified)).toMatchObject({ kind: 'go', attempt: 1 })
})

test('certificates are brought while checks find their hostnames right, and neither stands in the other’s way', async () => {
  const project = await addProject(db)
  const [past, future] = [-1, 30].map((days) => new Date(Date.now() + days * 86_400_000)) as [Date, Date]
  for (let n = 0; n < 24; n += 1) {
    const hostname = await claim(db, project)
    await beginIssuance(db, hostname)
    await recordIssuanceFailure(db, hostname, { problem: { type: DNS_PROBLEM }, sentence: 'No.' })
    const probe = await findProbeTarget(db, project, hostname)
    const brought = { chainPem: 'x', sealedKey: Buffer.of(1), issuer: 'x', serial: String(n), notBefore: past, notAfter: future }
    const recorded = recordProbes(db, [result(probe, 'verified')])
    for (let turns = 0; turns < n; turns += 1) await new Promise(setImmediate)
    await Promise.all([recorded, importCertificate(db, hostname, brought)])
  }
})

test('what a check warned of and finds mended ends the back-off of attempts that failed for it, once', async () => {
  const project = await addProject(db)
  const names = [await claim(db, project), await claim(db, project), await claim(db, project), await claim(db, project)] as const
  const [caa, elsewhere, neither, inLine] = names
  const check = async (hostname: Hostname, ...kinds: Parameters<typeof warned>[1][]) =>
    recordProbes(db, [warned(await findProbeTarget(db, project, hostname), ...kinds)])
  const full = { kind: 'no-room', limit: 'account', until: new Date('2200-01-01'), sentence: 'It is full.', line: 'of the full' } as const
  const fail = async (hostname: Hostname, type: string, awaitsRoom = false) => {
    expect(await beginIssuance(db, hostname)).toMatchObject({ kind: 'go' })
    await recordIssuanceFailure(db, hostname, { problem: { type }, sentence: 'No.', awaitsRoom }, { projectId: project.id, full })
  }
  const waiting = async () => {
    const due = await claimDueRenewals(db, 1_000)
    return names.filter((hostname) => !due.includes(hostname))
  }
  for (const hostname of names) await check(hostname, 'caa-forbids', 'aaaa-elsewhere')
  await fail(caa, CAA_PROBLEM)
  await fail(elsewhere, CHALLENGE_PROBLEM)
  await fail(neither, 'urn:ietf:params:acme:error:caa')
  await fail(inLine, CAA_PROBLEM, true)
  for (const hostname of names) await check(hostname, 'caa-forbids', 'aaaa-elsewhere')
  expect(await waiting()).toEqual([caa, elsewhere, neither, inLine])
  await check(caa, 'aaaa-elsewhere')
  await check(inLine, 'aaaa-elsewhere')
  await check(elsewhere, 'caa-forbids')
  await check(neither)
  expect(await waiting()).toEqual([neither])
  await fail(caa, CAA_PROBLEM)
  await check(caa)
  expect(await waiting()).toEqual([caa, neither]) // another cause: the check cannot see it, and is not to hurry each attempt
})

test('another mistake of the same kind is news while somebody looks, and the same one is none', async () => {
  const project = await addProject(db)
  const hostname = await claim(db, project)
  const probe = await findProbeTarget(db, project, hostname)
  const find = async (sentence: string) => {
    const cursor = await endOfFeed(db)
    await recordProbes(db, [{ probe, nextProbeInS: 300, report: { ...report('wrong-target'), sentence } }])
    return (await changedHosts(cursor)).length
  }
  const [first, second] = ['Change "a" to "\0é\ud800".', 'Change "b" to "\0é\ud800".']
  expect([await find(first), await find(second), await find(second)]).toEqual([1, 0, 0])
  await watchDomain(db, project, hostname, { forS: 30 })
  expect([await find(second), await find(first), await find(first)]).toEqual([0, 1, 0])
})

test('a warning is mended also where the first check without it finds nothing out', async () => {
  const project = await addProject(db)
  const hostname = await claim(db, project)
  const probe = await findProbeTarget(db, project, hostname)
  await recordProbes(db, [warned(probe, 'caa-forbids')])
  expect(await beginIssuance(db, hostname)).toMatchObject({ kind: 'go' })
  await recordIssuanceFailure(db, hostname, { problem: { type: CAA_PROBLEM }, sentence: 'No.' })
  await recordProbes(db, [result(probe, 'unknown')])
  expect(await claimDueRenewals(db, 1_000)).toContain(hostname)
})

test('an attempt under way when DNS becomes right keeps its turn, and its failure counts as the first', async () => {
  const project = await addProject(db)
  const hostname = await claim(db, project)
  for (let attempt = 0; attempt < 8; attempt += 1) {
    await db.pool.query('update certificates set next_attempt_at = now() where hostname = $1', [hostname])
    expect(await beginIssuance(db, hostname)).toMatchObject({ kind: 'go' })
    if (attempt < 7) await recordIssuanceFailure(db, hostname, { problem: { type: DNS_PROBLEM }, sentence: 'No.' })
  }
  await recordProbes(db, [result((await dueOf(hostname))!, 'verified')])
  expect(await beginIssuance(db, hostname)).toMatchObject({ kind: 'no', reason: expect.stringContaining('under way') })
  await recordIssuanceFailure(db, hostname, { problem: { type: DNS_PROBLEM }, sentence: 'No.' })
  const { nextAttemptAt } = (await findDomain(db, project, hostname, CLAIM_RULES)).certificate
  expect(Date.parse(nextAttemptAt!) - Date.now()).toBeLessThan(61_000)
})

test('checks that find nothing out are counted, until one does, and wait in a line of their own', async () => {
  const hostname = await claim(db, await addProject(db))
  const failures: number[] = []
  for (const state of ['unknown', 'unknown', 'absent', 'unknown'] as const) {
    await makeDue(hostname)
    const answered = await dueOf(hostname)
    const probe = answered ?? (await dueOf(hostname, 'unanswered'))!
    expect(answered === undefined).toBe(probe.failures > 0)
    failures.push(probe.failures)
    await recordProbes(db, [result(probe, state)])
  }
  expect(failures).toEqual([0, 1, 2, 0])
})

test('a check that had no place to ask leaves the domain in its line, and to its pace', async () => {
  const hostname = await claim(db, await addProject(db))
  const turnAway = async (line: ProbeLine) => {
    await makeDue(hostname)
    const probe = (await dueOf(hostname, line))!
    await recordProbes(db, [{ probe, report: { ...report('unknown'), turnedAway: true }, nextProbeInS: 60 }])
    return probe.failures
  }
  expect([await turnAway('answered'), await turnAway('answered')]).toEqual([0, 0])
  await makeDue(hostname)
  await recordProbes(db, [result((await dueOf(hostname))!, 'unknown')])
  expect([await turnAway('unanswered'), await turnAway('unanswered')]).toEqual([1, 1])
})

test('of a verified domain the checks that find something wrong are counted too, but not while somebody looks', async () => {
  const project = await addProject(db)
  const hostname = await claim(db, project)
  const failures: number[] = []
  const check = async (found: (probe: DueProbe) => ReturnType<typeof result>) => {
    await makeDue(hostname)
    const probe = (await dueOf(hostname)) ?? (await dueOf(hostname, 'unanswered'))!
    failures.push(probe.failures)
    await recordProbes(db, [found(probe)])
  }
  await check((probe) => result(probe, 'verified'))
  await check((probe) => result(probe, 'wrong-target'))
  await check((probe) => warned(probe, 'caa-forbids'))
  await watchDomain(db, project, hostname, { forS: 30 })
  await check((probe) => result(probe, 'absent'))
  await db.pool.query('update probes p set watched_until = now() from domains d where d.id = p.domain_id and d.hostname = $1', [hostname])
  await check((probe) => result(probe, 'unknown'))
  await check((probe) => result(probe, 'verified'))
  await check((probe) => result(probe, 'verified'))
  expect(failures).toEqual([0, 0, 1, 2, 2, 3, 0])
})

test('what was found for a claim that has ended says nothing about the next one', async () => {
  const project = await addProject(db)
  const hostname = await claim(db, project)
  const probe = (await dueOf(hostname))!
  await removeDomain(db, project, hostname)
  expect(await recordProbes(db, [result(probe, 'verified')])).toEqual([])
  await claim(db, project, hostname)
  expect(await recordProbes(db, [result(probe, 'verified')])).toEqual([])
  expect(await findDomain(db, project, hostname, CLAIM_RULES)).toMatchObject({
    verified: false,
    dns: { state: 'unknown', checkedAt: null },
  })
})

test('of checks that overlap what the later one found stays, whichever ends last', async () => {
  const project = await addProject(db)
  const hostname = await claim(db, project)
  const [earlier, later] = [await findProbeTarget(db, project, hostname), await findProbeTarget(db, project, hostname)]
  expect(await recordProbes(db, [result(later, 'verified')])).toEqual([hostname])
  await recordProbes(db, [result(earlier, 'absent')])
  expect((await findDomain(db, project, hostname, CLAIM_RULES)).dns.state).toBe('verified')
  const latest = await findProbeTarget(db, project, hostname)
  await recordProbes(db, [result(latest, 'wrong-target'), result(later, 'verified')])
  expect((await findDomain(db, project, hostname, CLAIM_RULES)).dns.state).toBe('wrong-target')
})

test('a check that began before one that asks for a proof verifies nothing', async () => {
  const project = await addProject(db)
  const hostname = await claim(db, project)
  const frozen = await findProbeTarget(db, project, hostname)
  await recordProbes(db, [result(await findProbeTarget(db, project, hostname), 'proof-needed')])
  expect(await recordProbes(db, [result(frozen, 'verified')])).toEqual([])
  expect(await issueJobs(hostname)).toBe(0)
})

test('a name under a wildcard that another project releases while the name is checked owes the proof from then on', async () => {
  const [leaver, project] = [await addProject(db), await addProject(db)]
  const hostname = parseHostname(`shop.${freshHostname()}`)
  const wildcard = wildcardOver(hostname)
  await registerDomain(db, leaver, { hostname: wildcard, metadataJson: '{}' }, { ...CLAIM_RULES, wildcards: true })
  await age(wildcard, '25 hours')
  await claim(db, project, hostname)
  const probe = await findProbeTarget(db, project, hostname)
  await removeDomain(db, leaver, wildcard)
  expect(await recordProbes(db, [result(probe, 'verified', 604_800)])).toEqual([])
  const next = (await dueOf(hostname))! // at once: the report says that all is right, and names no proof
  expect(next.proofNeeded).toBe(true)
  expect(await recordProbes(db, [result(next, 'verified', 604_800)])).toEqual([hostname]) // the check has seen it
  expect(await dueInS(hostname)).toBeGreaterThan(600_000)
})

test('a watched domain is checked every two seconds, for as long as it is watched', async () => {
  const project = await addProject(db)
  const hostname = await claim(db, project)
  const probe = (await dueOf(hostname))!
  await recordProbes(db, [result(probe, 'absent')])
  await watchDomain(db, project, hostname, { forS: 30 })
  expect(await dueInS(hostname)).toBeLessThan(2.1)
  await recordProbes(db, [result(probe, 'absent')])
  expect(await dueInS(hostname)).toBeLessThan(2.1)
  await db.pool.query(`update probes set claimed_at = now() - interval '1.5 seconds' where domain_id = $1`, [probe.domainId])
  await recordProbes(db, [result(probe, 'absent')])
  expect(await dueInS(hostname)).toBeLessThan(0.6) // counted from when the last look began
  await db.pool.query('update probes set watched_until = now()')
  await recordProbes(db, [result(probe, 'absent')])
  expect(await dueInS(hostname)).toBeGreaterThan(290)
  await expect(watchDomain(db, await addProject(db), hostname, { forS: 30 })).rejects.toMatchObject({ code: 'domain_not_found' })
})

test('an open page has a domain checked every two seconds until it is live, and again while something is in the way', async () => {
  const project = await addProject(db)
  const hostname = await claim(db, project)
  const probe = (await dueOf(hostname))!
  const isWatched = async (found: ProbeResult) => {
    await db.pool.query('update probes set watched_until = now() where domain_id = $1', [probe.domainId])
    await recordProbes(db, [found])
    await watchDomain(db, project, hostname, { forS: 30, untilDone: true })
    return (await dueInS(hostname)) < 2.1
  }
  expect(await isWatched(result(probe, 'verified'))).toBe(true)
  await db.pool.query('update probes set live_at = now() where domain_id = $1', [probe.domainId])
  expect(await isWatched(result(probe, 'verified'))).toBe(false)
  expect(await isWatched(warned(probe, 'aaaa-elsewhere'))).toBe(true)
  expect(await isWatched(result(probe, 'unknown'))).toBe(false) // its servers were silent: nothing is known against it
  expect(await isWatched(result(probe, 'wrong-target'))).toBe(true)
  await expect(watchDomain(db, await addProject(db), hostname, { forS: 30, untilDone: true })).rejects.toMatchObject({
    code: 'domain_not_found',
  })
})

test('a visitor brings the next check forward, ten seconds after the last at the soonest, and only while unverified', async () => {
  const project = await addProject(db)
  const hostname = await claim(db, project)
  const probe = (await dueOf(hostname))!
  await recordProbes(db, [result(probe, 'absent')])
  await probeSoon(db, hostname)
  expect(await dueInS(hostname)).toBeGreaterThan(8)
  expect(await dueInS(hostname)).toBeLessThan(10.1)
  await db.pool.query(`update probes set claimed_at = claimed_at - interval '1 minute', next_probe_at = now() + interval '300 s'`)
  await probeSoon(db, hostname)
  expect(await dueInS(hostname)).toBeLessThan(0.1)
  await recordProbes(db, [result(probe, 'verified', 604_800)])
  await probeSoon(db, hostname)
  expect(await dueInS(hostname)).toBeGreaterThan(600_000)
  await probeSoon(db, freshHostname())
})

test('the check of a hostname is for the project that holds it', async () => {
  const project = await addProject(db)
  const hostname = await claim(db, project)
  expect(await findProbeTarget(db, project, hostname)).toMatchObject({
    hostname,
    projectId: project.id,
    proof: project.proof,
    proofNeeded: false,
  })
  await expect(findProbeTarget(db, await addProject(db), hostname)).rejects.toMatchObject({ code: 'domain_not_found' })
})

const needsProof = async (project: Project, hostname: Hostname) => {
  const [route] = await loadRoutes(db, [hostname])
  expect(route!.proofNeeded).toBe((await findProbeTarget(db, project, hostname)).proofNeeded)
  return route!.proofNeeded
}

test("a hostname that another project released owes a proof for 30 days, one's own does not", async () => {
  const [first, second] = [await addProject(db), await addProject(db)]
  const hostname = await claim(db, first)
  await removeDomain(db, first, hostname)
  await claim(db, first, hostname)
  expect(await needsProof(first, hostname)).toBe(false)
  await removeDomain(db, first, hostname)
  await claim(db, second, hostname)
  expect(await needsProof(second, hostname)).toBe(true)
  expect((await findDomain(db, second, hostname, CLAIM_RULES)).dns.expected).toContainEqual({
    ...{ name: `_namesake.${hostname}`, type: 'TXT', value: second.proof },
  })
  await ageRelease(hostname, '29 days 23 hours')
  expect(await needsProof(second, hostname)).toBe(true)
  await ageRelease(hostname, '1 hour')
  expect(await needsProof(second, hostname)).toBe(false)
})

test('a hostname that another project names as its CNAME target owes a proof while it does; edges that route it hear so at once', async () => {
  const [vendor, stranger] = [await addProject(db), await addProject(db)]
  const name = (project: Project, cnameTarget: Hostname | null) => updateProject(db, project.slug, { cnameTarget }, PROJECT_RULES)
  const [target, other] = [await claim(db, stranger), await claim(db, stranger)]
  const { version } = (await loadRoutes(db, [target]))[0]!
  const cursor = await endOfFeed(db)
  await name(vendor, target)
  expect(await changedHosts(cursor)).toEqual([target])
  expect((await loadRoutes(db, [target]))[0]!.version).toBeGreaterThan(version)
  expect([await needsProof(stranger, target), await needsProof(stranger, other)]).toEqual([true, false])
  const { expected } = (await findDomain(db, stranger, target, CLAIM_RULES)).dns
  expect(expected).toContainEqual({ name: `_namesake.${target}`, type: 'TXT', value: stranger.proof })
  const began = { ...(await findProbeTarget(db, stranger, target)), proofNeeded: false }
  expect(await recordProbes(db, [result(began, 'verified')])).toEqual([])
  expect(await beginIssuance(db, target)).toMatchObject({ kind: 'no' })
  await name(stranger, target) // which anybody can: it leads to the edge
  expect(await needsProof(stranger, target)).toBe(true)
  await name(stranger, null)
  const beforeIts = await endOfFeed(db)
  await name(vendor, other)
  expect((await changedHosts(beforeIts)).toSorted()).toEqual([target, other].toSorted())
  expect([await needsProof(stranger, target), await needsProof(stranger, other)]).toEqual([false, true])
  const beforeTheEnd = await endOfFeed(db)
  await deleteProject(db, vendor)
  expect(await changedHosts(beforeTheEnd)).toEqual([other])
  expect(await needsProof(stranger, other)).toBe(false)
})

test("a project's own CNAME target owes none, unless another names it too, nor does what is verified", async () => {
  const [vendor, stranger] = [await addProject(db), await addProject(db)]
  const [target, customers] = [await claim(db, vendor), await claim(db, vendor)]
  const cursor = await endOfFeed(db)
  await updateProject(db, vendor.slug, { cnameTarget: target }, PROJECT_RULES)
  expect(await needsProof(vendor, target)).toBe(false)
  await recordProbes(db, [result(await findProbeTarget(db, vendor, customers), 'verified')])
  await updateProject(db, stranger.slug, { cnameTarget: customers }, PROJECT_RULES)
  expect(await needsProof(vendor, customers)).toBe(false)
  expect(await changedHosts(cursor)).toEqual([customers]) // as it was verified
  await updateProject(db, stranger.slug, { cnameTarget: target }, PROJECT_RULES)
  expect(await needsProof(vendor, target)).toBe(true)
  await recordProbes(db, [result(await findProbeTarget(db, vendor, target), 'verified')])
  expect(await needsProof(vendor, target)).toBe(false)
})

test('a claim that stays unverified for 7 days owes a proof for the 30 days after; a verified one never does', async () => {
  const project = await addProject(db)
  const hostname = await claim(db, project)
  const seen: boolean[] = []
  for (const by of ['6 days 23 hours', '1 hour', '29 days 23 hours', '2 hours']) {
    await age(hostname, by)
    seen.push(await needsProof(project, hostname))
  }
  expect(seen).toEqual([false, true, true, false])
  await age(hostname, '-20 days')
  expect(await needsProof(project, hostname)).toBe(true)
  await recordProbes(db, [result(await findProbeTarget(db, project, hostname), 'verified')])
  expect(await needsProof(project, hostname)).toBe(false)
})

test('claiming a hostname again does not begin the 7 days anew, unless it was verified in between or given up 30 days ago', async () => {
  const project = await addProject(db)
  const hostname = await claim(db, project)
  const holdFor = async (days: number) => {
    await pass(hostname, days)
    await removeDomain(db, project, hostname)
    await claim(db, project, hostname)
    return needsProof(project, hostname)
  }
  expect([await holdFor(2), await holdFor(4), await holdFor(2)]).toEqual([false, false, true])
  await pass(hostname, 27)
  expect(await needsProof(project, hostname)).toBe(true)
  await removeDomain(db, project, hostname)
  await pass(hostname, 29)
  await claim(db, project, hostname)
  expect(await needsProof(project, hostname)).toBe(true)
  await pass(hostname, 1)
  expect(await needsProof(project, hostname)).toBe(false)
  expect(await holdFor(1)).toBe(false)
  await db.pool.query('update domains set verified_at = now() where hostname = $1 and deleted_at is null', [hostname])
  expect(await holdFor(9)).toBe(false)
})

test('what is left of the 7 days is told to the edges when it is over', async () => {
  const project = await addProject(db)
  const hostname = await claim(db, project)
  await pass(hostname, 5)
  await removeDomain(db, project, hostname)
  await claim(db, project, hostname)
  const told: boolean[] = []
  for (const days of [1, 2]) {
    await pass(hostname, days)
    await makeDue(hostname)
    const cursor = await endOfFeed(db)
    await claimDueProbes(db, { line: 'answered', limit: 1_000, leaseS: 60 })
    told.push((await changedHosts(cursor)).includes(hostname))
  }
  expect(told).toEqual([false, true])
})

test('when the clock alone begins or ends the need of a proof, the edges are told once, with a newer version', async () => {
  const project = await addProject(db)
  const hostname = await claim(db, project)
  const told: boolean[] = []
  let version = (await loadRoutes(db, [hostname]))[0]!.version
  for (const by of ['1 hour', '7 days', '1 day', '30 days', '1 day']) {
    await age(hostname, by)
    await makeDue(hostname)
    const cursor = await endOfFeed(db)
    await claimDueProbes(db, { line: 'answered', limit: 1_000, leaseS: 60 })
    const isTold = (await changedHosts(cursor)).includes(hostname)
    const newer = (await loadRoutes(db, [hostname]))[0]!.version
    expect(newer > version).toBe(isTold)
    told.push(isTold)
    version = newer
  }
  expect(told).toEqual([false, true, false, true, false])
})

test('a need that begins before the first check ever ran is told too', async () => {
  const project = await addProject(db)
  const hostname = await claim(db, project)
  await age(hostname, '8 days')
  const cursor = await endOfFeed(db)
  await claimDueProbes(db, { line: 'answered', limit: 1_000, leaseS: 60 })
  expect(await changedHosts(cursor)).toContain(hostname)
})

test('removing, recording, claiming and registering side by side never stand in each other’s way', async () => {
  const project = await addProject(db)
  const hostnames = await Promise.all(Array.from({ length: 10 }, () => claim(db, project)))
  const targets = await Promise.all(hostnames.map((hostname) => findProbeTarget(db, project, hostname)))
  const rounds = Array.from({ length: 15 }, (_, round) => async () => {
    const shuffled = round % 2 ? [...targets].reverse() : targets
    const hostname = hostnames[round % hostnames.length]!
    await makeDue(hostname)
    await claimDueProbes(db, { line: 'answered', limit: 10, leaseS: 0 })
    await recordProbes(
      db,
      shuffled.map((probe) => result(probe, round % 3 ? 'absent' : 'verified', 0)),
    )
    await claim(db, project, hostname, `{"round":${round}}`)
    await watchDomain(db, project, hostname, { forS: 10 }).catch(() => {})
    await removeDomain(db, project, hostname).catch(() => {})
  })
  await Promise.all(rounds.map((round) => round()))
})
