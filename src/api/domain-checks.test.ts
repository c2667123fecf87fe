import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/support/postgres.ts'
import { addProject, CLAIM_RULES, claim } from '../../test/support/tenants.ts'
import { findDomain, registerDomain, removeDomain } from '../core/domains.ts'
import type { DnsReport } from '../core/probes.ts'
import type { Project } from '../core/projects.ts'
import type { Hostname } from '../hostname.ts'
import { createDomainChecks } from './domain-checks.ts'

let database: TestDatabase
let project: Project
beforeAll(async () => {
  database = await createTestDatabase()
  project = await addProject(database.db)
})
afterAll(() => database.drop())

const VERIFIED: DnsReport = {
  state: 'verified',
  sentence: 'It points here.',
  expected: [],
  found: [],
  warnings: [],
  checkedAt: new Date().toISOString(),
}

/** Checks whose look-ups end when the test says so. */
function startChecks(now = () => new Date()) {
  const asked: Hostname[] = []
  const announced: Hostname[] = []
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const check = async (hostname: Hostname) => {
    asked.push(hostname)
    await released
    return VERIFIED
  }
  const announce = (hostname: Hostname) => void announced.push(hostname)
  return { asked, announced, release, run: createDomainChecks({ db: database.db, probe: { check }, probeIntervalS: 300, announce, now }) }
}

test('a hostname that a check verifies is announced', async () => {
  const checks = startChecks()
  const hostname = await claim(database.db, project)
  checks.release()
  await checks.run(project, hostname)
  expect(checks.announced).toEqual([hostname])
  expect(await findDomain(database.db, project, hostname, CLAIM_RULES)).toMatchObject({ verified: true })
})

test('a check that does not end in time leaves the last findings, and the background check to follow up', async () => {
  const hostname = await claim(database.db, project)
  const check = () => Promise.reject(AbortSignal.abort(new DOMException('', 'TimeoutError')).reason)
  const checkDomain = createDomainChecks({ db: database.db, probe: { check }, probeIntervalS: 300, announce() {}, now: () => new Date() })
  await checkDomain(project, hostname)
  expect(await findDomain(database.db, project, hostname, CLAIM_RULES)).toMatchObject({ dns: { state: 'unknown', checkedAt: null } })
})

test('everybody who asks while a check runs waits for that one; two seconds later there may be another', async () => {
  let nowMs = Date.now()
  const checks = startChecks(() => new Date(nowMs))
  const hostname = await claim(database.db, project)
  const all = Promise.all([checks.run(project, hostname), checks.run(project, hostname)])
  checks.release()
  await all
  await checks.run(project, hostname)
  expect(checks.asked).toEqual([hostname])
  nowMs += 2_000
  await checks.run(project, hostname)
  expect(checks.asked).toEqual([hostname, hostname])
})

test('of many hostnames that are checked at once ten of a project and fifty in all are looked up; the others are answered without waiting', async () => {
  const checks = startChecks()
  const projects = await Promise.all(Array.from({ length: 6 }, () => addProject(database.db)))
  let answered = 0
  const check = async (of: Project) => {
    await checks.run(of, await claim(database.db, of))
    answered += 1
  }
  const all = projects.slice(0, 5).flatMap((of) => Array.from({ length: 12 }, () => check(of)))
  await expect.poll(() => answered).toBe(10)
  await expect.poll(() => checks.asked).toHaveLength(50)
  await check(projects[5]!)
  expect(checks.asked).toHaveLength(50)
  checks.release()
  await Promise.all(all)
})

test('those who have links of a project have seven of its ten at most, and the vendor the rest', async () => {
  const checks = startChecks()
  let answered = 0
  const check = async (byLink: boolean) => {
    await checks.run(project, await claim(database.db, project), { byLink })
    answered += 1
  }
  const byLink = Array.from({ length: 9 }, () => check(true))
  await expect.poll(() => answered).toBe(2)
  await expect.poll(() => checks.asked).toHaveLength(7)
  const own = Array.from({ length: 4 }, () => check(false))
  await expect.poll(() => answered).toBe(3)
  await expect.poll(() => checks.asked).toHaveLength(10)
  checks.release()
  await Promise.all([...byLink, ...own])
})

test('a hostname that changes hands during its check is not verified by it', async () => {
  const checks = startChecks()
  const other = await addProject(database.db)
  const hostname = await claim(database.db, project)
  const running = checks.run(project, hostname)
  await expect.poll(() => checks.asked).toEqual([hostname])
  await removeDomain(database.db, project, hostname)
  await registerDomain(database.db, other, { hostname, metadataJson: '{}' }, CLAIM_RULES)
  checks.release()
  await running
  expect(checks.announced).toEqual([])
  expect(await findDomain(database.db, other, hostname, CLAIM_RULES)).toMatchObject({ verified: false })
})
