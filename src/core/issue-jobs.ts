import type { Hostname } from '../hostname.ts'
import type { Queryable } from './db.ts'
import { addHostnameJobs, type HostnameTask } from './hostname-jobs.ts'

/** How long an order may take: a worker that dies in one leaves it to the next after this. */
export const ISSUANCE_LEASE_S = 180

const ISSUE: HostnameTask = { name: 'issue', attemptsMax: 3 }

/** Asks the workers to issue, with the transaction's commit. However many ask for a hostname, one job stands in the queue. */
export async function addIssueJobs(on: Queryable, hostnames: readonly Hostname[]): Promise<void> {
  await addHostnameJobs(on, ISSUE, hostnames)
}
