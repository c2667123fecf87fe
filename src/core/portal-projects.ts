import { sql } from 'kysely'
import type { Brand } from './brand.ts'
import { type Db, rows } from './db.ts'
import type { Role } from './members.ts'
import { domainsAllowed, type Plans } from './plans.ts'
import { createProject, type Project, type ProjectRules } from './projects.ts'
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
  createdAt: string
}

type Row = Pick<ProjectRecord, 'slug' | 'name' | 'role' | 'upstreamUrl' | 'upstreamProtocol' | 'domains' | 'errorPage'> &
  Brand & { plan: string; createdAt: Date }

/** The projects that the session sees, by name. */
export async function listVisibleProjects(db: Db, session: Session, plans: Plans): Promise<ProjectRecord[]> {
  const found = await readProjects(db, session, sql``)
  return found.map((row) => toRecord(row, plans))
}

/** One of them, which the session is known to see. */
export async function showVisibleProject(db: Db, session: Session, project: Project, plans: Plans): Promise<ProjectRecord> {
  const [row] = await readProjects(db, session, sql`and p.id = ${project.id}`, sql`, p.error_page as "errorPage"`)
  return toRecord(row!, plans)
}

/** Makes a project on the first plan, owned and seen at once by the session's user. Throws as `createProject` does. */
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
      await rows(tx, sql`update members set joined_at = now() where project_id = ${project.id} and email = ${email}`)
      await showProject(tx, session, project.id)
    },
  })
}

function readProjects(db: Db, session: Session, narrowed: ReturnType<typeof sql>, more = sql``): Promise<Row[]> {
  return rows(
    db,
    sql<Row>`
      select p.slug, p.name, m.role, p.upstream_url as "upstreamUrl", p.upstream_protocol as "upstreamProtocol", p.plan, p.brand_color as color, p.brand_logo_url as "logoUrl",
        p.created_at as "createdAt",
        (select count(*)::int from domains d where d.project_id = p.id and d.deleted_at is null) as domains ${more}
      from ${visibleTo(session)} ${narrowed} order by p.name, p.slug`,
  )
}

function toRecord({ plan, color, logoUrl, createdAt, ...row }: Row, plans: Plans): ProjectRecord {
  const allowed = domainsAllowed(plans, plan)
  return {
    ...row,
    plan: { name: plan, domainsMax: allowed === Number.POSITIVE_INFINITY ? null : allowed },
    brand: { color, logoUrl },
    createdAt: createdAt.toISOString(),
  }
}
