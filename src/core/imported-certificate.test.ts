import { afterAll, beforeAll, expect, test } from 'vitest'
import { changesSince, endOfFeed } from '../../test/support/feed.ts'
import { createTestDatabase, type TestDatabase } from '../../test/support/postgres.ts'
import { addProject, CLAIM_RULES, claim, freshHostname } from '../../test/support/tenants.ts'
import type { Hostname } from '../hostname.ts'
import { beginIssuance, claimDueRenewals, recordCertificate, recordIssuanceFailure, requestIssuance } from './certificates.ts'
import type { Db } from './db.ts'
import { findDomain, findOrderHistory, removeDomain } from './domains.ts'
import { importCertificate, orderInsteadOfImported } from './imported-certificate.ts'
import { requestOwnCertificates } from './own-certificates.ts'
import { requestRenewal } from './renewal-request.ts'
import { loadCertificates } from './routes.ts'

let database: TestDatabase
let db: Db
beforeAll(async () => {
  database = await createTestDatabase()
  db = database.db
})
afterAll(() => database.drop())

const DAY_MS = 86_400_000
const brought = {
  ...{ chainPem: 'brought', sealedKey: Buffer.from([1]), issuer: 'CN=Company CA', serial: '0b' },
  ...{ notBefore: new Date(Date.now() - DAY_MS), notAfter: new Date(Date.now() + 20 * DAY_MS) },
}
const ordered = { ...brought, chainPem: 'ordered', issuer: 'CN=Test CA', serial: '0a', renewAt: new Date(Date.now() + DAY_MS) }

const chainOf = async (hostname: Hostname) => (await loadCertificates(db, [hostname]))[0]?.chainPem
const expire = (hostname: Hostname) =>
  db.pool.query('update certificates set not_after = now(), renew_at = now(), next_attempt_at = now() where hostname = $1', [hostname])

test('an imported certificate takes the place of an ordered one, reaches the edges, and shows as what it is', async () => {
  const project = await addProject(db)
  const hostname = await claim(db, project)
  await beginIssuance(db, hostname)
  await recordCertificate(db, hostname, ordered)
  const cursor = await endOfFeed(db)
  await importCertificate(db, hostname, brought)
  expect(await changesSince(db, cursor)).toMatchObject([{ kind: 'certificate', key: hostname }])
  expect(await chainOf(hostname)).toBe('brought')
  const { certificate } = await findDomain(db, project, hostname, CLAIM_RULES)
  const notAfter = brought.notAfter.toISOString()
  expect(certificate).toMatchObject({ state: 'issued', origin: 'imported', issuer: 'CN=Company CA', notAfter, renewAt: notAfter })
  const history = await findOrderHistory(db, project, hostname)
  expect(history).toMatchObject([{ outcome: 'imported', renewing: true, serial: '0b', notAfter }, { outcome: 'issued' }])
  await importCertificate(db, hostname, { ...brought, chainPem: 'next' })
  expect(await chainOf(hostname)).toBe('next')
})

test('neither renewal, a request, nor an operator orders over it while it is valid', async () => {
  const project = await addProject(db)
  const hostname = await claim(db, project)
  await importCertificate(db, hostname, brought)
  expect(await claimDueRenewals(db, 100)).not.toContain(hostname)
  await requestIssuance(db, hostname)
  expect((await db.pool.query('select from graphile_worker._private_jobs where key = $1', [`issue:${hostname}`])).rowCount).toBe(0)
  expect(await beginIssuance(db, hostname)).toMatchObject({ kind: 'no' })
  expect(await requestRenewal(db, hostname)).toEqual({ kind: 'refused', reason: expect.stringMatching(/was imported and is valid until/) })
})

test('an order that was under way when it came neither replaces it nor has it renewed', async () => {
  const project = await addProject(db)
  for (const end of [
    (hostname: Hostname) => recordCertificate(db, hostname, ordered),
    (hostname: Hostname) => recordIssuanceFailure(db, hostname, { problem: {}, sentence: 'No.' }),
  ]) {
    const hostname = await claim(db, project)
    await beginIssuance(db, hostname)
    await importCertificate(db, hostname, brought)
    await end(hostname)
    expect(await chainOf(hostname)).toBe('brought')
    expect((await findDomain(db, project, hostname, CLAIM_RULES)).certificate).toMatchObject({ attempts: 1, lastError: null })
    expect(await findOrderHistory(db, project, hostname)).toMatchObject([{ outcome: 'imported' }, { outcome: 'abandoned' }])
    expect(await claimDueRenewals(db, 100)).not.toContain(hostname)
  }
})

test('once it has run out, one is ordered in its place', async () => {
  const project = await addProject(db)
  const hostname = await claim(db, project)
  await db.pool.query('update domains set verified_at = now() where hostname = $1', [hostname])
  await importCertificate(db, hostname, brought)
  await expire(hostname)
  expect(await claimDueRenewals(db, 100)).toContain(hostname)
  expect(await beginIssuance(db, hostname)).toMatchObject({ kind: 'go', renewing: true })
  await recordCertificate(db, hostname, ordered)
  expect((await findDomain(db, project, hostname, CLAIM_RULES)).certificate).toMatchObject({ origin: 'ordered', serial: '0a' })
})

test('bringing certificates and handing them back does not hurry an order: what failed holds back the next one as before', async () => {
  const project = await addProject(db)
  const hostname = await claim(db, project)
  const inS = async () => {
    const { rows } = await db.pool.query(
      'select extract(epoch from next_attempt_at - now())::float8 as s from certificates where hostname = $1',
      [hostname],
    )
    return rows[0].s as number
  }
  await beginIssuance(db, hostname)
  await importCertificate(db, hostname, brought)
  await orderInsteadOfImported(db, hostname, project)
  expect(await beginIssuance(db, hostname)).toMatchObject({ kind: 'no' }) // the first may still be under way
  for (const minutes of [3, 3, 4, 8, 16]) {
    await db.pool.query(`update certificates set last_attempt_at = now(), attempts = greatest(1, attempts) where hostname = $1`, [hostname])
    await importCertificate(db, hostname, brought)
    await orderInsteadOfImported(db, hostname, project)
    await importCertificate(db, hostname, { ...brought, notAfter: new Date(Date.now() + 1_000) }) // or let it run out
    expect(Math.round((await inS()) / 60)).toBe(minutes)
    expect(await beginIssuance(db, hostname)).toMatchObject({ kind: 'no' })
    await expire(hostname)
    expect(await beginIssuance(db, hostname)).toMatchObject({ kind: 'go' })
  }
  await db.pool.query(`update certificates set last_attempt_at = now() - interval '7 hours' where hostname = $1`, [hostname])
  await importCertificate(db, hostname, brought)
  await orderInsteadOfImported(db, hostname, project)
  expect(await beginIssuance(db, hostname)).toMatchObject({ kind: 'go', attempt: 1 })
})

test('what is kept for renewals is open to what was ordered, and to what was brought once it has been served for a week and ends', async () => {
  const [directory, project] = [`https://${freshHostname()}/directory`, await addProject(db)]
  const terms = { directories: [directory], limits: [{ scope: 'account' as const, max: 5, windowS: 10_800 }] } // four for new certificates
  const [renewed, returned, ended, served, over] = await Promise.all(Array.from({ length: 5 }, () => claim(db, project)))
  expect(await beginIssuance(db, renewed!, terms)).toMatchObject({ kind: 'go', renewing: false, asRenewal: false })
  await recordCertificate(db, renewed!, { ...ordered, directory })
  await expire(renewed!)
  await db.pool.query(
    `insert into issuance_orders (directory, hostname, registered_domain, project_id, renewal, exempt, counted_at)
    select $1, 'x.customer.test', 'customer.test', $2, false, false, now() from generate_series(1, 3)`,
    [directory, project.id],
  )
  await importCertificate(db, returned!, { ...brought, notAfter: new Date(Date.now() + 3 * DAY_MS) })
  await orderInsteadOfImported(db, returned!, project)
  for (const hostname of [ended!, served!, over!]) await importCertificate(db, hostname, brought)
  await db.pool.query(`update domains set verified_at = now() - interval '8 days' where hostname = any($1)`, [[ended, served, over]])
  await db.pool.query(`update order_history set ended_at = now() - interval '8 days' where hostname = any($1)`, [[served, over]])
  await expire(ended!)
  await expire(over!)
  await orderInsteadOfImported(db, served!, project) // 20 days before its end
  const full = { kind: 'no', reason: expect.stringContaining('of which 1 are kept for renewals'), postponed: true }
  for (const hostname of [returned!, ended!, served!]) expect(await beginIssuance(db, hostname, terms)).toEqual(full)
  await db.pool.query(`update certificates set not_after = now() + interval '6 days', postponed_until = now() where hostname = $1`, [
    served,
  ])
  for (const hostname of [served!, over!, renewed!]) {
    expect(await beginIssuance(db, hostname, terms)).toMatchObject({ kind: 'go', renewing: true, asRenewal: true })
    await db.pool.query('delete from issuance_orders where directory = $1 and renewal', [directory])
  }
})

test('a certificate that is to be ordered in place of a brought one has its turn among the new ones of all projects', async () => {
  const [directory, greedy, modest] = [`https://${freshHostname()}/directory`, await addProject(db), await addProject(db)]
  const terms = { directories: [directory], limits: [{ scope: 'account' as const, max: 5, windowS: 10_800 }] } // four for new certificates
  const begin = async () => (await beginIssuance(db, await claim(db, greedy), terms)).kind
  await db.pool.query('update certificates set next_attempt_at = null')
  for (let i = 0; i < 4; i += 1) expect(await begin()).toBe('go')
  const returned = await claim(db, modest)
  await importCertificate(db, returned, brought)
  await orderInsteadOfImported(db, returned, modest)
  expect(await beginIssuance(db, returned, terms)).toMatchObject({ kind: 'no', postponed: true })
  await db.pool.query(
    `update issuance_orders set counted_at = now() - interval '1 day'
    where id in (select id from issuance_orders where directory = $1 order by id limit 2)`,
    [directory],
  )
  const refused = await beginIssuance(db, await claim(db, greedy), terms)
  expect(refused).toMatchObject({ kind: 'no', reason: expect.stringContaining('other projects wait for the rest') })
  await db.pool.query('update certificates set postponed_until = now() where hostname = $1', [returned])
  expect(await beginIssuance(db, returned, terms)).toMatchObject({ kind: 'go' })
})

test('it waits for the return of its own project, and is deleted at the claim of another', async () => {
  const [first, second] = [await addProject(db), await addProject(db)]
  const hostname = await claim(db, first)
  await importCertificate(db, hostname, brought)
  await removeDomain(db, first, hostname)
  expect(await chainOf(hostname)).toBeUndefined()
  await expect(importCertificate(db, hostname, brought)).rejects.toMatchObject({ code: 'domain_not_found' })
  await claim(db, first, hostname)
  expect(await chainOf(hostname)).toBe('brought')
  await removeDomain(db, first, hostname)
  await claim(db, second, hostname)
  expect((await db.pool.query('select from certificates where hostname = $1', [hostname])).rowCount).toBe(0)
  expect((await db.pool.query('select from order_history where hostname = $1', [hostname])).rowCount).toBe(0)
  expect((await findDomain(db, second, hostname, CLAIM_RULES)).certificate).toMatchObject({ state: 'none', origin: null })
})

test('imports that race with a change of holder leave nothing for the next one', async () => {
  const [first, second] = [await addProject(db), await addProject(db)]
  for (let i = 0; i < 10; i += 1) {
    const hostname = await claim(db, first)
    const importing = importCertificate(db, hostname, brought, first).catch((error: { code: string }) => error.code)
    await removeDomain(db, first, hostname)
    await claim(db, second, hostname)
    expect([undefined, 'domain_not_found']).toContain(await importing)
    expect(await chainOf(hostname)).toBeUndefined()
    expect((await db.pool.query('select from certificates where hostname = $1', [hostname])).rowCount).toBe(0)
  }
})

test('an attempt that has waited for its room leaves what the next holder has brought meanwhile', async () => {
  const [first, second] = [await addProject(db), await addProject(db)]
  const hostname = await claim(db, first)
  const directory = 'https://acme.example.com/directory'
  const blocker = await db.pool.connect()
  try {
    await blocker.query(`begin; select pg_advisory_xact_lock(hashtextextended('issuance budget of ${directory}', 0))`)
    const attempt = beginIssuance(db, hostname, { directories: [directory] })
    const isWaiting = () => db.pool.query("select from pg_stat_activity where datname = current_database() and wait_event = 'advisory'")
    await expect.poll(async () => (await isWaiting()).rowCount).toBe(1)
    await removeDomain(db, first, hostname)
    await claim(db, second, hostname)
    await importCertificate(db, hostname, brought, second)
    await blocker.query('commit')
    expect(await attempt).toMatchObject({ kind: 'no' })
  } finally {
    blocker.release(true)
  }
  expect(await chainOf(hostname)).toBe('brought')
})

test("the service's own hosts can have an imported one; a stranger cannot", async () => {
  const own = freshHostname('namesake.test')
  await expect(importCertificate(db, own, brought)).rejects.toMatchObject({ code: 'domain_not_found' })
  await requestOwnCertificates(db, [own])
  await importCertificate(db, own, brought)
  expect(await chainOf(own)).toBe('brought')
})
