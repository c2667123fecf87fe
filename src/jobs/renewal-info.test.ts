import { once } from 'node:events'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/support/postgres.ts'
import { addProject, claim } from '../../test/support/tenants.ts'
import { beginIssuance, recordCertificate } from '../core/certificates.ts'
import type { HeldCertificate } from '../core/renewals.ts'
import type { Hostname } from '../hostname.ts'
import { createLog } from '../log.ts'
import { askAboutRenewals, type RenewalTime } from './renewal-info.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

const CERTIFICATES = 230
const CERTIFICATE = {
  ...{ chainPem: '-----BEGIN CERTIFICATE-----', sealedKey: Buffer.from([1]), issuer: 'CN=Test CA', serial: '0a' },
  ...{ notBefore: new Date(0), notAfter: new Date('2200-01-01'), renewAt: new Date('2190-01-01') },
}

test('one run asks about all that is due, and a question that breaks costs no other its answer', async () => {
  const { db } = database
  const project = await addProject(db)
  const hostnames = await Promise.all(Array.from({ length: CERTIFICATES }, () => claim(db, project)))
  for (const hostname of hostnames) {
    await beginIssuance(db, hostname)
    await recordCertificate(db, hostname, CERTIFICATE)
  }
  const due = async () => (await db.pool.query('select from certificates where ari_due_at <= now()')).rowCount
  await db.pool.query('update certificates set ari_due_at = now()')
  const asked = new Set<Hostname>()
  const run = (renewalTime: (held: HeldCertificate) => Promise<RenewalTime>) =>
    askAboutRenewals({ db, log: createLog('test', 'fatal'), renewalTime })
  await run(async ({ hostname, renewAt }) => {
    asked.add(hostname)
    return { kind: 'no-wish', renewAt }
  })
  expect([asked.size, await due()]).toEqual([CERTIFICATES, 0])
  await db.pool.query(`update certificates set ari_due_at = now() where hostname = any($1)`, [hostnames.slice(0, 5)])
  const broken = run(async ({ hostname, renewAt }) => {
    if (hostname === hostnames[2]) throw new Error('broken')
    return { kind: 'no-wish', renewAt }
  })
  await expect(broken).rejects.toThrow('broken')
  const inADay = await db.pool.query(`select from certificates where hostname = any($1) and ari_due_at > now() + interval '23 hours'`, [
    hostnames.slice(0, 5),
  ])
  expect(inADay.rowCount).toBe(4)
})

test('an authority that does not answer keeps nobody from the others, and is asked again minutes later', async () => {
  const { db } = database
  const [silent, well] = ['https://silent.example.com/directory', 'https://well.example.com/directory']
  await db.pool.query('update certificates set ari_due_at = null')
  await db.pool.query(
    `update certificates set directory = $1, ari_due_at = now() - interval '1 hour' where hostname in (select hostname from certificates limit 150)`,
    [silent],
  )
  await db.pool.query(
    `update certificates set directory = $1, ari_due_at = now() where hostname = (select max(hostname) from certificates where ari_due_at is null)`,
    [well],
  )
  const asked: (string | null)[] = []
  await askAboutRenewals({
    ...{ db, log: createLog('test', 'fatal') },
    async renewalTime({ directory, renewAt }, signal) {
      asked.push(directory)
      if (directory === well) return { kind: 'no-wish', renewAt }
      await once(signal, 'abort')
      return { kind: 'failed', renewAt, sentence: 'it did not answer' }
    },
  })
  expect(asked).toEqual([...Array(10).fill(silent), well])
  const soon = await db.pool.query(
    `select from certificates where directory = $1 and ari_due_at between now() + interval '1 minute' and now() + interval '10 minutes'`,
    [silent],
  )
  expect(soon.rowCount).toBe(140)
})
