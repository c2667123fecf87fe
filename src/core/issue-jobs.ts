import { sql } from 'kysely'
import type { Hostname } from '../hostname.ts'
import { type Queryable, rows } from './db.ts'

/** How long an order may take: a worker that dies in one leaves it to the next after this. */
export const ISSUANCE_LEASE_S = 180

const JOB_ATTEMPTS_MAX = 3 // an issuance that fails comes back by its own back-off; these are for a worker's mishaps

/** Asks the workers to issue, with the transaction's commit. However many ask for a hostname, one job stands in the queue. */
export async function addIssueJobs(on: Queryable, hostnames: readonly Hostname[]): Promise<void> {
  if (hostnames.length === 0) return
  await rows(
    on,
    sql`
      select count(*) from graphile_worker.add_jobs((
        select array_agg((
          'issue', json_build_object('hostname', hostname), null, null, ${sql.lit(JOB_ATTEMPTS_MAX)}, 'issue:' || hostname, null, null
        )::graphile_worker.job_spec order by hostname)
        from unnest(${hostnames}::text[]) as hostname))`,
  )
}
