import { sql } from 'kysely'
import { ServiceError } from '../errors.ts'
import type { Brand } from './brand.ts'
import { type Db, rows, type Tx } from './db.ts'
import type { Role } from './member-roles.ts'
import { domainsAllowed, type Plans } from './plans.ts'
import { createProject, type Project, type ProjectRules, projectGone } from './projects.ts'
import { type Session, showProject, visibleTo } from './sessions.ts'
import type { UpstreamProtocol } from './upstream-url.ts'

/** A project as its members see it; `domainsMax` is null where the plan has no limit. */
export type ProjectRecord = {
  slug: string
  name: string
  role: Role
  upstreamUrl: string
  upstreamProtocol: UpstreamProtocol
  plan: { name: string; domainsMax: number | null }
  domains: number
  brand: Brand
  /** HTML that visitors see while the application does not answer; null: the edge's own page. Left out where projects are listed. */
  errorPage?: string | null
  /** What customers are told in place of the edge host. */
  cnameTarget: string | null
  createdAt: string
}

type Row = { version: string } & Pick<
  ProjectRecord,
  'slug' | 'name' | 'role' | 'upstreamUrl' | 'upstreamProtocol' | 'domains' | 'errorPage' | 'cnameTarget'
> &
  Brand & { plan: string; createdAt: Date }

const PROJECTS_MADE_MAX = 50
const GIVEN_UP_COUNTS_FOR = sql.lit('1 day') // longer than a share of anything is remembered

/** The projects that the session sees, by name. */
export async function listVisibleProjects(db: Db, session: Session, plans: Plans): Promise<ProjectRecord[]> {
  const found = await readProjects(db, session, sql``)
  return found.map((row) => toRecord(row, plans))
}

/** One of them, which the session has just been seen to see, and its version. Throws `project_not_found` when it was deleted since, or its user left it. */
export async function showVisibleProject(
  db: Db,
  session: Session,
  project: Project,
  plans: Plans,
): Promise<{ record: ProjectRecord; version: string }> {
  const [row] = await readProjects(db, session, sql`and p.id = ${project.id}`, sql`, p.error_page as "errorPage"`)
  if (!row) throw projectGone(project.slug)
  return { record: toRecord(row, plans), version: row.version }
}

/**
 * Makes a project on the first plan, owned and seen at once by the session's user. Throws as `createProject` does, and `rate_limited` when the
 * user has made fifty that are still there, or were until a day ago: each has a share of what all projects share.
 */
export async function createOwnProject(
  db: Db,
  session: Session,
  wanted: { name: string; slug?: string | undefined; upstreamUrl: string; upstreamProtocol?: string | undefined },
  rules: ProjectRules,
): Promise<Project> {
  const [plan] = rules.plans.keys()
  const { email } = session
  const made = { ...wanted, plan: plan!, owner: email }
  return createProject(db, made, rules, {
    actor: { kind: 'user', email },
    async made(tx, project) {
      await requireRoomFor(tx, email)
      await rows(tx, sql`update members set joined_at = now() where project_id = ${project.id} and email = ${email}`)
      await showProject(tx, session, project.id)
    },
  })
}

/** Counts the one that is being made too. Those that one user makes side by side are counted one after the other. */
async function requireRoomFor(tx: Tx, email: string): Promise<void> {
  await rows(tx, sql`select pg_advisory_xact_lock(hashtextextended('projects of ' || ${email}, 0))`)
  const [made] = await rows(
    tx,
    sql<{ projects: number; left: number }>`
      select count(*)::int as projects, count(*) filter (where p.deleted_at is null)::int as left
      from activity a join projects p on p.id = a.project_id
      where a.action = 'project.created' and a.actor->>'email' = ${email}
        and (p.deleted_at is null or p.deleted_at > now() - interval ${GIVEN_UP_COUNTS_FOR})`,
  )
  if (made!.projects <= PROJECTS_MADE_MAX) return
  const remedy =
    made!.left > PROJECTS_MADE_MAX
      ? 'delete one that you need no more, which makes room a day later, or ask the operator of this service to make it for you'
      : 'those that you deleted count for a day: try again tomorrow, or ask the operator of this service to make it for you'
  throw new ServiceError('rate_limited', `a person makes at most ${PROJECTS_MADE_MAX} projects: ${remedy}`)
}

function readProjects(db: Db, session: Session, narrowed: ReturnType<typeof sql>, more = sql``): Promise<Row[]> {
  return rows(
    db,
    sql<Row>`
      select p.slug, p.name, m.role, p.upstream_url as "upstreamUrl", p.upstream_protocol as "upstreamProtocol", p.plan, p.brand_color as color, p.brand_logo_url as "logoUrl",
        p.cname_target as "cnameTarget", p.created_at as "createdAt", p.version,
        (select count(*)::int from domains d where d.project_id = p.id and d.deleted_at is null) as domains ${more}
      from ${visibleTo(session)} ${narrowed} order by p.name, p.slug`,
  )
}

function toRecord({ plan, color, logoUrl, createdAt, version: _, ...row }: Row, plans: Plans): ProjectRecord {
  const allowed = domainsAllowed(plans, plan)
  return {
    ...row,
    plan: { name: plan, domainsMax: allowed === Number.POSITIVE_INFINITY ? null : allowed },
    brand: { color, logoUrl },
    createdAt: createdAt.toISOString(),
  }
}
