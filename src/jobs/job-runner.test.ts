import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { drawLine } from '../../test/support/cut-line.ts'
import { createTestDatabase, type TestDatabase } from '../../test/support/postgres.ts'
import { addProject, claim } from '../../test/support/tenants.ts'
import { closeDatabase, connectDatabase, rows } from '../core/db.ts'
import { addIssueJobs } from '../core/issue-jobs.ts'
import type { Hostname } from '../hostname.ts'
import { pause } from '../lib/back-off.ts'
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

test.each([
  ['first', 0],
  ['second', 1],
])(
  'a job that was handed to a runner for the %s time when its connection was lost is done; one under way is left to it',
  async (_, failures) => {
    const { db } = database
    await rows(db, sql`delete from graphile_worker._private_jobs`)
    const [lost, underWay] = (await claimSeveral(2)) as [Hostname, Hostname]
    const all = [underWay, underWay, ...Array.from({ length: failures + 1 }, () => lost)]
    const begun: unknown[] = []
    const released = Promise.withResolvers<void>()
    const runner = await startJobRunner({
      ...{ db, jobDb: db, log: createLog('test', 'fatal'), task: 'issue', atOnce: 3, lookForLost: { everyMs: 200, answerWithinS: 1 } },
      async work(payload) {
        const { hostname } = payload as { hostname: Hostname }
        begun.push(hostname)
        if (hostname === underWay) await released.promise
        else if (begun.length - 2 <= failures) throw new Error('it is tried again')
      },
    })
    try {
      await rows(db, sql`delete from graphile_worker._private_jobs`)
      await addIssueJobs(db, [underWay])
      await vi.waitFor(() => expect(begun).toEqual([underWay]), 10_000)
      await addIssueJobs(db, [underWay]) // the queue gives the one under way up, and counts its attempts as used
      await vi.waitFor(() => expect(begun).toEqual([underWay, underWay]), 10_000)
      const delay = failures > 0 ? '0 s' : '1 day'
      const add = sql<{ id: string }>`
        select (graphile_worker.add_job('issue', ${JSON.stringify({ hostname: lost })}::json, run_at => now() + ${delay}::interval)).id`
      const [added] = await rows(db, add)
      const lose = sql<{ id: string }>`
        update graphile_worker._private_jobs
        set run_at = now() - interval '1 day', attempts = attempts + 1, locked_by = ${runner.id}, locked_at = now() - interval '5 minutes'
        where id = ${added!.id} and locked_at is null and attempts = ${failures} returning id`
      await vi.waitFor(async () => expect(await rows(db, lose)).toHaveLength(1), 10_000)
      await vi.waitFor(() => expect(begun).toEqual(all), 10_000)
      await pause(1_500) // the one under way grows old meanwhile
    } finally {
      released.resolve()
      await runner.stop()
      await runner.leave()
    }
    expect(begun).toEqual(all)
  },
)

test.each(['succeeds', 'fails'])('a job that %s while the database is away is done once, and the process goes on', async (how) => {
  const { db } = database
  await rows(db, sql`delete from graphile_worker._private_jobs`)
  const line = await drawLine(database.url)
  const jobDb = connectDatabase(line.url, { applicationName: 'jobs', poolMax: 4 })
  const [first, second] = await claimSeveral(2)
  const begun: unknown[] = []
  const released = Promise.withResolvers<void>()
  const runner = await startJobRunner({
    ...{ db, jobDb, log: createLog('test', 'fatal'), task: 'issue', atOnce: 2 },
    async work(payload) {
      begun.push((payload as { hostname: Hostname }).hostname)
      if (begun.length > 1) return
      await released.promise
      if (how === 'fails') throw new Error('this once')
    },
  })
  const left = () =>
    rows(db, sql<{ attempts: number; held: boolean }>`select attempts, locked_at is not null as held from graphile_worker.jobs`)
  try {
    await addIssueJobs(db, [first!])
    await vi.waitFor(() => expect(begun).toEqual([first]), 10_000)
    await line.cut()
    released.resolve()
    await pause(500) // what is not tried again has failed by then, and would fail this test as an error that nobody handles
    await line.mend()
    await vi.waitFor(async () => expect(await left()).toEqual(how === 'fails' ? [{ attempts: 1, held: false }] : []), 20_000)
    await addIssueJobs(db, [second!])
    await vi.waitFor(() => expect(begun).toContain(second), 10_000)
    expect(begun.filter((hostname) => hostname === first)).toHaveLength(how === 'fails' ? begun.length - 1 : 1)
  } finally {
    released.resolve()
    await runner.stop()
    await runner.leave()
    await closeDatabase(jobDb)
    await line.cut()
  }
})

test('a runner stops at once while the database is away, also when a job has just ended', async () => {
  const { db } = database
  await rows(db, sql`delete from graphile_worker._private_jobs`)
  const line = await drawLine(database.url)
  const jobDb = connectDatabase(line.url, { applicationName: 'jobs', poolMax: 4 })
  const released = Promise.withResolvers<void>()
  const begun = Promise.withResolvers<void>()
  const runner = await startJobRunner({
    ...{ db, jobDb, log: createLog('test', 'fatal'), task: 'issue', atOnce: 2 },
    async work() {
      begun.resolve()
      await released.promise
    },
  })
  await addIssueJobs(db, await claimSeveral(1))
  await begun.promise
  await line.cut()
  released.resolve()
  await pause(100)
  const startedAtMs = performance.now()
  await runner.stop()
  await runner.leave()
  await closeDatabase(jobDb)
  expect(performance.now() - startedAtMs).toBeLessThan(2_000)
  await pause(500) // an end that is tried again must not fail the process now either
})

test('a worker holds no job before it is known, since nobody would take it over', async () => {
  const { db } = database
  await rows(db, sql`delete from graphile_worker._private_jobs`)
  await addIssueJobs(db, await claimSeveral(1))
  const registry = await db.pool.connect()
  await registry.query('begin; lock table workers')
  const begun = Promise.withResolvers<void>()
  const starting = startJobRunner({
    ...{ db, jobDb: db, log: createLog('test', 'fatal'), task: 'issue', atOnce: 1 },
    work: async () => begun.resolve(),
  })
  try {
    await vi.waitFor(
      async () => expect(await rows(db, sql`select from pg_locks where not granted and relation = 'workers'::regclass`)).toHaveLength(1),
      10_000,
    )
    await pause(500)
    expect(await rows(db, sql`select from graphile_worker.jobs where locked_at is not null`)).toEqual([])
  } finally {
    await registry.query('rollback')
    registry.release()
    const runner = await starting
    await begun.promise
    await runner.stop()
    await runner.leave()
  }
})

test('a worker that was frozen leaves the job to the one that has taken it over, until that has done it', async () => {
  const { db } = database
  await rows(db, sql`delete from graphile_worker._private_jobs`)
  const begun: string[] = []
  const ends = new Map<string, (error?: Error) => void>()
  const startAs = (name: string) =>
    startJobRunner({
      ...{ db, jobDb: db, log: createLog('test', 'fatal'), task: 'issue', atOnce: 1 },
      async work() {
        begun.push(name)
        if (begun.length > 2) return
        await new Promise<void>((resolve, reject) => ends.set(name, (error) => (error ? reject(error) : resolve())))
      },
    })
  const frozen = await startAs('frozen')
  await addIssueJobs(db, await claimSeveral(1))
  await vi.waitFor(() => expect(begun).toEqual(['frozen']), 10_000)
  await rows(db, sql`select graphile_worker.force_unlock_workers(${[frozen.id]}::text[])`) // as whoever finds it dead does
  const other = await startAs('other')
  await vi.waitFor(() => expect(begun).toEqual(['frozen', 'other']), 10_000)
  ends.get('frozen')!()
  await frozen.stop()
  ends.get('other')!(new Error('this once'))
  try {
    await vi.waitFor(async () => {
      await rows(db, sql`update graphile_worker._private_jobs set run_at = now() where locked_at is null`)
      expect(begun).toEqual(['frozen', 'other', 'other'])
    }, 10_000)
  } finally {
    await other.stop()
    await Promise.all([frozen.leave(), other.leave()])
  }
})
