import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/support/postgres.ts'
import { addProject, CLAIM_RULES, claim } from '../../test/support/tenants.ts'
import { beginIssuance } from '../core/certificates.ts'
import { findDomain, removeDomain } from '../core/domains.ts'
import { markSent, recordRateLimit } from '../core/issuance-budget.ts'
import { keepOrderUnderWay } from '../core/orders-under-way.ts'
import { createLog } from '../log.ts'
import { type IssueParts, issueCertificate } from './issue.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

const ISSUED = {
  ...{ chainPem: 'chain', keyPem: 'key', issuer: 'CN=Test', serial: '01', directory: 'x' },
  ...{ notBefore: new Date(0), notAfter: new Date('2200-01-01'), renewAt: new Date('2190-01-01') },
}
const DIRECTORY = 'https://acme.example.com/directory'

function parts(changes: Partial<IssueParts>): { issue: IssueParts; announced: string[] } {
  const announced: string[] = []
  const unwanted = () => Promise.reject(new Error('nothing may be ordered'))
  const issue: IssueParts = {
    ...{ db: database.db, log: createLog('test', 'fatal'), directories: [DIRECTORY], precheck: unwanted, order: unwanted },
    ...{ sealKey: () => Buffer.from('sealed'), announce: (hostname) => announced.push(hostname), now: () => new Date(), count: () => {} },
    ...changes,
  }
  return { issue, announced }
}

async function ordersCounted(): Promise<number> {
  return (await database.db.pool.query('select from issuance_orders')).rows.length
}

test("a hostname whose DNS is not ready costs nothing of the authority's limits", async () => {
  const project = await addProject(database.db)
  const hostname = await claim(database.db, project)
  const { issue } = parts({ precheck: async () => ({ kind: 'no', problem: { type: 'dns' }, sentence: 'It points elsewhere.' }) })
  await issueCertificate(issue, { hostname })
  expect(await ordersCounted()).toBe(0)
  const { certificate } = await findDomain(database.db, project, hostname, CLAIM_RULES)
  expect(certificate).toMatchObject({ lastError: { sentence: 'It points elsewhere.' }, nextIssuanceAt: null })
})

test('neither does a look that fails, and what broke is for the log alone', async () => {
  const project = await addProject(database.db)
  const hostname = await claim(database.db, project)
  const precheck = () => Promise.reject(new Error('connect ENOENT /run/private/socket'))
  await issueCertificate(parts({ precheck }).issue, { hostname })
  expect(await ordersCounted()).toBe(0)
  const { lastError } = (await findDomain(database.db, project, hostname, CLAIM_RULES)).certificate
  expect(lastError).toMatchObject({ sentence: expect.stringContaining('internal error') })
  expect(JSON.stringify(lastError)).not.toContain('private')
})

test('an order that is open at the authority goes on counting when a later attempt finds the DNS gone', async () => {
  const { db } = database
  const project = await addProject(db)
  const hostname = await claim(db, project)
  const dies = async (_: unknown, { permission }: { permission: { orderId: string | null } }) => {
    const order = { directory: DIRECTORY, orderUrl: `${DIRECTORY}/1`, sealedKey: Buffer.from('sealed'), orderId: permission.orderId }
    await markSent(db, permission.orderId)
    await keepOrderUnderWay(db, hostname, { ...order, projectId: project.id, expires: undefined })
    return { kind: 'refused' as const, problem: { type: 'outage' }, sentence: 'It does not answer.', outage: true }
  }
  await issueCertificate(parts({ precheck: async () => ({ kind: 'go' }), order: dies }).issue, { hostname })
  expect(await ordersCounted()).toBe(1)
  await db.pool.query('update certificates set next_attempt_at = now() where hostname = $1', [hostname])
  const { issue } = parts({ precheck: async () => ({ kind: 'no', problem: { type: 'dns' }, sentence: 'It points elsewhere.' }) })
  await issueCertificate(issue, { hostname })
  expect(await ordersCounted()).toBe(1)
  await db.pool.query('delete from issuance_orders')
})

test('an order that ends after its hostname changed hands leaves the attempt of the new holder alone, and the log says what may have come between', async () => {
  const { db } = database
  const lines: string[] = []
  const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) })
  const [first, second] = [await addProject(db), await addProject(db)]
  const ends: Record<string, () => Promise<unknown>> = {
    issued: async () => ({ kind: 'issued', ...ISSUED }),
    refused: async () => ({ kind: 'refused', problem: { type: 'x' }, sentence: 'No.' }),
  }
  for (const end of Object.values(ends)) {
    const hostname = await claim(db, first)
    const order = async () => {
      await removeDomain(db, first, hostname)
      await claim(db, second, hostname)
      await db.pool.query('delete from domains where hostname = $1 and deleted_at is not null', [hostname]) // so that no proof is owed
      expect(await beginIssuance(db, hostname)).toMatchObject({ kind: 'go', projectId: second.id })
      return end()
    }
    await issueCertificate(parts({ log, precheck: async () => ({ kind: 'go' }), order: order as IssueParts['order'] }).issue, { hostname })
    const { certificate } = await findDomain(db, second, hostname, CLAIM_RULES)
    expect(certificate).toMatchObject({ state: 'pending', attempts: 1, lastError: null })
  }
  expect(lines[0]).toMatch(/not kept: .* hostname may have changed hands, a certificate been imported, or a later attempt begun/)
  await db.pool.query('delete from issuance_orders')
})

test('without room nothing is looked up or ordered, and the edges are told', async () => {
  const project = await addProject(database.db)
  const hostname = await claim(database.db, project)
  await recordRateLimit(database.db, { directory: DIRECTORY, hostname, detail: 'too many new orders', retryAfterS: 600 })
  const { issue, announced } = parts({})
  await issueCertificate(issue, { hostname })
  expect(announced).toEqual([hostname])
  const { certificate } = await findDomain(database.db, project, hostname, CLAIM_RULES)
  expect(certificate).toMatchObject({ attempts: 0, lastError: null, nextIssuanceReason: expect.stringContaining('too many new orders') })
})
