import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/support/postgres.ts'
import { addProject, claim } from '../../test/support/tenants.ts'
import type { DnsReport } from '../core/dns-report.ts'
import { createLog } from '../log.ts'
import { startProbeSweep } from './probe-sweep.ts'

const SILENT_NAMES = 4_000

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

test('names whose servers do not answer, however many, do not hold up the first check of another', async () => {
  const { db } = database
  const project = await addProject(db)
  await db.pool.query(
    `with claimed as (
      insert into domains (project_id, hostname, metadata) select $1, 'silent-' || n || '.customer.test', '{}' from generate_series(1, $2) n returning id
    ) insert into probes (domain_id, failures, next_probe_at) select id, 1, now() - interval '1 hour' from claimed`,
    [project.id, SILENT_NAMES],
  )
  const hostname = await claim(db, await addProject(db))
  const ends = Promise.withResolvers<DnsReport>()
  const checked = new Set<string>()
  const sweep = startProbeSweep({
    ...{ db, log: createLog('test', 'fatal'), intervalS: 300, onRecorded() {}, count() {} },
    check(probe) {
      checked.add(probe.hostname)
      return ends.promise
    },
  })
  try {
    await expect.poll(() => checked.has(hostname)).toBe(true)
    await expect.poll(() => checked.size).toBeGreaterThan(SILENT_NAMES / 10)
  } finally {
    ends.resolve({ state: 'unknown', sentence: '', expected: [], found: [], warnings: [], checkedAt: new Date(0).toISOString() })
    await sweep.stop()
  }
})
