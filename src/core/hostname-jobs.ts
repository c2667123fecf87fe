import { sql } from 'kysely'
import type { Hostname } from '../hostname.ts'
import { type Queryable, rows } from './db.ts'

/**
 * `attemptsMax`: of the queue's own, for a worker's mishaps. `keepsTime`: one that waits already is not moved. `isRanked`: the more hostnames of a
 * project wait for their first certificate, the later the jobs for these come, so that ten thousand of them do not hold up another project's one.
 */
export type HostnameTask = { name: 'issue' | 'live'; attemptsMax: number; keepsTime: boolean; isRanked: boolean }

const RANK_OF = 20 // hostnames that wait: as many as a worker issues for at once
const COUNTED_MAX = 2_000

/** Puts the task into the workers' queue for each hostname, with the transaction's commit. However many ask, one job a hostname stands there. */
export async function addHostnameJobs(on: Queryable, task: HostnameTask, hostnames: readonly Hostname[], inS?: number): Promise<void> {
  if (hostnames.length === 0) return
  const runAt = inS === undefined ? sql`null::timestamptz` : sql`now() + make_interval(secs => ${inS})`
  await rows(
    on,
    sql`
      with wanted as (
        select unnest(${hostnames}::text[]) as hostname
      ), waiting as (
        select hostname, project_id from wanted join certificates using (hostname)
        where ${task.isRanked}::boolean and chain_pem is null and project_id is not null
      ), ranks as (
        select project_id, (
          select count(*) / ${sql.lit(RANK_OF)} from (
            select from certificates c where c.project_id = p.project_id and c.chain_pem is null and c.next_attempt_at is not null
            limit ${sql.lit(COUNTED_MAX)}) as counted
        )::smallint as rank from (select distinct project_id from waiting) as p
      )
      select count(*) from graphile_worker.add_jobs((
        select array_agg((
          ${task.name}::text, json_build_object('hostname', hostname), null, ${runAt}, ${task.attemptsMax}::int,
          ${task.name}::text || ':' || hostname, rank, null
        )::graphile_worker.job_spec order by hostname)
        from wanted left join waiting using (hostname) left join ranks using (project_id)), ${task.keepsTime}::boolean)`,
  )
}
