import { sql } from 'kysely'
import type { Hostname } from '../hostname.ts'
import { type Db, type Queryable, rows } from './db.ts'
import { addHostnameJobs, type HostnameTask } from './hostname-jobs.ts'

/** A domain whose record and certificate are right, to be asked over HTTPS. `serial` is that of the certificate to be presented. */
export type LiveCheck = { domainId: string; hostname: Hostname; serial: string }

/** What became of our own request; the sentence says why it did not come through. */
export type LiveOutcome = { kind: 'seen' } | { kind: 'not-seen'; sentence: string }

/**
 * After so many failures in a row a domain counts as live by its record and its certificate: a machine need not be able to reach its own public
 * address (no hairpin NAT).
 */
export const LIVE_TRIES_MAX = 6

const FIRST_PAUSE_S = 1
const LIVE: HostnameTask = { name: 'live', attemptsMax: 5, keepsTime: true }

/** Whether a probe `p` has been seen live, or given up on. */
export const COUNTS_AS_LIVE = sql<boolean>`(p.live_at is not null or p.live_tries >= ${sql.lit(LIVE_TRIES_MAX)})`

/** Asks the workers to look, with the transaction's commit. One job stands in the queue for a hostname, and keeps its time. */
export async function addLiveJobs(on: Queryable, hostnames: readonly Hostname[], inS = 0): Promise<void> {
  await addHostnameJobs(on, LIVE, hostnames, inS)
}

/** The hostname, if there is something to look at: a right record, and a certificate that is valid now. */
export async function findLiveCheck(db: Db, hostname: Hostname): Promise<LiveCheck | undefined> {
  const [check] = await rows(
    db,
    sql<LiveCheck>`
      select d.id as "domainId", d.hostname, c.serial from domains d join probes p on p.domain_id = d.id
      join certificates c on c.hostname = d.hostname and c.project_id = d.project_id
      where d.hostname = ${hostname} and d.deleted_at is null and d.verified_at is not null and p.state = 'verified'
        and c.chain_pem is not null and c.not_after > now()`,
  )
  return check
}

/** Keeps what became of the request; while it may still come through, the next look is planned. A record that has gone wrong meanwhile starts anew. */
export async function recordLiveCheck(db: Db, { domainId, hostname }: LiveCheck, outcome: LiveOutcome): Promise<void> {
  const seen = outcome.kind === 'seen'
  const sentence = outcome.kind === 'seen' ? null : outcome.sentence
  const [kept] = await rows(
    db,
    sql<{ tries: number }>`
      with kept as (
        update probes set live_at = case when ${seen} then now() else live_at end, live_tries = case when ${seen} then 0 else live_tries + 1 end,
          live_sentence = ${sentence}::text
        where domain_id = ${domainId} and state = 'verified' returning live_tries as tries
      ), told as (
        insert into changes (kind, key) select 'host', ${hostname}::text from kept where tries = 0 or tries >= ${LIVE_TRIES_MAX}
      )
      select tries from kept`,
  )
  if (kept && kept.tries > 0 && kept.tries < LIVE_TRIES_MAX) await addLiveJobs(db, [hostname], FIRST_PAUSE_S * 2 ** (kept.tries - 1))
}
