import { sql } from 'kysely'
import type { Hostname } from '../hostname.ts'
import { type Queryable, rows } from './db.ts'

/** `attemptsMax`: of the queue's own, for a worker's mishaps. */
export type HostnameTask = { name: 'issue' | 'live'; attemptsMax: number }

/**
 * Puts the task into the workers' queue for each hostname, with the transaction's commit. However many ask, one job a hostname stands there, in the
 * place that the first one gave it: whoever asks again while it waits would else send it to the end each time. Its flag says whose share of the
 * workers' places it takes.
 */
export async function addHostnameJobs(on: Queryable, task: HostnameTask, hostnames: readonly Hostname[], inS?: number): Promise<void> {
  if (hostnames.length === 0) return
  const runAt = inS === undefined ? sql`null::timestamptz` : sql`now() + make_interval(secs => ${inS})`
  await rows(
    on,
    sql`
      select count(*) from graphile_worker.add_jobs((
        select array_agg((
          ${task.name}::text, json_build_object('hostname', wanted), null, ${runAt}, ${task.attemptsMax}::int,
          ${task.name}::text || ':' || wanted, null, case when d.id is not null then array['project:' || d.project_id] end
        )::graphile_worker.job_spec order by wanted)
        from unnest(${hostnames}::text[]) as wanted left join domains d on d.hostname = wanted and d.deleted_at is null
      ), job_key_preserve_run_at => true)`,
  )
}
