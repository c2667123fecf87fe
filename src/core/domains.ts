import { sql } from 'kysely'
import type { Hostname } from '../hostname.ts'
import { type Actor, OPERATOR, recordActivity } from './activity.ts'
import { type ClaimRules, requireClaimable } from './claim-rules.ts'
import { claimHostname, replaceMetadata } from './claims.ts'
import { type Db, rows, transaction } from './db.ts'
import { type DomainDetails, findDetails, type OwnNames } from './domain-details.ts'
import { type DomainPage, type DomainQuery, readPage } from './domain-page.ts'
import { type DomainRecord, domainNotFound, live, toDomainRecord } from './domain-record.ts'
import { LEFT_LINE } from './issuance-line.ts'
import { deleteInLots, LOT_ROWS } from './lots.ts'
import { readMetadata } from './metadata.ts'
import { type OrderRecord, readOrderHistory } from './order-history.ts'
import type { Project } from './projects.ts'
import { ANY_STATE } from './seen-state.ts'

const RELEASED_KEPT_FOR = sql.lit('60 days') // twice what proofs and certificates ask for

/**
 * Claims a hostname for the project, or merges metadata into the claim that it already holds.
 * The unique index on live hostnames decides who wins, so two projects racing for one cannot both.
 * Throws `hostname_claimed` when another project holds it, else `plan_limit` when a new claim finds no room; `hostname_reserved`,
 * `hostname_invalid` or `metadata_invalid` for what nobody may claim or keep.
 */
export async function registerDomain(
  db: Db,
  project: Project,
  wanted: { hostname: Hostname; metadataJson: string },
  rules: ClaimRules,
  actor: Actor = OPERATOR,
): Promise<DomainRecord> {
  requireClaimable(wanted.hostname, rules)
  const claim = { hostname: wanted.hostname, metadataJson: readMetadata(wanted.metadataJson), actor }
  return toDomainRecord(await claimHostname(db, project, claim, rules), project)
}

/**
 * Gives a hostname up: from the commit on it is nobody's. The row stays for 60 days, for the proof that the next claimant may owe; so does the
 * certificate for 30, for a return. Its place in the line for an authority's room is the next one's. Throws `domain_not_found` when the project
 * does not hold it.
 */
export async function removeDomain(db: Db, project: Project, hostname: Hostname, actor: Actor = OPERATOR): Promise<void> {
  await transaction(db, async (tx) => {
    // Its probe first: who locks both takes them in this order. A claim whose probe is still there began behind this removal, and stays.
    await rows(tx, sql`delete from probes using domains d where d.id = domain_id and ${live(project, hostname)}`)
    const removed = await rows(
      tx,
      sql`
        with removed as (
          update domains d set deleted_at = now(), version = nextval('versions')
          where ${live(project, hostname)} and not exists (select from probes p where p.domain_id = d.id) returning hostname
        ), left_line as (
          update certificates c set next_attempt_at = case when c.waits_for is null then c.next_attempt_at when c.chain_pem is not null then now() end,
            ${LEFT_LINE}, version = nextval('versions')
          from removed where c.hostname = removed.hostname and c.waits_since is not null
        ), changed as (
          insert into changes (kind, key) select 'host', hostname from removed
          union all select 'certificate', hostname from removed join certificates using (hostname)
        )
        select hostname from removed`,
    )
    if (removed.length === 0) throw domainNotFound(hostname)
    await recordActivity(tx, { projectId: project.id, actor, action: 'domain.removed', subject: hostname })
  })
}

/** Deletes claims that were given up so long ago that they mean nothing to the next ones. To be called daily. */
export async function forgetReleasedClaims(db: Db): Promise<void> {
  await deleteInLots(
    db,
    sql`
      delete from domains where id in (
        select id from domains d where d.deleted_at < now() - interval ${RELEASED_KEPT_FOR}
          and not exists (select from connect_links where domain_id = d.id) limit ${LOT_ROWS})
      returning id`,
  )
}

/** Puts new metadata in the place of the old, all of it, about which `seen` is asked. Throws `domain_not_found`, `changed_meanwhile` or `metadata_invalid`. */
export async function changeMetadata(
  db: Db,
  project: Project,
  wanted: { hostname: Hostname; metadataJson: string },
  actor: Actor = OPERATOR,
  seen = ANY_STATE,
): Promise<void> {
  const claim = { hostname: wanted.hostname, metadataJson: readMetadata(wanted.metadataJson), actor }
  await transaction(db, (tx) => replaceMetadata(tx, project, claim, seen))
}

/**
 * The project's domains by createdAt, then hostname, or the other way round; all of them unless `limit` says otherwise. `nextCursor` is there while more follow.
 * Throws `query_invalid` for a limit outside 1 to 1000 or a cursor that did not come from here.
 */
export async function listDomains(db: Db, project: Project, query: DomainQuery): Promise<DomainPage> {
  return readPage(db, project, query)
}

/**
 * A domain with its DNS and its certificate. `edgeHost` is what `dns.expected` names where the project has no CNAME target, or `edgeIps` at a registered
 * domain, `dnsZone` where its challenges can be delegated to.
 * Throws `domain_not_found` when the project does not hold the hostname.
 */
export async function findDomain(db: Db, project: Project, hostname: Hostname, names: OwnNames): Promise<DomainDetails> {
  const details = await findDetails(db, project, hostname, names)
  if (!details) throw domainNotFound(hostname)
  return details
}

/**
 * What became of the last 20 attempts to obtain the domain's certificate, newest first.
 * Throws `domain_not_found` when the project does not hold the hostname.
 */
export async function findOrderHistory(db: Db, project: Project, hostname: Hostname): Promise<OrderRecord[]> {
  const [held] = await rows(db, sql`select from domains d where ${live(project, hostname)}`)
  if (!held) throw domainNotFound(hostname)
  return readOrderHistory(db, project, hostname)
}
