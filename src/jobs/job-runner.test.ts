import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/support/postgres.ts'
import { addProject, claim } from '../../test/support/tenants.ts'
import { rows } from '../core/db.ts'
import { addIssueJobs } from '../core/issue-jobs.ts'
import type { Hostname } from '../hostname.ts'
import { createLog } from '../log.ts'
import { startJobRunner } from './job-runner.ts'

const PLACES = 5

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

async function claimSeveral(count: number): Promise<Hostname[]> {
  const project = await addProject(database.db)
  const hostnames: Hostname[] = []
  for (let number = 0; number < count; number++) hostnames.push(await claim(database.db, project))
  return hostnames
}

/** Adds the jobs as the two that ask for certificates do: our own roles, and machines that may call one function only. */
const askers: [string, (hostnames: Hostname[]) => Promise<unknown>][] = [
  ['the control plane', (hostnames) => addIssueJobs(database.db, hostnames)],
  ['edges', (hostnames) => rows(database.db, sql`select ask_for_certificate(hostname) from unnest(${hostnames}::text[]) as hostname`)],
]

test.each(askers)("a project's jobs leave places to others, though they came first and %s asked for them", async (_, ask) => {
  const { db } = database
  const [many, one] = [await claimSeveral(4 * PLACES), await claimSeveral(1)]
  await rows(db, sql`delete from graphile_worker._private_jobs`)
  await ask(many)
  const begun: Hostname[] = []
  const ends: (() => void)[] = []
  let closing = false
  const runner = await startJobRunner({
    ...{ db, jobDb: db, log: createLog('test', 'fatal'), task: 'issue', atOnce: PLACES },
    async work(payload) {
      begun.push((payload as { hostname: Hostname }).hostname)
      if (!closing) await new Promise<void>((resolve) => ends.push(resolve))
    },
  })
  try {
    await vi.waitFor(() => expect(begun).toHaveLength(PLACES), 10_000)
    ends.shift()!()
    await ask(one)
    await vi.waitFor(() => expect(begun.slice(PLACES)).toEqual(one), 10_000)
  } finally {
    closing = true
    for (const end of ends) end()
    await runner.stop()
    await runner.leave()
  }
})
