import { randomBytes } from 'node:crypto'
import { type RawBuilder, sql } from 'kysely'
import { ServiceError } from '../errors.ts'
import { type ExactHostname, type Hostname, parseHostname } from '../hostname.ts'
import { type Actor, OPERATOR, recordActivity } from './activity.ts'
import { parseBrand } from './brand.ts'
import { type Db, rows, type Tx, transaction } from './db.ts'
import { parseDisplayName } from './display-name.ts'
import { parseEmailAddress } from './email-address.ts'
import { type Role, requireRole } from './member-roles.ts'
import { operatorsPlan, type Plans } from './plans.ts'
import { parseErrorPage } from './project-pages.ts'
import { makeProof } from './proof.ts'
import { ANY_STATE, requireSeen } from './seen-state.ts'
import { parseSlug, slugFromName } from './slug.ts'
import { parseUpstreamProtocol, parseUpstreamUrl, type UpstreamProtocol, withFittingProtocol } from './upstream-url.ts'

/** A tenant. `id` is a bigint as text; `proof` is the value for TXT `_namesake.<hostname>` where one is needed. */
export type Project = {
  id: string
  name: string
  slug: string
  upstreamUrl: string
  upstreamProtocol: UpstreamProtocol
  plan: string
  proof: string
  /** The vendor's own name that its customers are told in place of the edge host, to which it leads; null: the edge host. */
  cnameTarget: ExactHostname | null
}

/**
 * What a project must keep to. `checkUpstream` throws `upstream_forbidden` for addresses that no upstream may have; `asker`: for whom they are looked
 * up. `checkCnameTarget` throws `hostname_reserved` for the service's own hosts, and `cname_target_invalid` for a name that does not lead to the edge
 * host, or of which that cannot be found out.
 */
export type ProjectRules = {
  plans: Plans
  checkUpstream(url: URL, asker: string): Promise<void>
  checkCnameTarget(target: ExactHostname): Promise<void>
}

export type NewProject = {
  name: string
  slug?: string | undefined
  upstreamUrl: string
  /** HTTP/1.1 unless something else is said. */
  upstreamProtocol?: string | undefined
  /** The one for an operator's projects unless another is named. */
  plan?: string | undefined
  owner?: string | undefined
}

const SLUG_TRIES_MAX = 5

/**
 * Makes a project, and its owner a member when an e-mail address is given. `made` runs in the transaction that makes it.
 * A slug that is not given is derived from the name, with a suffix when it is taken; a given one that is taken throws
 * `slug_taken`. Throws `name_invalid`, `email_invalid`, `slug_invalid`, `upstream_invalid`, `upstream_forbidden` or `plan_unknown` for what it cannot keep.
 */
export async function createProject(
  db: Db,
  wanted: NewProject,
  rules: ProjectRules,
  maker: { actor: Actor; made?(tx: Tx, project: Project): Promise<void> } = { actor: OPERATOR },
): Promise<Project> {
  const owner = wanted.owner === undefined ? undefined : parseEmailAddress(wanted.owner)
  const name = parseDisplayName(wanted.name)
  const slugs = wanted.slug === undefined ? slugsFor(name) : [parseSlug(wanted.slug)]
  const upstreamProtocol = parseUpstreamProtocol(wanted.upstreamProtocol ?? 'http1')
  const plan = wanted.plan ?? operatorsPlan(rules.plans)
  requirePlan(plan, rules)
  await requireUpstream(wanted.upstreamUrl, rules, maker.actor)
  for (const slug of slugs) {
    const created = await transaction(db, async (tx) => {
      const project = await insertProject(tx, { ...wanted, name, slug, upstreamProtocol, plan, owner })
      if (!project) return undefined
      await recordActivity(tx, { projectId: project.id, actor: maker.actor, action: 'project.created', subject: slug })
      await maker.made?.(tx, project)
      return project
    })
    if (created) return created
  }
  throw new ServiceError('slug_taken', `the slug ${slugs[0]} is taken by another project, or by one that was deleted: choose another`)
}

/** What can be changed of a project; null takes a value away. */
export type ProjectChanges = {
  name?: string | undefined
  upstreamUrl?: string | undefined
  upstreamProtocol?: string | undefined
  plan?: string | undefined
  brand?: { color?: string | null | undefined; logoUrl?: string | null | undefined } | undefined
  /** HTML in place of the edge's own page for a failed exchange; null takes it away. */
  errorPage?: string | null | undefined
  cnameTarget?: string | null | undefined
}

/**
 * Changes what is given and leaves the rest; the slug stays for ever. One change row makes every route of the project fresh on every
 * machine; where all is so already, nothing is written. `seen` is asked about the project's version. Throws `project_not_found`, `role_insufficient`,
 * `changed_meanwhile`, `brand_invalid`, `error_page_invalid`, `hostname_invalid`, `hostname_reserved` or `cname_target_invalid` for a CNAME target, and as
 * `createProject` does.
 */
export async function updateProject(
  db: Db,
  slug: string,
  wanted: ProjectChanges,
  rules: ProjectRules,
  actor: Actor = OPERATOR,
  seen = ANY_STATE,
): Promise<Project> {
  const name = wanted.name === undefined ? undefined : parseDisplayName(wanted.name)
  if (wanted.plan !== undefined) requirePlan(wanted.plan, rules)
  if (wanted.upstreamUrl !== undefined) await requireUpstream(wanted.upstreamUrl, rules, actor)
  const upstreamProtocol = wanted.upstreamProtocol === undefined ? undefined : parseUpstreamProtocol(wanted.upstreamProtocol)
  const { color, logoUrl } = parseBrand(wanted.brand ?? {})
  const errorPage = wanted.errorPage === undefined ? undefined : parseErrorPage(wanted.errorPage)
  const cnameTarget = wanted.cnameTarget === undefined ? undefined : await readCnameTarget(wanted.cnameTarget, rules)
  const noted = { ...wanted, name, cnameTarget, ...(errorPage !== undefined && { errorPage: errorPage === null ? null : 'new' }) }
  const columns = {
    ...{ name, upstream_url: wanted.upstreamUrl, upstream_protocol: upstreamProtocol, plan: wanted.plan },
    ...{ brand_color: color, brand_logo_url: logoUrl, error_page: errorPage, cname_target: cnameTarget },
  }
  return transaction(db, async (tx) => {
    const { version, ...project } = await lockBySlug(tx, slug)
    await requireRoleNow(tx, project, { actor, needed: 'admin' })
    requireSeen(seen, version)
    const changed = await changeColumns(tx, project, columns)
    if (changed && cnameTarget !== undefined) await tellOfTargets(tx, changed, [project.cnameTarget, cnameTarget])
    if (changed) await recordActivity(tx, { projectId: project.id, actor, action: 'project.changed', subject: slug, detail: noted })
    return changed ?? project
  })
}

/**
 * Gives a project up: its tokens are refused and its members see it no more. Its slug stays taken. Throws `project_not_empty` while it holds
 * a domain, `project_not_found` or `role_insufficient`.
 */
export async function deleteProject(db: Db, project: Project, actor: Actor = OPERATOR): Promise<void> {
  await transaction(db, async (tx) => {
    await lockProject(tx, project, sql`update`) // a claim under way ends first: it holds the row's key
    await requireRoleNow(tx, project, { actor, needed: 'owner' })
    const [held] = await rows(
      tx,
      sql<{ domains: number }>`select count(*)::int as domains from domains where project_id = ${project.id} and deleted_at is null`,
    )
    if (held!.domains > 0) throw new ServiceError('project_not_empty', `the project holds ${held!.domains} domains: remove them first`)
    const [deleted] = await rows(
      tx,
      sql<Pick<Project, 'cnameTarget'>>`
        with revoked as (
          update tokens set revoked_at = now() where project_id = ${project.id} and revoked_at is null returning id
        ), changed as (
          insert into changes (kind, key) select 'token', id::text from revoked
        ), changed_too as (
          insert into changes (kind, key) values ('project', ${project.id})
        ), hidden as (
          delete from session_projects where project_id = ${project.id}
        ), left_by as (
          delete from members where project_id = ${project.id}
        )
        update projects set deleted_at = now(), version = nextval('versions') where id = ${project.id} and deleted_at is null
        returning cname_target as "cnameTarget"`,
    )
    await tellOfTargets(tx, project, [deleted!.cnameTarget])
    await recordActivity(tx, { projectId: project.id, actor, action: 'project.deleted', subject: project.slug })
  })
}

/** Every project, oldest first, with the number of domains that it holds. */
export async function listProjects(db: Db): Promise<(Project & { createdAt: string; domains: number })[]> {
  const found = await rows(
    db,
    sql<Project & { createdAt: Date; domains: number }>`
      select ${PROJECT}, p.created_at as "createdAt", coalesce(held.domains, 0)::int as domains
      from projects p left join (
        select project_id, count(*) as domains from domains where deleted_at is null group by project_id
      ) held on held.project_id = p.id
      where p.deleted_at is null
      order by p.id`,
  )
  return found.map((project) => ({ ...project, createdAt: project.createdAt.toISOString() }))
}

/** Throws `project_not_found`. */
export async function findProject(db: Db, slug: string): Promise<Project> {
  const [project] = await rows(db, sql<Project>`select ${PROJECT} from projects p where p.slug = ${slug} and p.deleted_at is null`)
  if (!project) throw projectGone(slug)
  return project
}

/** The CNAME target of the project that holds the hostname; null where that is the edge host, or nobody holds it. */
export async function findCnameTarget(db: Db, hostname: Hostname): Promise<ExactHostname | null> {
  const [found] = await rows(
    db,
    sql<Pick<Project, 'cnameTarget'>>`
      select p.cname_target as "cnameTarget" from domains d join projects p on p.id = d.project_id
      where d.hostname = ${hostname} and d.deleted_at is null`,
  )
  return found?.cnameTarget ?? null
}

/**
 * The project's plan as it is now. Others that change the project, its tokens or who belongs to it, or count its domains, wait for the end of the
 * transaction. Throws `project_not_found` for one that has been given up.
 */
export async function lockProject(tx: Tx, { id, slug }: Project, strength = sql`no key update`): Promise<string> {
  const [row] = await rows(tx, sql<{ plan: string }>`select plan from projects where id = ${id} and deleted_at is null for ${strength}`)
  if (!row) throw projectGone(slug)
  return row.plan
}

/**
 * To be asked by who writes, in the transaction that holds the project's row, behind whatever took time: whoever was removed or lost their role
 * meanwhile changes nothing any more. Throws `project_not_found` for who is no member, or `role_insufficient`.
 */
export async function requireRoleNow(
  tx: Tx,
  project: Pick<Project, 'id' | 'slug'>,
  { actor, needed }: { actor: Actor; needed: 'owner' | 'admin' },
): Promise<void> {
  if (actor.kind !== 'user') return
  const [member] = await rows(tx, sql<{ role: Role }>`select role from members where project_id = ${project.id} and email = ${actor.email}`)
  if (!member) throw projectGone(project.slug)
  requireRole(member.role, needed)
}

/** There is no such project, or none any more. */
export function projectGone(slug: string): ServiceError {
  return new ServiceError('project_not_found', `there is no project ${slug}`)
}

/** The columns of a Project, of a row called `p`. */
export const PROJECT: RawBuilder<Project> = sql`p.id, p.name, p.slug, p.upstream_url as "upstreamUrl",
  p.upstream_protocol as "upstreamProtocol", p.plan, p.proof, p.cname_target as "cnameTarget"`

async function insertProject(
  tx: Tx,
  made: NewProject & { slug: string; upstreamProtocol: UpstreamProtocol; plan: string },
): Promise<Project | undefined> {
  const inserting = rows(
    tx,
    sql<Project>`
      with made as (
        insert into projects as p (name, slug, upstream_url, upstream_protocol, plan, proof)
        values (${made.name}, ${made.slug}, ${made.upstreamUrl}, ${made.upstreamProtocol}, ${made.plan}, ${makeProof()})
        on conflict on constraint project_slug_unique do nothing
        returning ${PROJECT}
      ), changed as (
        insert into changes (kind, key) select 'project', id::text from made
      ), owned as (
        insert into members (project_id, email, role) select id, ${made.owner ?? null}, 'owner' from made where ${made.owner ?? null}::text is not null
      )
      select * from made`,
  )
  const [project] = await withFittingProtocol(inserting)
  return project
}

async function lockBySlug(tx: Tx, slug: string): Promise<Project & { version: string }> {
  const [project] = await rows(
    tx,
    sql<
      Project & { version: string }
    >`select ${PROJECT}, p.version from projects p where slug = ${slug} and deleted_at is null for no key update`,
  )
  if (!project) throw projectGone(slug)
  return project
}

/** Undefined where all that is given is so already: that is no news for anybody. */
async function changeColumns(tx: Tx, { id }: Project, columns: Record<string, string | null | undefined>): Promise<Project | undefined> {
  const given = Object.entries(columns).filter(([, value]) => value !== undefined)
  if (given.length === 0) return undefined
  const set = given.map(([column, value]) => sql`${sql.ref(column)} = ${value}`)
  const differs = given.map(([column, value]) => sql`${sql.ref(`p.${column}`)} is distinct from ${value}`)
  const updating = rows(
    tx,
    sql<Project>`
      with updated as (
        update projects p set ${sql.join(set)}, version = nextval('versions') where id = ${id} and (${sql.join(differs, sql` or `)})
        returning ${PROJECT}
      ), changed as (
        insert into changes (kind, key) select 'project', id::text from updated
      )
      select * from updated`,
  )
  return (await withFittingProtocol(updating))[0]
}

/** Another's claim of a name owes a proof while it is a target, unless it is verified: edges hear from when on, and until when. */
async function tellOfTargets(tx: Tx, { id }: Project, targets: readonly (string | null)[]): Promise<void> {
  await rows(
    tx,
    sql`
      with claimed as (
        select d.id from domains d where d.hostname = any(${targets.filter((target) => target !== null)}::text[])
          and d.deleted_at is null and d.verified_at is null and d.project_id <> ${id} order by d.id for no key update
      ), told as (
        update domains d set version = nextval('versions') from claimed where d.id = claimed.id returning d.hostname
      )
      insert into changes (kind, key) select 'host', hostname from told`,
  )
}

function slugsFor(name: string): string[] {
  const slug = slugFromName(name)
  const suffixed = () => `${slug.slice(0, 50).replace(/-$/, '')}-${randomBytes(3).toString('hex')}`
  return [slug, ...Array.from({ length: SLUG_TRIES_MAX }, suffixed)]
}

function requirePlan(plan: string, rules: ProjectRules): void {
  if (rules.plans.has(plan)) return
  throw new ServiceError('plan_unknown', `there is no plan ${plan}: choose one of ${[...rules.plans.keys()].join(', ')}`)
}

async function requireUpstream(text: string, rules: ProjectRules, actor: Actor): Promise<void> {
  await rules.checkUpstream(parseUpstreamUrl(text), actor.kind === 'user' ? actor.email : actor.kind)
}

async function readCnameTarget(text: string | null, rules: ProjectRules): Promise<ExactHostname | null> {
  if (text === null) return null
  const target = parseHostname(text)
  await rules.checkCnameTarget(target)
  return target
}
