import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/support/postgres.ts'
import { addProject, claim } from '../../test/support/tenants.ts'
import { beginIssuance, recordCertificate, recordIssuanceFailure } from './certificates.ts'
import { addMailJob } from './mail-jobs.ts'
import { claimDueProbes } from './probes.ts'
import { beatWorker, freeForgottenJobs, holdsJob, pruneFailedJobs, takeOverFromDead } from './workers.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())
beforeEach(() => database.db.pool.query('delete from workers'))

const [ada, bob] = ['ada', 'bob'].map((id) => ({ id, host: 'here', pid: 1 })) as [
  { id: string; host: string; pid: number },
  { id: string; host: string; pid: number },
]
const beats = (...workers: { id: string; host: string; pid: number }[]) =>
  Promise.all(workers.map((worker) => beatWorker(database.db, worker)))
const silentFor = (id: string, seconds: number) =>
  database.db.pool.query('update workers set heartbeat_at = heartbeat_at - make_interval(secs => $2) where id = $1', [id, seconds])
const steadyFor = (id: string, seconds: number) =>
  database.db.pool.query('update workers set steady_since = now() - make_interval(secs => $2) where id = $1', [id, seconds])
const ISSUED = {
  ...{ chainPem: 'chain', sealedKey: Buffer.from('sealed'), issuer: 'CN=Test', serial: '01', directory: 'x' },
  ...{ notBefore: new Date(0), notAfter: new Date('2200-01-01'), renewAt: new Date('2190-01-01') },
}

test('what a dead worker held is free at once, and another worker gets it', async () => {
  const { db } = database
  const hostname = await claim(db, await addProject(db))
  await beats(ada, bob)
  expect(await claimDueProbes(db, { line: 'answered', limit: 1_000, leaseS: 60, workerId: bob.id })).toHaveLength(1)
  expect((await beginIssuance(db, hostname, { directories: ['local'], workerId: bob.id })).kind).toBe('go')
  expect((await beginIssuance(db, hostname)).kind).toBe('no')
  await Promise.all([silentFor(bob.id, 16), steadyFor(ada.id, 60)])
  expect(await takeOverFromDead(db, ada)).toEqual({ workers: ['bob'], attempts: 1, probes: 1 })
  expect(await takeOverFromDead(db, ada)).toMatchObject({ workers: [] })
  expect(await claimDueProbes(db, { line: 'answered', limit: 1_000, leaseS: 60, workerId: ada.id })).toHaveLength(1)
  expect(await beginIssuance(db, hostname)).toMatchObject({ kind: 'go' })
})

test('the attempts of workers that died make the next failure wait no longer', async () => {
  const { db } = database
  const hostname = await claim(db, await addProject(db))
  const fail = async () => {
    await recordIssuanceFailure(db, hostname, { problem: { type: 'x' }, sentence: 'No.' })
    const { rows } = await db.pool.query(
      `select attempts, round(extract(epoch from next_attempt_at - now()) / 60)::int as minutes from certificates where hostname = $1`,
      [hostname],
    )
    await db.pool.query('update certificates set next_attempt_at = now() where hostname = $1', [hostname])
    return rows
  }
  for (let deaths = 0; deaths < 5; deaths++) {
    await beats(ada, bob)
    expect(await beginIssuance(db, hostname, { directories: ['local'], workerId: bob.id })).toMatchObject({ kind: 'go', attempt: 1 })
    await Promise.all([silentFor(bob.id, 16), steadyFor(ada.id, 60)])
    expect(await takeOverFromDead(db, ada)).toMatchObject({ attempts: 1 })
  }
  await beginIssuance(db, hostname)
  expect(await fail()).toEqual([{ attempts: 1, minutes: 1 }])
  expect(await beginIssuance(db, hostname)).toMatchObject({ kind: 'go', attempt: 2 })
  expect(await fail()).toEqual([{ attempts: 2, minutes: 2 }])
})

test('a worker that was not heard for a while itself, as in an outage of the database, takes nobody for dead', async () => {
  const { db } = database
  await beats(ada, bob)
  await Promise.all([silentFor(bob.id, 60), silentFor(ada.id, 60), steadyFor(ada.id, 600)])
  await beats(ada)
  expect(await takeOverFromDead(db, ada)).toMatchObject({ workers: [] })
  await beats(bob)
  await steadyFor(ada.id, 60)
  expect(await takeOverFromDead(db, ada)).toMatchObject({ workers: [] })
})

test('an attempt that was overtaken changes nothing, whether it failed or brought a certificate', async () => {
  const { db } = database
  const hostname = await claim(db, await addProject(db))
  const begin = async () => {
    const begun = await beginIssuance(db, hostname)
    if (begun.kind === 'no') throw new Error(begun.reason)
    return begun
  }
  const frozen = await begin()
  await db.pool.query('update certificates set lease_until = now() where hostname = $1', [hostname])
  const later = await begin()
  expect(await recordCertificate(db, hostname, { ...ISSUED, serial: '02' }, frozen)).toEqual({ kept: false })
  expect(await recordCertificate(db, hostname, ISSUED, later)).toEqual({ kept: true })
  await recordIssuanceFailure(db, hostname, { problem: { type: 'late' }, sentence: 'It came too late.' }, frozen)
  const { rows } = await db.pool.query('select state, serial, last_sentence from certificates where hostname = $1', [hostname])
  expect(rows).toEqual([{ state: 'issued', serial: '01', last_sentence: null }])
})

test('a job that somebody unknown has held for longer than any may take is free', async () => {
  const { db } = database
  await addMailJob(db, { kind: 'invitation', to: 'a@vendor.test', projectName: 'Shop', role: 'member', invitedBy: null })
  const { rows } = await db.pool.query(
    `update graphile_worker._private_jobs set locked_by = 'yesterday', locked_at = now() - interval '11 minutes' returning id`,
  )
  const { id } = rows[0]
  expect(await holdsJob(db, id, 'yesterday')).toBe(true)
  await freeForgottenJobs(db)
  expect(await holdsJob(db, id, 'yesterday')).toBe(false)
  await freeForgottenJobs(db)
})

test('behind a clock that was set back the dead are found too, and nobody is taken for dead before all had time to be heard', async () => {
  const { db } = database
  await beats(ada, bob)
  await Promise.all([ada, bob].map(({ id }) => silentFor(id, -3_600))) // both were heard an hour from now
  await db.pool.query(`update workers set steady_since = now() + interval '50 minutes'`)
  await beats(ada)
  expect(await takeOverFromDead(db, ada)).toMatchObject({ workers: [] })
  await steadyFor(ada.id, 16)
  expect(await takeOverFromDead(db, ada)).toMatchObject({ workers: ['bob'] })
  await beats(ada, bob)
  await steadyFor(ada.id, 3_600)
  await Promise.all([ada, bob].map(({ id }) => silentFor(id, -20))) // as behind a failover to a server whose clock is behind
  await beats(ada)
  expect(await takeOverFromDead(db, ada)).toMatchObject({ workers: [] })
})

test('a job that was given up is kept for a week, and one that is to be tried again as long as it takes', async () => {
  const { db } = database
  const { rows: former } = await db.pool.query<{ id: string }>('select id from graphile_worker.jobs')
  const mails = ['given-up-long-ago', 'given-up', 'waiting']
  for (const name of mails)
    await addMailJob(db, { kind: 'invitation', to: `${name}@vendor.test`, projectName: 'Shop', role: 'member', invitedBy: null })
  const age = (name: string, attempts: number, days: number) =>
    db.pool.query(
      `update graphile_worker._private_jobs set attempts = $2, run_at = now() - make_interval(days => $3) where payload->>'to' = $1 || '@vendor.test'`,
      [name, attempts, days],
    )
  await Promise.all([age('given-up-long-ago', 12, 8), age('given-up', 12, 6), age('waiting', 11, 8)])
  await pruneFailedJobs(db)
  const { rows: left } = await db.pool.query<{ id: string; to: string }>(
    `select id, split_part(payload->>'to', '@', 1) as to from graphile_worker._private_jobs order by id`,
  )
  expect(left.filter(({ id }) => !former.some((job) => job.id === id)).map(({ to }) => to)).toEqual(['given-up', 'waiting'])
})
