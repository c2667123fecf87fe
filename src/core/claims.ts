import { sql } from 'kysely'
import { ServiceError } from '../errors.ts'
import { type Hostname, isWildcard } from '../hostname.ts'
import { type Actor, recordActivity } from './activity.ts'
import { recordChange } from './changes.ts'
import type { ClaimRules } from './claim-rules.ts'
import { type Db, preparedRows, type Queryable, rows, type Tx, transaction } from './db.ts'
import { DOMAIN, type DomainRow, domainNotFound, live } from './domain-record.ts'
import { mergeMetadata } from './metadata.ts'
import { domainsAllowed } from './plans.ts'
import { lockProject, type Project, projectGone } from './projects.ts'
import { requireSeen, type SeenState } from './seen-state.ts'

/** What a project wants to hold, and who wants it; metadata has been read. */
export type Claim = { hostname: Hostname; metadataJson: string; actor: Actor }

// A hostname can be released between our failing to claim it and our look at who holds it; so often in a row it cannot.
const CLAIM_TRIES_MAX = 5

// What the trigger of sql/0018 refuses by; its message is the name in the way.
const FAMILY_ROOM = 'domain_family_room'

/**
 * Claims the hostname, or merges metadata into the claim that the project already holds. A plan without a limit costs one statement and
 * one round trip. Throws `hostname_claimed`, else `plan_limit`; `project_not_found` when the project was deleted meanwhile.
 */
export async function claimHostname(db: Db, project: Project, claim: Claim, rules: ClaimRules): Promise<DomainRow> {
  const limited = domainsAllowed(rules.plans, project.plan) !== Number.POSITIVE_INFINITY
  try {
    for (let tries = 0; tries < CLAIM_TRIES_MAX; tries += 1) {
      const row = limited ? await claimWithinPlan(db, project, claim, rules) : await claimFreely(db, project, claim)
      if (row) return row
    }
  } catch (error) {
    const { constraint, message } = error as { constraint?: string; message: string }
    throw constraint === FAMILY_ROOM ? noRoomBeside(claim.hostname, message as Hostname) : error
  }
  throw claimedByAnother(claim.hostname)
}

/**
 * One statement, one round trip: the claim ($1 project, $2 hostname, $3 metadata, $4 actor), its first probe, its change, its entry in the
 * project's activity, and an end to what the last holder left behind. No row: the hostname is held, or the project is no more. A deletion that is
 * under way is waited for (`deleteProject`), and one that comes later waits for the claim.
 */
export const CLAIM = `
  with claim as (
    insert into domains as d (project_id, hostname, metadata)
      select p.id, $2, $3 from projects p where p.id = $1 and p.deleted_at is null for key share
    on conflict (hostname) where deleted_at is null do nothing
    returning d.id, d.project_id, d.hostname, d.created_at, d.verified_at, d.metadata
  ), probe as (
    insert into probes (domain_id) select id from claim
  ), noted as (
    insert into activity (project_id, actor, action, subject) select project_id, $4::jsonb, 'domain.claimed', hostname from claim
  ), left_behind as (
    delete from certificates c using claim where c.hostname = claim.hostname and c.project_id is distinct from claim.project_id
  ), changed as (
    insert into changes (kind, key) select 'host', hostname from claim
    union all select 'certificate', c.hostname from claim join certificates c using (hostname)
  )
  select d.hostname, d.created_at as "createdAt", d.verified_at as "verifiedAt", d.metadata as "metadataJson" from claim d`

async function insertClaim(on: Queryable, project: Project, claim: Claim): Promise<DomainRow | undefined> {
  const [row] = await preparedRows<DomainRow>(on, 'claim', CLAIM, [
    project.id,
    claim.hostname,
    claim.metadataJson,
    JSON.stringify(claim.actor),
  ])
  return row
}

/** Undefined when the hostname became free while we looked: try again. */
async function claimFreely(db: Db, project: Project, claim: Claim): Promise<DomainRow | undefined> {
  const claimed = await insertClaim(db, project, claim)
  if (claimed) return claimed
  return transaction(db, async (tx) => {
    const known = await mergeIntoClaim(tx, project, claim)
    if (!known) await requireProject(tx, project)
    return known
  })
}

async function claimWithinPlan(db: Db, project: Project, claim: Claim, rules: ClaimRules): Promise<DomainRow | undefined> {
  return transaction(db, async (tx) => {
    const known = await mergeIntoClaim(tx, project, claim)
    if (known) return known
    const plan = await lockProject(tx, project) // parallel claims at the limit wait here, so the count below cannot go stale
    const meanwhile = await mergeIntoClaim(tx, project, claim)
    if (meanwhile) return meanwhile
    await requireRoomInFamily(tx, project, claim.hostname)
    await requireRoom(tx, project, plan, rules)
    return insertClaim(tx, project, claim)
  })
}

/** Merges into the live claim when the project holds it. Undefined when nobody does; throws `hostname_claimed` when another does. */
async function mergeIntoClaim(tx: Tx, project: Project, claim: Claim): Promise<DomainRow | undefined> {
  const [held] = await rows(
    tx,
    sql<DomainRow & { id: string; projectId: string }>`
      select ${DOMAIN}, d.id, d.project_id as "projectId" from domains d
      where d.hostname = ${claim.hostname} and d.deleted_at is null for update`,
  )
  if (!held) return undefined
  if (held.projectId !== project.id) throw claimedByAnother(claim.hostname)
  const metadataJson = mergeMetadata(held.metadataJson, claim.metadataJson)
  if (metadataJson !== held.metadataJson) await storeMetadata(tx, { id: held.id, project, claim, metadataJson })
  return { ...held, metadataJson }
}

/** Replaces the metadata of a claim that the project holds. Throws `domain_not_found` or `changed_meanwhile`. */
export async function replaceMetadata(tx: Tx, project: Project, claim: Claim, seen: SeenState): Promise<void> {
  const [held] = await rows(
    tx,
    sql<{
      id: string
      metadataJson: string
    }>`select d.id, d.metadata as "metadataJson" from domains d where ${live(project, claim.hostname)} for update`,
  )
  if (!held) throw domainNotFound(claim.hostname)
  requireSeen(seen, held.metadataJson)
  if (held.metadataJson !== claim.metadataJson) await storeMetadata(tx, { id: held.id, project, claim, metadataJson: claim.metadataJson })
}

async function storeMetadata(tx: Tx, stored: { id: string; project: Project; claim: Claim; metadataJson: string }): Promise<void> {
  const { hostname, actor } = stored.claim
  await rows(tx, sql`update domains set metadata = ${stored.metadataJson}, version = nextval('versions') where id = ${stored.id}`)
  await recordChange(tx, { kind: 'host', key: hostname })
  await recordActivity(tx, { projectId: stored.project.id, actor, action: 'domain.metadata-changed', subject: hostname })
}

async function requireProject(tx: Tx, project: Project): Promise<void> {
  const [row] = await rows(tx, sql`select from projects where id = ${project.id} and deleted_at is null`)
  if (!row) throw projectGone(project.slug)
}

/** Before the plan is asked: a name that cannot be had is no reason to pay for more. The insert decides again, behind its lock. */
async function requireRoomInFamily(tx: Tx, project: Project, hostname: Hostname): Promise<void> {
  const [row] = await rows(tx, sql<{ held: Hostname | null }>`select claim_in_the_way(${project.id}, ${hostname}) as held`)
  if (row!.held) throw noRoomBeside(hostname, row!.held)
}

async function requireRoom(tx: Tx, project: Project, plan: string, rules: ClaimRules): Promise<void> {
  if (!rules.plans.has(plan))
    throw new ServiceError('plan_limit', `the plan ${plan} is no longer offered (NAMESAKE_PLANS), and has room for no further domain`)
  const allowed = domainsAllowed(rules.plans, plan)
  if (allowed === Number.POSITIVE_INFINITY) return
  const [row] = await rows(
    tx,
    sql<{ held: number }>`select count(*)::int as held from domains where project_id = ${project.id} and deleted_at is null`,
  )
  if (row!.held < allowed) return
  throw new ServiceError('plan_limit', `the plan ${plan} has room for ${allowed} domains, and the project holds ${row!.held}`)
}

/** `held` is another project's: a wildcard over the hostname, or a name under it when the hostname is the wildcard. */
function noRoomBeside(hostname: Hostname, held: Hostname): ServiceError {
  const why = isWildcard(hostname)
    ? `another project holds ${held} under it: claim each hostname on its own`
    : `another project holds the wildcard ${held}, which covers it`
  return new ServiceError('hostname_claimed', `${hostname} is already claimed: ${why}`)
}

function claimedByAnother(hostname: Hostname): ServiceError {
  return new ServiceError('hostname_claimed', `${hostname} is already claimed by another project`)
}
