import { type RawBuilder, sql } from 'kysely'
import type { Hostname } from '../hostname.ts'
import { type Db, rows, type Tx, transaction } from './db.ts'
import type { DnsReport } from './dns-report.ts'
import { domainNotFound, live } from './domain-record.ts'
import { NOBODYS_FAULT } from './domain-status.ts'
import { DOMAINS_OF_OTHERS } from './domains-of-others.ts'
import { addIssueJobs, ISSUANCE_LEASE_S } from './issue-jobs.ts'
import { addLiveJobs, COUNTS_AS_LIVE, LIVE_TRIES_MAX } from './live-checks.ts'
import { isFailure } from './probe-interval.ts'
import type { Project } from './projects.ts'
import { proofNeeded } from './proof.ts'
import { says } from './stored-json.ts'

export type { DnsReport } from './dns-report.ts'

/** A domain to look up. The id is the claim's: when the hostname changes hands meanwhile, what was found is dropped. */
export type DueProbe = {
  domainId: string
  hostname: Hostname
  projectId: string
  verified: boolean
  proof: string
  proofNeeded: boolean
  /** Of a domain that is not verified: the domains above its hostname that other projects have verified, or names directly in them. */
  sharedDomains: string[]
  /** What the project's customers are told in place of the edge host. */
  cnameTarget: Hostname | null
  /** So many checks in a row found nothing out or, once it is verified, something wrong. */
  failures: number
  /** When its check began, as the database writes it: what comes late is told by it. */
  begunAt?: string
}

/**
 * The two lines of what is due: `unanswered` are those whose last check found nothing out or, once verified, something wrong. Zones that do not answer
 * take seconds each, and hold up nobody but each other.
 */
export type ProbeLine = 'answered' | 'unanswered'

export type Watch = { forS: number; untilDone?: boolean }

export type ProbeResult = { probe: DueProbe; report: DnsReport; nextProbeInS: number }

const WATCHED_INTERVAL_S = 2
const WATCHED_INTERVAL = sql`make_interval(secs => ${sql.lit(WATCHED_INTERVAL_S)})`
const WATCH_S_MAX = 900

/** The problem of an attempt that was not made because DNS led elsewhere; stored and shown, so its name keeps its meaning. */
export const DNS_PROBLEM = 'urn:namesake:error:dns'

/** As DNS_PROBLEM, of an attempt for which it could not be found out where DNS leads. */
export const DNS_UNKNOWN_PROBLEM = 'urn:namesake:error:dnsUnknown'

/** As DNS_PROBLEM, of a wildcard whose challenges are not delegated to us: where it leads does not matter. */
export const DELEGATION_PROBLEM = 'urn:namesake:error:delegation'

/** As DNS_PROBLEM, of a hostname that leads here but where somebody else answers the challenges. */
export const CHALLENGE_PROBLEM = 'urn:namesake:error:challenge'

/** As DNS_PROBLEM, of a hostname whose CAA records let none of our authorities issue: none was asked. */
export const CAA_PROBLEM = 'urn:namesake:error:caa'

const IN_LINE = { answered: sql`failures = 0`, unanswered: sql`failures > 0` }

/** The columns of a DueProbe, of a domain `d`, its project `o` and its probe `p`. */
const DUE_PROBE = sql<DueProbe>`d.id as "domainId", d.hostname, d.project_id as "projectId", d.verified_at is not null as verified, o.proof,
  o.cname_target as "cnameTarget", ${proofNeeded(sql`now()`)} as "proofNeeded", case when d.verified_at is null then ${DOMAINS_OF_OTHERS} else '{}' end as "sharedDomains", p.failures, now()::text as "begunAt"`

/**
 * Up to `limit` domains of a line whose look-up is due, longest overdue first. They are the caller's for `leaseS` seconds and due again after that,
 * so a worker that dies loses none. Two callers never get the same. `workerId`: whose death makes them due. When a domain's need of a proof has begun or ended by the clock
 * alone, its change is recorded here.
 */
export async function claimDueProbes(
  db: Db,
  { line, limit, leaseS, workerId }: { line: ProbeLine; limit: number; leaseS: number; workerId?: string | undefined },
): Promise<DueProbe[]> {
  return rows(
    db,
    sql<DueProbe>`
      with due as (
        select domain_id, proof_needed as told, failures from probes where next_probe_at <= now() and ${IN_LINE[line]}
        order by next_probe_at limit ${limit} for update skip locked
      ), found as (
        select ${DUE_PROBE}, coalesce(p.told, ${proofNeeded(sql`d.created_at`)}) as told
        from due p join domains d on d.id = p.domain_id and d.deleted_at is null join projects o on o.id = d.project_id
      ), leased as (
        update probes set next_probe_at = now() + make_interval(secs => ${leaseS}), claimed_at = now(), claimed_by = ${workerId ?? null}::text,
          proof_needed = found."proofNeeded"
        from found where domain_id = found."domainId"
      ), flipped as (
        update domains d set version = nextval('versions') from found
        where d.id = found."domainId" and found.told <> found."proofNeeded" returning d.hostname
      ), changed as (
        insert into changes (kind, key) select 'host', hostname from flipped
      )
      select "domainId", hostname, "projectId", verified, proof, "proofNeeded", "sharedDomains", "cnameTarget", failures, "begunAt" from found`,
  )
}

/**
 * Keeps what was found, all in one transaction, and says which hostnames became verified by it: their certificates are ordered with the
 * same commit, and so are those of hostnames whose challenges are found delegated to us, and attempts that failed by what is seen to be mended
 * now. A domain that was removed meanwhile, or whose hostname was claimed anew, is not touched; a verified one stays verified.
 * Of a check that began before the one that is stored nothing is kept.
 */
export async function recordProbes(db: Db, results: readonly ProbeResult[]): Promise<Hostname[]> {
  if (results.length === 0) return []
  return transaction(db, async (tx) => {
    const { stored, unseen, mended } = await storeReports(tx, results)
    const idsOf = (those: readonly ProbeResult[]) => those.map(({ probe }) => probe.domainId)
    const right = stored.filter(({ report }) => report.state === 'verified')
    const verified = idsOf(right)
    const delegated = idsOf(stored.filter(({ report }) => report.delegation?.state === 'present'))
    // First, as importing a certificate locks the domain before the certificate too.
    const newly = verified.length > 0 ? await verify(tx, verified, idsOf(right.filter(({ probe }) => probe.proofNeeded))) : []
    const refused = right.filter(({ probe }) => !probe.verified && !newly.includes(probe.hostname))
    if (refused.length > 0) await checkAgain(tx, idsOf(refused))
    await endBackOff(tx, verified, [DNS_PROBLEM, DNS_UNKNOWN_PROBLEM])
    await endBackOff(tx, delegated, [DNS_PROBLEM, DNS_UNKNOWN_PROBLEM, DELEGATION_PROBLEM, CHALLENGE_PROBLEM])
    // Also by a check that found nothing out: no later one knows of the warning any more.
    await endBackOff(tx, mended.caa, [CAA_PROBLEM])
    await endBackOff(tx, mended.addresses, [CHALLENGE_PROBLEM])
    if (delegated.length > 0) await orderBeforeCutOver(tx, delegated)
    await addLiveJobs(tx, unseen) // last, as wherever a certificate is locked too
    return newly
  })
}

/**
 * Somebody is looking at the domain: for so many seconds (15 minutes at most) it is checked every two; `untilDone`: only while the DNS has anything to be waited
 * for, since a page may stay open for weeks behind that. Throws `domain_not_found`.
 */
export async function watchDomain(db: Db, project: Project, hostname: Hostname, { forS, untilDone = false }: Watch): Promise<void> {
  const held = await rows(
    db,
    sql`
      with held as (
        select p.domain_id, ${untilDone} and ${IS_DONE} as done from probes p join domains d on d.id = p.domain_id where ${live(project, hostname)}
      ), watched as (
        update probes p set watched_until = greatest(watched_until, now() + make_interval(secs => ${Math.min(forS, WATCH_S_MAX)})),
          next_probe_at = ${noLaterThan(WATCHED_INTERVAL_S)}
        from held where p.domain_id = held.domain_id and not held.done
      )
      select from held`,
  )
  if (held.length === 0) throw domainNotFound(hostname)
}

/** A visitor came for the hostname: if it is not verified its next check is now, but not within ten seconds of the last. */
export async function probeSoon(db: Db, hostname: Hostname): Promise<void> {
  await rows(db, sql`select ask_for_probe(${hostname})`) // edge machines may do no more
}

/** The domain as a check needs it, whenever its next probe is. Throws `domain_not_found`. */
export async function findProbeTarget(db: Db, project: Project, hostname: Hostname): Promise<DueProbe> {
  const [target] = await rows(
    db,
    sql<DueProbe>`select ${DUE_PROBE} from domains d join projects o on o.id = d.project_id join probes p on p.domain_id = d.id
      where ${live(project, hostname)}`,
  )
  if (!target) throw domainNotFound(hostname)
  return target
}

/** A claim beside verified names of other projects, as its check needs it, before it is verified; undefined where there is no such thing. */
export async function findClaimBesideOthers(db: Db, hostname: Hostname): Promise<DueProbe | undefined> {
  const [target] = await rows(
    db,
    sql<DueProbe>`select ${DUE_PROBE} from domains d join projects o on o.id = d.project_id join probes p on p.domain_id = d.id
      where d.hostname = ${hostname} and d.deleted_at is null and d.verified_at is null`,
  )
  return target && target.sharedDomains.length > 0 ? target : undefined
}

const LAST_PROBLEM = sql`c.last_problem`
const HOLDING = sql`('verified', ${sql.join(NOBODYS_FAULT.map((state) => sql.lit(state)))})`
const holds = sql<boolean>`result.state in ${HOLDING}`

/** Whether domain `d` with probe `p` is right, seen live, and nothing beside it is to be mended. */
const IS_DONE = sql<boolean>`(d.verified_at is not null and p.state in ${HOLDING} and ${COUNTS_AS_LIVE}
  and position('"warnings":[{' in coalesce(p.report::text, '')) = 0)`

/** Whether a report, as it is stored, warns of this. */
const warns = (report: RawBuilder<unknown>, kind: DnsReport['warnings'][number]['kind']) => says(report, 'kind', kind)

type Stored = {
  /** What was kept. */
  stored: ProbeResult[]
  /** Hostnames that a request of our own has yet to come through to. */
  unseen: Hostname[]
  /** Domains (ids) that the last report warned of, and this one does not. */
  mended: { caa: string[]; addresses: string[] }
}

/** A record that has gone wrong takes back that a request of our own came through. */
async function storeReports(tx: Tx, results: readonly ProbeResult[]): Promise<Stored> {
  const [before, now] = [sql`p.report`, sql`result.report`]
  const found = await rows(
    tx,
    sql<{ place: number; hostname: Hostname; isUnseen: boolean; caaMended: boolean; addressesMended: boolean }>`
      with result as (
        select distinct on (domain_id) * from unnest(${results.map(({ probe }) => probe.domainId)}::bigint[],
          ${results.map(({ report }) => report.state)}::text[], ${results.map(({ report }) => JSON.stringify(report))}::json[],
          ${results.map(({ nextProbeInS }) => nextProbeInS)}::float8[], ${results.map(({ report }) => isDelegated(report))}::boolean[],
          ${results.map(({ probe }) => probe.begunAt ?? null)}::timestamptz[],
          ${results.map(({ probe, report }) => isFailure(probe, report) ?? null)}::boolean[],
          ${results.map(({ report }) => `"sentence":${JSON.stringify(report.sentence)}`)}::text[])
          with ordinality as r(domain_id, state, report, next_s, delegated, begun_at, failed, said, place)
        order by domain_id, begun_at desc nulls last
      ), mine as (
        select p.domain_id, p.state as before, ${warns(before, 'caa-forbids')} as caa, ${warns(before, 'aaaa-elsewhere')} as elsewhere,
          coalesce(p.watched_until > now() and position(r.said in p.report::text) = 0, false) as differs
        from probes p join result r using (domain_id)
        where not coalesce(r.begun_at < p.begun_at, false)
        order by p.domain_id for update of p
      ), stored as (
        update probes p set state = result.state, report = result.report, checked_at = now(), begun_at = result.begun_at, claimed_by = null, delegated = coalesce(result.delegated, p.delegated),
          live_at = case when ${holds} then p.live_at end, live_tries = case when ${holds} then p.live_tries else 0 end,
          live_sentence = case when ${holds} then p.live_sentence end, live_waits = case when ${holds} then p.live_waits else 0 end,
          -- While somebody looks, a wrong record is seen every two seconds: that makes it no older.
          failures = case when not result.failed then 0
            when result.failed is null or (result.state <> 'unknown' and p.watched_until > now()) then p.failures else p.failures + 1 end,
          next_probe_at = case when p.watched_until > now() and result.next_s > ${WATCHED_INTERVAL_S}
            then ${WATCHED_INTERVAL} + case when p.claimed_at > now() - ${WATCHED_INTERVAL} then p.claimed_at else now() end
            else now() + make_interval(secs => result.next_s) end
        from result join mine using (domain_id) where p.domain_id = result.domain_id returning p.domain_id, place, before, differs, p.state,
          p.live_at is null and p.live_tries < ${LIVE_TRIES_MAX} as unseen, caa and not ${warns(now, 'caa-forbids')} as caa_mended,
          elsewhere and not ${warns(now, 'aaaa-elsewhere')} as addresses_mended
      ), told as (
        -- For whoever looks at the portal, and there waits to hear of another mistake too; becoming verified is news of its own.
        insert into changes (kind, key)
        select 'host', d.hostname from stored join domains d on d.id = stored.domain_id
        where (before <> stored.state or differs) and d.deleted_at is null and (stored.state <> 'verified' or d.verified_at is not null)
      )
      select place::int, d.hostname, stored.state = 'verified' and unseen as "isUnseen", caa_mended as "caaMended", addresses_mended as "addressesMended"
      from stored join domains d on d.id = stored.domain_id where d.deleted_at is null`,
  )
  const resultOf = ({ place }: { place: number }) => results[place - 1]!
  const idOf = (row: { place: number }) => resultOf(row).probe.domainId
  return {
    stored: found.map(resultOf),
    unseen: found.filter(({ isUnseen }) => isUnseen).map(({ hostname }) => hostname),
    mended: {
      caa: found.filter(({ caaMended }) => caaMended).map(idOf),
      addresses: found.filter(({ addressesMended }) => addressesMended).map(idOf),
    },
  }
}

/** Null where nobody answered: what was known then stays. */
function isDelegated({ delegation }: DnsReport): boolean | null {
  return delegation?.state === 'unknown' ? null : delegation?.state === 'present'
}

/** For a row of `certificates` with the next attempt: one that is there gets it only where it has neither a certificate nor an attempt before it. */
const UNLESS_AWAITED = sql`on conflict (hostname) do update set next_attempt_at = excluded.next_attempt_at
  where certificates.next_attempt_at is null and certificates.chain_pem is null`

/** Asks for the certificates of hostnames that have none and no attempt before them; the renewal sweep looks after the others. */
async function orderBeforeCutOver(tx: Tx, domainIds: string[]): Promise<void> {
  const wanted = await rows(
    tx,
    sql<{ hostname: Hostname }>`
      with wanted as (
        select hostname, project_id from domains d where d.id = any(${domainIds}::bigint[]) and d.deleted_at is null
          and not exists (select from certificates c where c.hostname = d.hostname and c.project_id = d.project_id
            and (c.chain_pem is not null or c.next_attempt_at is not null))
      ), awaited as (
        insert into certificates (hostname, project_id, next_attempt_at)
        select hostname, project_id, now() + make_interval(secs => ${ISSUANCE_LEASE_S}) from wanted order by hostname
        ${UNLESS_AWAITED}
      )
      select hostname from wanted`,
  )
  await addIssueJobs(
    tx,
    wanted.map(({ hostname }) => hostname),
  )
}

/** Those that are not `proven` must owe no proof now either: another project may have released the name, or one of its family, since the check began. */
async function verify(tx: Tx, domainIds: string[], proven: string[]): Promise<Hostname[]> {
  const verified = await rows(
    tx,
    sql<{ hostname: Hostname }>`
      with mine as (
        -- Behind the row locks of storeReports: no probe, no claim.
        select d.id from domains d where d.id = any(${domainIds}::bigint[]) and d.verified_at is null and d.deleted_at is null
          and (d.id = any(${proven}::bigint[]) or not ${proofNeeded(sql`now()`)})
        order by d.id for update
      ), verified as (
        update domains d set verified_at = date_trunc('milliseconds', now()), version = nextval('versions')
        from mine where d.id = mine.id returning d.hostname, d.project_id
      ), awaited as (
        -- Should the job below be lost with its worker, this is due for the renewal sweep.
        insert into certificates (hostname, project_id, next_attempt_at)
        select hostname, project_id, now() + make_interval(secs => ${ISSUANCE_LEASE_S}) from verified
        ${UNLESS_AWAITED}
      ), changed as (
        insert into changes (kind, key) select 'host', hostname from verified
      )
      select hostname from verified`,
  )
  const hostnames = verified.map(({ hostname }) => hostname)
  await addIssueJobs(tx, hostnames)
  return hostnames
}

/** A right record for which a proof fell due while it was looked at: the next check, which names the proof, is now and not in a week. */
async function checkAgain(tx: Tx, domainIds: string[]): Promise<void> {
  await rows(
    tx,
    sql`
      update probes p set next_probe_at = now() from domains d
      where p.domain_id = any(${domainIds}::bigint[]) and d.id = p.domain_id and d.verified_at is null and d.deleted_at is null`,
  )
}

/** DNS is right: an attempt that failed for want of it waits for nothing any more. One that the authority refused still does. */
async function endBackOff(tx: Tx, domainIds: string[], problems: readonly string[]): Promise<void> {
  if (domainIds.length === 0) return
  await rows(
    tx,
    sql`
      with freed as (
        update certificates c set attempts = 0, last_problem = null, last_sentence = null, version = nextval('versions'),
          state = case when c.chain_pem is null then 'pending' else c.state end,
          next_attempt_at = case when c.lease_until > now() then c.next_attempt_at else now() end,
          -- Whom CAA records forbade to all authorities but a full one need not wait for that one's room.
          postponed_until = case when ${says(LAST_PROBLEM, 'type', CAA_PROBLEM)} and c.postponed_until > now() then now() else c.postponed_until end,
          dns_left_at = null, renewal_stopped_at = null
        from domains d where d.id = any(${domainIds}::bigint[]) and d.deleted_at is null and c.hostname = d.hostname
          and c.project_id = d.project_id and (${sql.join(
            problems.map((type) => says(LAST_PROBLEM, 'type', type)),
            sql` or `,
          )})
        returning c.hostname
      )
      insert into changes (kind, key) select 'certificate', hostname from freed`,
  )
}

/** `next_probe_at` of a probe `p`, brought forward to now, but to no sooner than so long after the last one began. */
function noLaterThan(intervalS: number): RawBuilder<Date> {
  return sql`least(p.next_probe_at, greatest(now(), p.claimed_at + make_interval(secs => ${sql.lit(intervalS)})))`
}
