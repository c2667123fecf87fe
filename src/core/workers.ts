import { sql } from 'kysely'
import { aroundNow } from './database-clock.ts'
import { type Db, rows, transaction } from './db.ts'
import { ISSUANCE_LEASE_S } from './issue-jobs.ts'

/** A worker process; `id` as the job queue calls it. */
export type Worker = { id: string; host: string; pid: number }

/** What was freed of the dead. Their jobs of the queue are free too. */
export type TakenOver = { workers: string[]; attempts: number; probes: number }

/** A worker says so often that it lives. */
export const WORKER_BEAT_MS = 2_000

/** Silent for longer than this it counts as dead: several beats and the pauses of a machine under load fit in. */
export const WORKER_SILENCE_MAX_S = 15

/** So long after a worker has died, whatever it held is in the hands of another: its silence, a beat of the other, a look at the queue. */
export const TAKEN_OVER_WITHIN_S = 20

const UNKNOWN_JOB_S_MAX = 600 // longer than any job may take
const GAP_MAX_S = 6
const FAILED_KEPT_FOR = sql.lit('7 days')

/** The worker lives; one that was taken for dead is back. */
export async function beatWorker(db: Db, { id, host, pid }: Worker): Promise<void> {
  await rows(
    db,
    sql`
      insert into workers as w (id, host, pid) values (${id}, ${host}, ${pid})
      on conflict (id) do update set heartbeat_at = now(),
        steady_since = case when w.heartbeat_at ${aroundNow(GAP_MAX_S)} then w.steady_since else now() end`,
  )
}

/** The worker has ended in good order and holds nothing. */
export async function removeWorker(db: Db, id: string): Promise<void> {
  await rows(db, sql`delete from workers where id = ${id}`)
}

/**
 * Frees what the dead workers held: their jobs, their attempts for certificates, their probes, all in one. Only a worker that has itself
 * been heard all the time may judge; two that do so at once share the dead between them.
 */
export async function takeOverFromDead(db: Db, { id }: Pick<Worker, 'id'>): Promise<TakenOver> {
  return transaction(db, async (tx) => {
    const dead = await rows(
      tx,
      sql<{ id: string }>`
        delete from workers where not heartbeat_at ${aroundNow(WORKER_SILENCE_MAX_S)}
          and exists (select from workers me where me.id = ${id} and me.steady_since < now() - make_interval(secs => ${WORKER_SILENCE_MAX_S}))
        returning id`,
    )
    const workers = dead.map((one) => one.id)
    if (workers.length === 0) return { workers, attempts: 0, probes: 0 }
    await rows(tx, sql`select graphile_worker.force_unlock_workers(${workers}::text[])`)
    const [freed] = await rows(
      tx,
      // The bounds on the times let an index find the rows.
      sql<{ attempts: number; probes: number }>`
        with attempts as (
          update certificates set lease_until = now(), next_attempt_at = now(), leased_by = null
          where next_attempt_at <= now() + make_interval(secs => ${ISSUANCE_LEASE_S}) and lease_until > now()
            and leased_by = any(${workers}::text[]) returning hostname
        ), probed as (
          update probes set next_probe_at = now(), claimed_by = null
          where next_probe_at <= now() + make_interval(secs => ${ISSUANCE_LEASE_S}) and claimed_by = any(${workers}::text[]) returning domain_id
        )
        select (select count(*) from attempts)::int as attempts, (select count(*) from probed)::int as probes`,
    )
    return { workers, ...freed! }
  })
}

/** Frees jobs that are held for longer than any may take by somebody who is no worker that we know, as one of an earlier release. */
export async function freeForgottenJobs(db: Db): Promise<void> {
  await rows(
    db,
    sql`
      select graphile_worker.force_unlock_workers(array_agg(distinct j.locked_by)) from graphile_worker.jobs j
      where j.locked_at < now() - make_interval(secs => ${UNKNOWN_JOB_S_MAX}) and not exists (select from workers w where w.id = j.locked_by)`,
  )
}

/** A job in a worker's name. `isOld`: it was handed out so long ago that no answer of the queue can be on its way any more. */
export type HeldJob = { id: string; lockedAt: Date; isOld: boolean }

const isOlderThan = (seconds: number) => sql<boolean>`locked_at < now() - make_interval(secs => ${seconds})`

/** What the queue has handed to this worker. */
export async function listHeldJobs(db: Db, workerId: string, answerWithinS: number): Promise<HeldJob[]> {
  return rows(
    db,
    sql<HeldJob>`
      select id::text as id, locked_at as "lockedAt", ${isOlderThan(answerWithinS)} as "isOld"
      from graphile_worker.jobs where locked_by = ${workerId}`,
  )
}

/** Hands old jobs back that the worker never began, as if they had not been taken. */
export async function handBackJobs(db: Db, workerId: string, ids: readonly string[], answerWithinS: number): Promise<void> {
  await rows(
    db,
    sql`
      update graphile_worker._private_jobs set locked_at = null, locked_by = null, attempts = greatest(0, attempts - 1)
      where id = any(${ids}::bigint[]) and locked_by = ${workerId} and ${isOlderThan(answerWithinS)}`,
  )
}

/** Deletes the jobs that were given up a week ago. Of mails they hold addresses, and what people wrote. */
export async function pruneFailedJobs(db: Db): Promise<void> {
  await rows(
    db,
    sql`
      select count(*) from graphile_worker.complete_jobs(array(
        select id from graphile_worker.jobs where attempts >= max_attempts and locked_at is null and run_at < now() - interval ${FAILED_KEPT_FOR}))`,
  )
}

/** Whether the job is still this worker's: one that was frozen may have lost it to another meanwhile. */
export async function holdsJob(db: Db, jobId: string, workerId: string): Promise<boolean> {
  const held = await rows(db, sql`select from graphile_worker.jobs where id = ${jobId}::bigint and locked_by = ${workerId}`)
  return held.length > 0
}
