import { sql } from 'kysely'
import type { Hostname } from '../hostname.ts'
import { type Db, rows, type Tx, transaction } from './db.ts'
import {
  type Attempted,
  BACK_OFF_FIRST_S,
  BACK_OFF_LONGEST_S,
  BACK_OFF_S,
  dropOthers,
  isOf,
  isOfProject,
  lateAttempts,
  mayBegin,
  overtaken,
  releaseUnsent,
  replaceable,
} from './issuance-attempts.ts'
import { type BudgetRequest, NO_ROOM_PROBLEM, type NoRoom, settleOrder, type Taken, takeFirstBudget } from './issuance-budget.ts'
import { AT_ITS_TURN, countsAsRenewal, joinLine, leftLineUnless } from './issuance-line.ts'
import { backingOff, forbidden, isOwnStill, look } from './issuance-standing.ts'
import { addIssueJobs, ISSUANCE_LEASE_S } from './issue-jobs.ts'
import { addLiveJobs } from './live-checks.ts'
import { HISTORY_OF_ENDED, historyOfBegun } from './order-history.ts'
import { findOrderUnderWay } from './orders-under-way.ts'
import { DNS_PROBLEM, DNS_UNKNOWN_PROBLEM } from './probes.ts'
import { proofNeeded } from './proof.ts'

/** What an authority issued; the key is sealed. */
export type IssuedRecord = {
  chainPem: string
  sealedKey: Buffer
  issuer: string
  serial: string
  notBefore: Date
  notAfter: Date
  renewAt: Date
  /** The issuing authority's, as in NAMESAKE_ACME_DIRECTORY. */
  directory?: string
}

/**
 * Why an attempt gave no certificate: the authority's problem document in full, and a sentence for people. `outage`: no authority did its
 * work, or there was no room here to look before, so the attempt does not count, and the next one is after `retryAfterS`. `awaitsRoom`: nobody may
 * issue but one that was `full`.
 */
export type IssuanceFailure = { problem: object; sentence: string; retryAfterS?: number | undefined } & {
  outage?: boolean | undefined
  awaitsRoom?: boolean | undefined
}

const RETRY_AFTER_S_MAX = 7 * 86_400 // the longest window of the public authorities' limits
const KEPT_FOR = sql.lit('30 days')
const TRIED_AFTER_END = sql.lit('30 days')

/**
 * Somebody needs the hostname's certificate: has it issued if it is registered (or the service's own), has none that is valid, and no
 * back-off runs. Asking while an attempt is under way is `requested` too, and so is asking for what has just been issued: whoever asks has
 * not heard of it yet, and will. `reason` is a sentence.
 */
export async function requestIssuance(db: Db, hostname: Hostname): Promise<{ kind: 'requested' } | { kind: 'refused'; reason: string }> {
  const standing = await look(db, hostname)
  const reason = forbidden(standing) ?? (standing.valid ? undefined : backingOff(standing))
  if (reason) return { kind: 'refused', reason }
  if (!standing.underWay && !standing.valid) await rows(db, sql`select ask_for_certificate(${hostname})`) // edge machines may do no more
  return { kind: 'requested' }
}

/** Where an order may go: ACME directories or `local`, first preferred, and what holds for their limits. `workerId`: whose death ends it. */
export type IssuanceTerms = { directories: readonly string[]; workerId?: string | undefined } & Pick<BudgetRequest, 'limits'>

/**
 * `directory` is the one whose limits had room; `orderId` goes to `settleOrder` with what became of the order. `asked`: that directory has
 * asked for this renewal, and does not count it as long as the order names what it replaces. `resumes`: the directory has the order since an
 * attempt before, and counts it whatever becomes of this one. `renewing`: there is a certificate; `asRenewal`: and its order may use what is
 * kept for renewals. `begunAt` is the attempt's moment as the database writes it, no two alike.
 */
export type IssuancePermission = {
  projectId: string | null
  attempt: number
  begunAt: string
  renewing: boolean
  asRenewal: boolean
  resumes?: boolean
} & Omit<Taken, 'kind'>

/**
 * The last look before an order, the mark that one is under way, and the room it takes within the limits of its directory, all in one: of
 * several workers one gets `go`. `attempt` counts from 1 since the last success, without those whose workers died. After `go` the outcome goes to `recordCertificate` or
 * `recordIssuanceFailure`; without either the hostname is free again after three minutes, or when its worker has died. When no directory has room the next attempt is
 * when one has; `postponed` tells that this is news for the edges.
 */
export async function beginIssuance(
  db: Db,
  hostname: Hostname,
  terms: IssuanceTerms = { directories: ['local'] },
): Promise<({ kind: 'go' } & IssuancePermission) | { kind: 'no'; reason: string; postponed?: boolean }> {
  return transaction(db, async (tx) => {
    const standing = await look(tx, hostname)
    const { projectId, held } = standing
    const reason =
      forbidden(standing) ?? (standing.fresh ? `${hostname} has a certificate that is not due for renewal` : backingOff(standing))
    if (reason) return { kind: 'no', reason }
    const underWay = { kind: 'no' as const, reason: `an attempt for ${hostname} is under way` }
    if (standing.underWay) return underWay
    await releaseUnsent(tx, hostname, terms.directories)
    const askedBy = standing.wishHasBegun ? (standing.directory ?? undefined) : undefined
    const asRenewal = held && (await countsAsRenewal(tx, hostname))
    const open = await findOrderUnderWay(tx, hostname, { projectId, directories: terms.directories }) // a worker died in it: it has its room
    const room: Taken | NoRoom = open
      ? { kind: 'taken', directory: open.directory, orderId: open.orderId, asked: false }
      : await takeFirstBudget(tx, terms.directories, { hostname, projectId, renewing: asRenewal, askedBy, limits: terms.limits })
    if (room.kind === 'no-room') {
      await dropOthers(tx, hostname, projectId)
      return (await joinLine(tx, standing, room)) ? { kind: 'no', reason: room.sentence, postponed: true } : underWay
    }
    const begun = await markUnderWay(tx, hostname, projectId, terms.workerId)
    if (begun) return { ...room, kind: 'go', projectId, asRenewal, ...begun, ...(open && { resumes: true }) }
    if (!open) await settleOrder(tx, room.orderId, 'not-sent')
    return underWay
  })
}

/**
 * Keeps the certificate of an attempt that `beginIssuance` let go, and has the workers look whether it is presented. Nothing is kept when another
 * project claimed the hostname meanwhile, a certificate was imported, or a later attempt has begun.
 */
export async function recordCertificate(
  db: Db,
  hostname: Hostname,
  issued: IssuedRecord,
  attempted: Attempted = {},
): Promise<{ kept: boolean }> {
  return transaction(db, async (tx) => {
    const kept = await rows(
      tx,
      sql`
        with issued as (
          update certificates set state = 'issued', chain_pem = ${issued.chainPem}, sealed_key = ${issued.sealedKey}, issuer = ${issued.issuer},
            serial = ${issued.serial}, not_before = ${issued.notBefore}, not_after = ${issued.notAfter}, renew_at = ${issued.renewAt},
            attempts = 0, last_problem = null, last_sentence = null, lease_until = null, leased_by = null, next_attempt_at = ${issued.renewAt},
            directory = ${issued.directory ?? null}, ari_checked_at = null, ari_due_at = now(), wished_from = null,
            explanation_url = null, dns_left_at = null, renewal_stopped_at = null, waits_since = null, origin = 'ordered', version = nextval('versions')
          where hostname = ${hostname} and ${isOf(attempted)} and ${replaceable('certificates')} returning hostname
        ), ended as (
          select hostname, 'issued' as outcome, ${issued.issuer} as issuer, ${issued.serial} as serial, ${issued.notAfter}::timestamptz as not_after,
            null::json as problem, null as sentence from issued
        ), done as (
          delete from orders_under_way where hostname = ${hostname} and ${isOfProject(attempted)} and not ${overtaken(hostname, attempted)}
        ), ${HISTORY_OF_ENDED}
        insert into changes (kind, key) select 'certificate', hostname from issued returning key`,
    )
    await addLiveJobs(tx, [hostname])
    return { kept: kept.length > 0 }
  })
}

/**
 * Keeps why an attempt failed. The next one waits 1, 2, 4, … minutes, 6 hours at most, or longer if the authority asks for it by a limit of its own; after
 * an outage, which is no attempt, as long as it is told alone. A certificate in hand stays, and is tried to be renewed until it is: a twelfth of
 * what is left to it is the longest wait, between 15 minutes and a day. Where DNS has left the edge, trying stops 30 days after its end
 * (`stopped`), until DNS leads here again or somebody asks. Who awaits the room of an authority that was full is back in its line, and tried at its
 * turn if that comes sooner.
 */
export async function recordIssuanceFailure(
  db: Db,
  hostname: Hostname,
  failure: IssuanceFailure,
  attempted: Attempted & Partial<Pick<IssuancePermission, 'full'>> = {},
): Promise<{ stopped: boolean }> {
  return transaction(db, async (tx) => {
    const kept = await keepFailure(tx, hostname, failure, attempted)
    const { full, projectId = null } = attempted
    if (kept?.nextAttemptAt && full && failure.awaitsRoom) {
      const until = new Date(Math.min(full.until.getTime(), kept.nextAttemptAt.getTime())) // what forbade the others may be mended before its turn
      await joinLine(tx, { hostname, projectId }, { ...full, until })
    }
    return { stopped: kept?.stopped ?? false }
  })
}

type KeptFailure = { stopped: boolean; nextAttemptAt: Date | null }

async function keepFailure(tx: Tx, hostname: Hostname, failure: IssuanceFailure, attempted: Attempted): Promise<KeptFailure | undefined> {
  const { outage = false, awaitsRoom = false } = failure
  const retryAfterS = Math.min(failure.retryAfterS ?? (outage ? BACK_OFF_FIRST_S : 0), RETRY_AFTER_S_MAX)
  const { type } = failure.problem as { type?: unknown }
  const asked = sql`${retryAfterS}::float8`
  const waits = String(type).endsWith(':rateLimited') ? asked : sql`least(${asked}, ${BACK_OFF_LONGEST_S})`
  const hasLeft = sql<boolean>`(${type === DNS_PROBLEM} and chain_pem is not null and project_id is not null)`
  const stops = sql<boolean>`(${hasLeft} and not_after <= now() - interval ${TRIED_AFTER_END})`
  const [kept] = await rows(
    tx,
    sql<KeptFailure>`
      with failed as (
        update certificates set state = case when chain_pem is null then 'failed' else state end,
          last_problem = ${JSON.stringify(failure.problem)}::json, last_sentence = ${failure.sentence.replaceAll('\0', '')}, lease_until = null, leased_by = null,
          attempts = case when ${outage} then greatest(0, attempts - 1) else attempts end,
          next_attempt_at = case when not ${stops} then now() + make_interval(secs => greatest(${waits}, case when ${outage} then 0
            else ${BACK_OFF_S} end)) end,
          dns_left_at = case when ${hasLeft} then coalesce(dns_left_at, now()) when ${type === DNS_UNKNOWN_PROBLEM} then dns_left_at end,
          renewal_stopped_at = case when ${stops} then coalesce(renewal_stopped_at, now()) end,
          wished_from = case when ${type === NO_ROOM_PROBLEM} then null else wished_from end, waits_since = case when ${awaitsRoom} then waits_since end,
          version = nextval('versions')
        where hostname = ${hostname} and ${isOf(attempted)} and ${replaceable('certificates')} returning hostname, last_problem, last_sentence, renewal_stopped_at,
          next_attempt_at
      ), ended as (
        select hostname, 'failed' as outcome, null as issuer, null as serial, null::timestamptz as not_after, last_problem as problem,
          last_sentence as sentence from failed
      ), ${HISTORY_OF_ENDED}, changed as (
        insert into changes (kind, key) select 'certificate', hostname from failed
      )
      select renewal_stopped_at is not null as stopped, next_attempt_at as "nextAttemptAt" from failed`,
  )
  return kept
}

/** How far a round through what is due has come. What is in the queue stays due until its attempt begins, and must not be all that is ever seen. */
export type RenewalRound = { behind?: { dueAt: string; hostname: Hostname } | undefined }

/**
 * Puts up to `limit` certificates that are due into the workers' queue and says which: renewals, attempts whose back-off is over, and
 * attempts whose worker died. With a `round` those behind the ones of its last call, until it is through and begins anew. A hostname that
 * has stopped being served, also as a host of our own, owes a proof, or never was verified nor had a certificate, waits to be asked for, unless its
 * challenges are delegated to us; one whose renewal or turn for a limit was put off comes back then. The DNS of what is renewed is looked at as well.
 */
export async function claimDueRenewals(db: Db, limit: number, round: RenewalRound = {}): Promise<Hostname[]> {
  const { dueAt, hostname: last } = round.behind ?? { dueAt: '-infinity', hostname: '' }
  return transaction(db, async (tx) => {
    const due = await rows(
      tx,
      sql<{ hostname: Hostname; dueAt: string; isWanted: boolean }>`
        with due as (
          select hostname, project_id, own_at, chain_pem, next_attempt_at, greatest(case when chain_pem is not null then renew_at end, postponed_until) as opens_at
          from certificates where next_attempt_at <= now() and (next_attempt_at, hostname) > (${dueAt}::timestamptz, ${last})
          order by next_attempt_at, hostname limit ${limit} for update skip locked
        ), wanted as (
          select due.hostname from due left join domains d on d.hostname = due.hostname and d.deleted_at is null
          where due.project_id is not distinct from d.project_id and coalesce(due.opens_at <= now(), true)
            and (d.id is null and ${isOwnStill('due')} or d.verified_at is not null or due.chain_pem is not null and not ${proofNeeded(sql`now()`)}
              or exists (select from probes where domain_id = d.id and delegated))
        ), looked as (
          -- Skipping what is locked: whoever records a probe takes the probe's lock first, and the certificate's after it.
          update probes set next_probe_at = now() where domain_id in (
            select p.domain_id from probes p join domains d on d.id = p.domain_id join wanted on wanted.hostname = d.hostname
            where d.deleted_at is null and p.next_probe_at > now() for update of p skip locked)
        ), idle as (
          update certificates c set attempts = case when opens_at > now() then 0 else attempts end, -- what was to be made up for is not due any more
            next_attempt_at = case when opens_at > now() then opens_at when c.chain_pem is not null then now() + interval '1 day' end, ${leftLineUnless(sql`opens_at > now()`)}
          from due where c.hostname = due.hostname and c.hostname not in (select hostname from wanted)
        )
        select hostname, next_attempt_at::text as "dueAt", hostname in (select hostname from wanted) as "isWanted" from due
        order by next_attempt_at, hostname`,
    )
    round.behind = due.length < limit ? undefined : due.at(-1)
    const hostnames = due
      .filter(({ isWanted }) => isWanted)
      .map(({ hostname }) => hostname)
      .sort()
    await addIssueJobs(tx, hostnames)
    return hostnames
  })
}

/** Deletes the certificates and keys of hostnames that were released more than 30 days ago, and says how many. To be called daily. */
export async function forgetReleasedCertificates(db: Db): Promise<number> {
  const forgotten = await rows(
    db,
    sql`
      delete from certificates c where c.project_id is not null and not exists (
        select from domains d where d.hostname = c.hostname and d.project_id = c.project_id
          and (d.deleted_at is null or d.deleted_at > now() - interval ${KEPT_FOR}))
      returning c.hostname`,
  )
  return forgotten.length
}

/** How many hostnames have their certificate in each state. */
export async function countCertificates(db: Db): Promise<{ state: 'pending' | 'issued' | 'failed'; count: number }[]> {
  return rows(db, sql`select state, count(*)::int as count from certificates group by state`)
}

async function markUnderWay(
  tx: Tx,
  hostname: Hostname,
  projectId: string | null,
  workerId: string | undefined,
): Promise<Pick<IssuancePermission, 'attempt' | 'begunAt' | 'renewing'> | undefined> {
  await dropOthers(tx, hostname, projectId)
  const [begun] = await rows(
    tx,
    sql<Pick<IssuancePermission, 'attempt' | 'begunAt' | 'renewing'>>`
      with begun as (
        insert into certificates as c (hostname, project_id, attempts, last_attempt_at, lease_until, next_attempt_at, leased_by)
        values (${hostname}, ${projectId}::bigint, 1, now(), now() + ${LEASE}, now() + ${LEASE}, ${workerId ?? null}::text)
        on conflict (hostname) do update set last_attempt_at = now(), lease_until = now() + ${LEASE},
          -- One before that came to no end, as its worker died, was no failure that the next would have to wait for.
          attempts = greatest(1, case when c.origin = 'imported' then ${lateAttempts('c')} else c.attempts end + case when c.lease_until is null then 1 else 0 end),
          next_attempt_at = now() + ${LEASE}, leased_by = excluded.leased_by, ${AT_ITS_TURN},
          state = case when c.chain_pem is null then 'pending' else c.state end
        where ${mayBegin(projectId)}
        returning c.hostname, c.attempts as attempt, c.last_attempt_at::text as "begunAt", c.chain_pem is not null as renewing
      ), ${historyOfBegun(hostname)}
      select attempt, "begunAt", renewing from begun`,
  )
  return begun
}

const LEASE = sql`make_interval(secs => ${sql.lit(ISSUANCE_LEASE_S)})`
