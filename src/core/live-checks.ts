import { type RawBuilder, sql } from 'kysely'
import type { Hostname } from '../hostname.ts'
import { type Db, type Queryable, rows } from './db.ts'
import { type EdgeBehind, findEdgesBehind } from './edges.ts'
import { addHostnameJobs, type HostnameTask } from './hostname-jobs.ts'
import { RELEASED_BY_ANOTHER_AT } from './proof.ts'

/**
 * A domain whose record and certificate are right, to be asked over HTTPS. `serial` is that of the certificate to be presented, `xid` the transaction
 * that gave route or certificate its version last, `releasedAt` when another project gave the hostname up.
 */
export type LiveCheck = { domainId: string; hostname: Hostname; serial: string; xid: string; releasedAt: Date | null }

/** What became of our own request; the sentence says why it did not come through. */
export type LiveOutcome = { kind: 'seen' } | { kind: 'not-seen'; sentence: string }

/**
 * After so many failures in a row a domain counts as live by its record and its certificate: a machine need not be able to reach its own public
 * address (no hairpin NAT). An edge that has not reached the change is no failure, and is waited for without end while it is heard.
 */
export const LIVE_TRIES_MAX = 6

const FIRST_PAUSE_S = 1
const WAIT_S_MAX = 16
const NAMED_MAX = 3
const LIVE: HostnameTask = { name: 'live', attemptsMax: 12 } // with the queue's back-off, over 16 hours

/** Whether a probe `p` has been seen live, or given up on. */
export const COUNTS_AS_LIVE = sql<boolean>`(p.live_at is not null or p.live_tries >= ${sql.lit(LIVE_TRIES_MAX)})`

/** Asks the workers to look, with the transaction's commit. One job stands in the queue for a hostname, and keeps its time. */
export async function addLiveJobs(on: Queryable, hostnames: readonly Hostname[], inS = 0): Promise<void> {
  await addHostnameJobs(on, LIVE, hostnames, inS)
}

// A restored database may hold rows of a future that is not its own. Edges read it anew, and would never reach those.
const xidOf = (column: RawBuilder<unknown>) =>
  sql`case when ${column} < pg_snapshot_xmax(pg_current_snapshot()) then ${column} else '0' end`
const XID = sql<string>`greatest(${xidOf(sql`d.xid`)}, ${xidOf(sql`c.xid`)})::text`

/** The hostname, if there is something to look at: a right record, and a certificate that is valid now. */
export async function findLiveCheck(db: Db, hostname: Hostname): Promise<LiveCheck | undefined> {
  const [check] = await rows(
    db,
    sql<LiveCheck>`
      select d.id as "domainId", d.hostname, c.serial, ${XID} as xid, ${RELEASED_BY_ANOTHER_AT} as "releasedAt"
      from domains d join probes p on p.domain_id = d.id
      join certificates c on c.hostname = d.hostname and c.project_id = d.project_id
      where d.hostname = ${hostname} and d.deleted_at is null and d.verified_at is not null and p.state = 'verified'
        and c.chain_pem is not null and c.not_after > now()`,
  )
  return check
}

/**
 * Whether every edge that is heard has the hostname's route and certificate and, where another project held it, none can still serve that one's route:
 * an edge that fell silent before it heard of it may, for `leaseS` seconds.
 */
export async function findMissingEdges(db: Db, { xid, releasedAt }: LiveCheck, leaseS?: number): Promise<EdgeBehind[]> {
  return findEdgesBehind(db, { xid, releasedAt, leaseS })
}

/** Keeps that these edges are waited for, and plans the next look. */
export async function recordLiveWait(db: Db, { domainId, hostname }: LiveCheck, missing: readonly EdgeBehind[]): Promise<void> {
  const [kept] = await rows(
    db,
    sql<{ waits: number }>`
      update probes set live_waits = least(live_waits, 1000) + 1, 
          live_sentence = case when live_at is null then ${waitSentence(missing)}::text else live_sentence end
      where domain_id = ${domainId} and state = 'verified' returning live_waits as waits`,
  )
  if (kept) await addLiveJobs(db, [hostname], Math.min(FIRST_PAUSE_S * 2 ** (kept.waits - 1), WAIT_S_MAX))
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
          live_waits = 0, live_sentence = ${sentence}::text
        where domain_id = ${domainId} and state = 'verified' returning live_tries as tries
      ), told as (
        insert into changes (kind, key) select 'host', ${hostname}::text from kept where tries = 0 or tries >= ${LIVE_TRIES_MAX}
      )
      select tries from kept`,
  )
  if (kept && kept.tries > 0 && kept.tries < LIVE_TRIES_MAX) await addLiveJobs(db, [hostname], FIRST_PAUSE_S * 2 ** (kept.tries - 1))
}

function waitSentence(missing: readonly EdgeBehind[]): string {
  const named = missing
    .slice(0, NAMED_MAX)
    .map(({ name, heartbeatAt, leaseEndsAt }) =>
      leaseEndsAt
        ? `edge ${name}, not heard since ${timeOf(heartbeatAt)}, may serve it for the project that held it before until ${timeOf(leaseEndsAt)}`
        : `edge ${name} has not loaded its route and certificate yet`,
    )
  const others = missing.length > NAMED_MAX ? [`${missing.length - NAMED_MAX} more edges are waited for`] : []
  return `Not yet live everywhere: ${[...named, ...others].join('; ')}. It is looked at again by itself.`
}

function timeOf(date: Date): string {
  return `${date.toISOString().slice(11, 19)} UTC`
}
