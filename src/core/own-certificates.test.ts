import { afterAll, beforeAll, expect, test } from 'vitest'
import { changesSince, endOfFeed } from '../../test/support/feed.ts'
import { issued, issue as issueTo, takeIssueJobs } from '../../test/support/issuance.ts'
import { createTestDatabase, type TestDatabase } from '../../test/support/postgres.ts'
import { addProject, claim, freshHostname } from '../../test/support/tenants.ts'
import type { Hostname } from '../hostname.ts'
import { readCertificateHealth } from './certificate-health.ts'
import { beginIssuance, claimDueRenewals, forgetReleasedCertificates, recordCertificate, recordIssuanceFailure } from './certificates.ts'
import type { Db } from './db.ts'
import { removeDomain } from './domains.ts'
import { importCertificate } from './imported-certificate.ts'
import { forgetFormerOwnCertificates, requestOwnCertificates } from './own-certificates.ts'
import { loadCertificates } from './routes.ts'

let database: TestDatabase
let db: Db
beforeAll(async () => {
  database = await createTestDatabase()
  db = database.db
})
afterAll(() => database.drop())

const issue = (hostname: Hostname, certificate = issued()) => issueTo(db, hostname, certificate)
const jobs = (hostname: Hostname) => takeIssueJobs(db, hostname)

const ownHost = () => freshHostname('namesake.test')

/** As if no worker had called it the service's own for so long. */
const unsaidFor = (hostname: Hostname, interval: string) =>
  db.pool.query('update certificates set own_at = own_at - $2::interval where hostname = $1', [hostname, interval])

test("the service's own hosts have certificates without a project, and are told apart from strangers", async () => {
  const own = ownHost()
  await requestOwnCertificates(db, [own])
  await requestOwnCertificates(db, [own])
  expect(await jobs(own)).toBe(1)
  expect(await beginIssuance(db, own)).toMatchObject({ kind: 'go', projectId: null, attempt: 1, renewing: false })
  await recordCertificate(db, own, issued(30, -1, -91))
  expect(await loadCertificates(db, [own])).toMatchObject([{ hostname: own, state: 'issued' }])
  expect(await claimDueRenewals(db, 100)).toContain(own)
  expect(await forgetReleasedCertificates(db)).toBe(0)
})

test('a host that a project has given up gets a certificate of its own, whatever the project left behind', async () => {
  const [project, own] = [await addProject(db), ownHost()]
  await claim(db, project, own)
  await issue(own)
  await jobs(own)
  await removeDomain(db, project, own)
  expect(await requestOwnCertificates(db, [own])).toEqual([])
  expect(await jobs(own)).toBe(1)
  await issue(own)
  expect(await loadCertificates(db, [own])).toMatchObject([{ hostname: own, state: 'issued' }])
})

test('a host that a project has given up takes a certificate that the operator brings', async () => {
  const [project, own] = [await addProject(db), ownHost()]
  await claim(db, project, own)
  await issue(own)
  await removeDomain(db, project, own)
  await requestOwnCertificates(db, [own])
  await importCertificate(db, own, { ...issued(), chainPem: 'brought' })
  expect(await loadCertificates(db, [own])).toMatchObject([{ chainPem: 'brought' }])
})

test('a host that a project still holds is served by the certificate of its claim, and by one of its own once that is given up', async () => {
  const [project, own] = [await addProject(db), ownHost()]
  await claim(db, project, own)
  await issue(own)
  await jobs(own)
  expect(await requestOwnCertificates(db, [own])).toEqual([{ hostname: own, projectSlug: project.slug }])
  expect(await jobs(own)).toBe(0)
  expect(await loadCertificates(db, [own])).toMatchObject([{ state: 'issued' }])
  await removeDomain(db, project, own)
  expect(await loadCertificates(db, [own])).toEqual([])
  expect(await requestOwnCertificates(db, [own])).toEqual([])
  expect(await jobs(own)).toBe(1)
  expect(await beginIssuance(db, own)).toMatchObject({ kind: 'go', projectId: null })
})

test('a host that is no longer the service’s own is renewed no more after a day, alarms nobody, and is forgotten after 30 days', async () => {
  const [former, own] = [ownHost(), ownHost()]
  const alarms = async () => {
    const { expiring, overdue } = await readCertificateHealth(db)
    return [expiring[0]!.count, overdue]
  }
  const before = await alarms()
  await requestOwnCertificates(db, [former])
  await issue(former, issued(-31, -61, -91))
  expect(await alarms()).toEqual(before.map((count) => count + 1))
  await unsaidFor(former, '23 hours') // as in a deploy: who has the former settings may still run
  expect(await alarms()).toEqual(before.map((count) => count + 1))
  expect(await claimDueRenewals(db, 100)).toContain(former)

  await unsaidFor(former, '2 hours')
  expect(await alarms()).toEqual(before)
  expect(await claimDueRenewals(db, 100)).not.toContain(former)
  expect(await forgetFormerOwnCertificates(db, [own])).toBe(0)

  await unsaidFor(former, '29 days')
  expect(await forgetFormerOwnCertificates(db, [former])).toBe(0)
  const place = await endOfFeed(db)
  expect(await forgetFormerOwnCertificates(db, [own])).toBe(1)
  expect(await changesSince(db, place)).toMatchObject([{ kind: 'certificate', key: former }])
  expect(await loadCertificates(db, [former])).toEqual([])
})

test('a former own host that never had a certificate is forgotten after a day', async () => {
  const [former, own] = [ownHost(), ownHost()]
  await requestOwnCertificates(db, [former])
  await beginIssuance(db, former)
  await recordIssuanceFailure(db, former, { problem: { type: 'urn:namesake:error:dns' }, sentence: 'It leads elsewhere.' })
  expect(await forgetFormerOwnCertificates(db, [own])).toBe(0)
  await unsaidFor(former, '25 hours')
  expect(await forgetFormerOwnCertificates(db, [own])).toBe(1)
})

test('while any worker calls a host the service’s own, those with other settings leave it alone', async () => {
  const [former, own] = [ownHost(), ownHost()]
  await requestOwnCertificates(db, [former])
  await issue(former, issued(20, -1, -91))
  for (let day = 0; day < 40; day += 1) {
    await unsaidFor(former, '23 hours')
    await requestOwnCertificates(db, [former])
    expect(await forgetFormerOwnCertificates(db, [own])).toBe(0)
  }
  expect(await claimDueRenewals(db, 100)).toContain(former)
})

test('a host that is the service’s own again, as after days without any worker, is renewed at once where that is due', async () => {
  const own = ownHost()
  await requestOwnCertificates(db, [own])
  await issue(own, issued(20, -1, -91))
  await unsaidFor(own, '40 days')
  expect(await claimDueRenewals(db, 100)).not.toContain(own)
  await requestOwnCertificates(db, [own])
  expect(await claimDueRenewals(db, 100)).toContain(own)
  expect(await forgetFormerOwnCertificates(db, [])).toBe(0)
})
