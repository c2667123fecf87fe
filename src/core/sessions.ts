import { createHash, randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import { ServiceError } from '../errors.ts'
import { type Db, type Queryable, rows } from './db.ts'
import type { Role } from './member-roles.ts'
import { PROJECT, type Project } from './projects.ts'

/** Somebody signed in. `id` is the row's; what the browser holds is stored as a hash only. */
export type Session = { id: string; email: string; signedInAt: string }

/** `key` is for the browser's cookie alone. */
export type NewSession = { key: string; session: Session; projects: MembershipRecord[] }

/** As the database has it. */
export type SessionRow = Omit<Session, 'signedInAt'> & { signedInAt: Date }

export type MembershipRecord = { slug: string; name: string; role: Role }

export const SESSION_DAYS = 30

const KEY = /^[A-Za-z0-9_-]{43}$/

/** A new session's key, 256 random bits, and what is stored of it. */
export function makeSessionKey(): { key: string; hash: Buffer } {
  const key = randomBytes(32).toString('base64url')
  return { key, hash: hashOf(key) }
}

/** Throws `session_required` without a session: none given, signed out, or older than 30 days. */
export async function findSession(db: Db, key: string | undefined): Promise<Session> {
  const hash = sessionHash(key)
  const [session] = hash ? await readSession(db, hash) : []
  if (!session) throw new ServiceError('session_required', 'sign in first: there is no session, or it has ended')
  return toSession(session)
}

function readSession(db: Db, hash: Buffer) {
  return rows(db, sql<SessionRow>`select id, email, signed_in_at as "signedInAt" from sessions where hash = ${hash} and expires_at > now()`)
}

export function toSession({ signedInAt, ...rest }: SessionRow): Session {
  return { ...rest, signedInAt: signedInAt.toISOString() }
}

/** From the commit on the key opens nothing. Ending what is no session is no error. */
export async function endSession(db: Db, key: string | undefined): Promise<void> {
  const hash = sessionHash(key)
  if (hash) await rows(db, sql`delete from sessions where hash = ${hash}`)
}

/**
 * The projects that the session sees, by name, with the user's role as it is now: those it belonged to at sign-in and those that it made
 * since, as long as the membership lasts.
 */
export async function listMemberships(on: Queryable, session: Session): Promise<MembershipRecord[]> {
  return rows(on, sql<MembershipRecord>`select p.slug, p.name, m.role from ${visibleTo(session)} order by p.name, p.slug`)
}

/** The project, with the user's role in it. Throws `project_not_found` when the session does not see it. */
export async function findVisibleProject(db: Db, session: Session, slug: string): Promise<{ project: Project; role: Role }> {
  const [found] = await rows(db, sql<Project & { role: Role }>`select ${PROJECT}, m.role from ${visibleTo(session)} and p.slug = ${slug}`)
  if (!found) throw new ServiceError('project_not_found', `this session has no project ${slug}: if you were invited lately, sign in again`)
  const { role, ...project } = found
  return { project, role }
}

/** The `from` and `where` of the projects `p` that the session sees, with its user's membership `m`. */
export function visibleTo({ id, email }: Session) {
  return sql`session_projects s join projects p on p.id = s.project_id and p.deleted_at is null
    join members m on m.project_id = p.id and m.email = ${email} where s.session_id = ${id}`
}

/** Lets the session of the project's maker see it. Throws `session_required` when it has ended. */
export async function showProject(on: Queryable, session: Session, projectId: string): Promise<void> {
  const shown = await rows(
    on,
    sql`insert into session_projects (session_id, project_id) select id, ${projectId} from sessions where id = ${session.id} returning project_id`,
  )
  if (shown.length === 0) throw new ServiceError('session_required', 'this session has ended: sign in again')
}

/** Deletes links a day after their end, and sessions that have ended. */
export async function pruneSessions(db: Db): Promise<void> {
  await rows(db, sql`delete from sign_in_links where expires_at < now() - interval '1 day'`)
  await rows(db, sql`delete from sessions where expires_at < now()`)
}

/** What is stored of a session with this key; null of what is no key. */
export function sessionHash(key: string | undefined): Buffer | null {
  return key !== undefined && KEY.test(key) ? hashOf(key) : null
}

function hashOf(key: string): Buffer {
  return createHash('sha256').update(key).digest()
}
