import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/support/postgres.ts'
import { addProject, claim } from '../../test/support/tenants.ts'
import type { Hostname } from '../hostname.ts'
import { beginIssuance, recordCertificate, recordIssuanceFailure } from './certificates.ts'
import type { Db } from './db.ts'
import { findOrderHistory, removeDomain } from './domains.ts'

let database: TestDatabase
let db: Db
beforeAll(async () => {
  database = await createTestDatabase()
  db = database.db
})
afterAll(() => database.drop())

const DAY_MS = 86_400_000
const TIME = expect.stringMatching(/Z$/)
const issued = {
  ...{ chainPem: 'chain', sealedKey: Buffer.from([1]), issuer: 'CN=Test CA', serial: '0a' },
  ...{ notBefore: new Date(), notAfter: new Date(Date.now() + 90 * DAY_MS), renewAt: new Date(Date.now() - DAY_MS) },
}
const free = (hostname: Hostname) =>
  db.pool.query('update certificates set next_attempt_at = now(), lease_until = null where hostname = $1', [hostname])

async function fail(hostname: Hostname, problem: object): Promise<void> {
  await free(hostname)
  expect(await beginIssuance(db, hostname)).toMatchObject({ kind: 'go' })
  await recordIssuanceFailure(db, hostname, { problem, sentence: 'No.' })
}

test("every attempt is in the history: under way, failed with the authority's own document, abandoned, issued", async () => {
  const project = await addProject(db)
  const hostname = await claim(db, project)
  expect(await findOrderHistory(db, project, hostname)).toEqual([])
  const problem = { type: 'urn:ietf:params:acme:error:caa', detail: 'not \0 permitted', subproblems: [{ z: 1, a: 2 }] }
  await fail(hostname, problem)
  await free(hostname)
  await beginIssuance(db, hostname)
  await free(hostname)
  await beginIssuance(db, hostname)
  const nothing = { issuer: null, serial: null, notAfter: null, error: null }
  const underWay = { beganAt: TIME, endedAt: null, outcome: 'under-way', renewing: false, ...nothing }
  const before = [
    { ...underWay, outcome: 'abandoned', endedAt: TIME },
    { ...underWay, outcome: 'failed', endedAt: TIME, error: { sentence: 'No.', problem } },
  ]
  expect(await findOrderHistory(db, project, hostname)).toEqual([underWay, ...before])
  await recordCertificate(db, hostname, issued)
  const success = { outcome: 'issued', endedAt: TIME, issuer: 'CN=Test CA', serial: '0a', notAfter: issued.notAfter.toISOString() }
  expect(await findOrderHistory(db, project, hostname)).toEqual([{ ...underWay, ...success }, ...before])
  await fail(hostname, problem)
  expect((await findOrderHistory(db, project, hostname))[0]).toMatchObject({ outcome: 'failed', renewing: true })
})

test('of several workers the one that gets the order is the one attempt in the history', async () => {
  const project = await addProject(db)
  const hostname = await claim(db, project)
  await Promise.all(Array.from({ length: 8 }, () => beginIssuance(db, hostname)))
  expect(await findOrderHistory(db, project, hostname)).toHaveLength(1)
})

test('the last 20 attempts of a hostname are kept, and others keep theirs', async () => {
  const project = await addProject(db)
  const [hostname, other] = [await claim(db, project), await claim(db, project)]
  await fail(other, { other: true })
  for (let i = 1; i <= 23; i += 1) await fail(hostname, { i })
  const history = await findOrderHistory(db, project, hostname)
  expect(history.map(({ error }) => error!.problem)).toEqual(Array.from({ length: 20 }, (_, i) => ({ i: 23 - i })))
  expect((await db.pool.query('select from order_history where hostname = $1', [hostname])).rowCount).toBe(20)
  expect(await findOrderHistory(db, project, other)).toHaveLength(1)
})

test("another project never sees it: neither as a stranger nor as the hostname's next holder", async () => {
  const [first, second] = [await addProject(db), await addProject(db)]
  const hostname = await claim(db, first)
  await fail(hostname, {})
  await expect(findOrderHistory(db, second, hostname)).rejects.toMatchObject({ code: 'domain_not_found' })
  await removeDomain(db, first, hostname)
  await claim(db, second, hostname)
  expect(await findOrderHistory(db, second, hostname)).toEqual([])
  expect((await db.pool.query('select from order_history where hostname = $1', [hostname])).rowCount).toBe(0)
})
