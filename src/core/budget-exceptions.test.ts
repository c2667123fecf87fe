import { afterAll, beforeAll, expect, test } from 'vitest'
import { changesSince, endOfFeed } from '../../test/support/feed.ts'
import { createTestDatabase, type TestDatabase } from '../../test/support/postgres.ts'
import { addProject, CLAIM_RULES, claim, freshHostname } from '../../test/support/tenants.ts'
import { parseHostname } from '../hostname.ts'
import { allowDomain, disallowDomain, listExceptions } from './budget-exceptions.ts'
import { readBudgets, readWaiting } from './budget-report.ts'
import { beginIssuance } from './certificates.ts'
import { transaction } from './db.ts'
import { findDomain } from './domains.ts'
import { recordRateLimit, settleOrder, takeBudget } from './issuance-budget.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

const DIRECTORY = 'https://acme.example.com/directory'

test('a registered domain may have what was agreed for it, and what waited for its limit is tried again at once', async () => {
  const { db } = database
  const domain = parseHostname('many.example')
  const project = await addProject(db)
  const order = () =>
    transaction(db, (tx) =>
      takeBudget(tx, { directory: DIRECTORY, hostname: freshHostname(domain), projectId: project.id, renewing: false }),
    )
  for (let i = 0; i < 40; i += 1) {
    const taken = await order()
    if (taken.kind === 'taken') await settleOrder(db, taken.orderId, 'issued')
  }
  const waiting = await claim(db, project, freshHostname(domain))
  expect(await beginIssuance(db, waiting, { directories: [DIRECTORY] })).toMatchObject({ kind: 'no', postponed: true })
  const { nextIssuanceAt } = (await findDomain(db, project, waiting, CLAIM_RULES)).certificate
  expect(await readWaiting(db)).toEqual([{ limit: 'domain', hostnames: 1, nextAt: nextIssuanceAt }])
  await recordRateLimit(db, { directory: DIRECTORY, hostname: waiting, detail: 'too many certificates already issued', retryAfterS: 900 })
  expect(await readBudgets(db, [DIRECTORY, 'local'])).toMatchObject([
    {
      account: { used: 40, max: 300, forNew: 240 },
      domains: [{ registeredDomain: domain, used: 40, max: 50, forNew: 40 }],
      blocks: [{ scope: 'domain', key: domain }],
    },
    { directory: 'local', account: null, domains: [], blocks: [] },
  ])

  const cursor = await endOfFeed(db)
  await allowDomain(db, { directory: DIRECTORY, domain, certificates: 100, note: 'agreed' })
  expect(await changesSince(db, cursor)).toMatchObject([{ kind: 'certificate', key: waiting }])
  expect(await listExceptions(db)).toMatchObject([{ directory: DIRECTORY, registeredDomain: domain, certificates: 100, note: 'agreed' }])
  expect(await beginIssuance(db, waiting, { directories: [DIRECTORY] })).toMatchObject({ kind: 'go' })
  expect(await readBudgets(db, [DIRECTORY])).toMatchObject([{ domains: [{ used: 41, max: 100, forNew: 80 }], blocks: [] }])

  await disallowDomain(db, { directory: DIRECTORY, domain })
  expect(await listExceptions(db)).toEqual([])
  expect(await order()).toMatchObject({ kind: 'no-room', limit: 'domain' })
})
