import { randomBytes } from 'node:crypto'
import { type RawBuilder, sql } from 'kysely'
import { ServiceError } from '../errors.ts'
import { type Db, rows } from './db.ts'
import { parseDisplayName } from './display-name.ts'
import { parseEmailAddress } from './email-address.ts'
import type { Plans } from './plans.ts'
import { makeProof } from './proof.ts'
import { parseSlug, slugFromName } from './slug.ts'
import { parseUpstreamUrl } from './upstream-url.ts'

/** A tenant. `id` is a bigint as text; `proof` is the value for TXT `_namesake.<hostname>` where one is needed. */
export type Project = { id: string; name: string; slug: string; upstreamUrl: string; plan: string; proof: string }

/** What a project must keep to. `checkUpstream` throws `upstream_forbidden` for addresses that no upstream may have. */
export type ProjectRules = { plans: Plans; checkUpstream(url: URL): Promise<void> }

const SLUG_TRIES_MAX = 5

/**
 * Makes a project, and its owner a member when an e-mail address is given. A slug that is not given is derived from the name, with a suffix when it is taken; a given one that is taken throws
 * `slug_taken`. Throws `name_invalid`, `email_invalid`, `slug_invalid`, `upstream_invalid`, `upstream_forbidden` or `plan_unknown` for what it cannot keep.
 */
export async function createProject(
  db: Db,
  wanted: { name: string; slug?: string | undefined; upstreamUrl: string; plan: string; owner?: string | undefined },
  rules: ProjectRules,
): Promise<Project> {
  const owner = wanted.owner === undefined ? undefined : parseEmailAddress(wanted.owner)
  const name = parseDisplayName(wanted.name)
  const slugs = wanted.slug === undefined ? slugsFor(name) : [parseSlug(wanted.slug)]
  requirePlan(wanted.plan, rules)
  await requireUpstream(wanted.upstreamUrl, rules)
  for (const slug of slugs) {
    const created = await insertProject(db, { name, slug, upstreamUrl: wanted.upstreamUrl, plan: wanted.plan, owner })
    if (created) return created
  }
  throw new ServiceError('slug_taken', `the slug ${slugs[0]} is taken by another project: choose another`)
}

/**
 * Changes what is given and leaves the rest; the slug stays for ever. One change row makes every route of the project fresh on every
 * machine. Throws `project_not_found`, and as `createProject` does.
 */
export async function updateProject(
  db: Db,
  slug: string,
  wanted: { name?: string | undefined; upstreamUrl?: string | undefined; plan?: string | undefined },
  rules: ProjectRules,
): Promise<Project> {
  const name = wanted.name === undefined ? undefined : parseDisplayName(wanted.name)
  if (wanted.plan !== undefined) requirePlan(wanted.plan, rules)
  if (wanted.upstreamUrl !== undefined) await requireUpstream(wanted.upstreamUrl, rules)
  const [project] = await rows(
    db,
    sql<Project>`
      with updated as (
        update projects p set name = coalesce(${name ?? null}, name), upstream_url = coalesce(${wanted.upstreamUrl ?? null}, upstream_url),
          plan = coalesce(${wanted.plan ?? null}, plan), version = nextval('versions')
        where slug = ${slug} returning ${PROJECT}
      ), changed as (
        insert into changes (kind, key) select 'project', id::text from updated
      )
      select * from updated`,
  )
  return project ?? notFound(slug)
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
      order by p.id`,
  )
  return found.map((project) => ({ ...project, createdAt: project.createdAt.toISOString() }))
}

/** Throws `project_not_found`. */
export async function findProject(db: Db, slug: string): Promise<Project> {
  const [project] = await rows(db, sql<Project>`select ${PROJECT} from projects p where p.slug = ${slug}`)
  return project ?? notFound(slug)
}

/** The columns of a Project, of a row called `p`. */
export const PROJECT: RawBuilder<Project> = sql`p.id, p.name, p.slug, p.upstream_url as "upstreamUrl", p.plan, p.proof`

async function insertProject(
  db: Db,
  made: { name: string; slug: string; upstreamUrl: string; plan: string; owner: string | undefined },
): Promise<Project | undefined> {
  const [project] = await rows(
    db,
    sql<Project>`
      with made as (
        insert into projects as p (name, slug, upstream_url, plan, proof)
        values (${made.name}, ${made.slug}, ${made.upstreamUrl}, ${made.plan}, ${makeProof()})
        on conflict on constraint project_slug_unique do nothing
        returning ${PROJECT}
      ), owned as (
        insert into members (project_id, email, role) select id, ${made.owner ?? null}, 'owner' from made where ${made.owner ?? null}::text is not null
      )
      select * from made`,
  )
  return project
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

async function requireUpstream(text: string, rules: ProjectRules): Promise<void> {
  await rules.checkUpstream(parseUpstreamUrl(text))
}

function notFound(slug: string): never {
  throw new ServiceError('project_not_found', `there is no project ${slug}`)
}
