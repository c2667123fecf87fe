import type { FastifyRequest } from 'fastify'
import type { Actor } from '../core/activity.ts'
import type { Db } from '../core/db.ts'
import { type Role, requireRole } from '../core/member-roles.ts'
import type { MemberChange } from '../core/members.ts'
import type { Project } from '../core/projects.ts'
import { findSession, findVisibleProject, type Session } from '../core/sessions.ts'
import { ServiceError } from '../errors.ts'
import type { Authenticator } from './authentication.ts'
import { refuseCrossSite } from './cross-site.ts'
import type { SessionCookie } from './session-cookie.ts'
import type { StrangerLimits } from './stranger-limits.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Set for every route under /v1/portal that a session alone opens. */
    session: Session
    /** Set for every route under /v1/portal/projects/{slug}. */
    access: Access
  }
}

/** What the caller may do to the project of the path: by a session's membership, or by the project's own token. */
export type Access = MemberChange & { role: Role; project: Project; actor: Actor }

export type AccessParts = {
  db: Db
  portalUrl: URL
  cookie: SessionCookie
  authenticate: Authenticator['authenticate']
  /** As `authenticate`, of a call that was authenticated already: it counts against no limit. */
  vouch: Authenticator['authenticate']
  strangers: StrangerLimits
}

/** A session, from the portal's own pages. Throws `cross_site` or `session_required`. */
export async function findOwnSession(parts: AccessParts, request: FastifyRequest): Promise<Session> {
  refuseCrossSite(request, parts.portalUrl)
  return orLimited(parts, request, () => findSession(parts.db, parts.cookie.read(request)))
}

/** As `findOwnSession`, with the membership. Throws `project_not_found` for what the session does not see. */
export async function accessBySession(parts: AccessParts, request: FastifyRequest): Promise<Access> {
  request.session = await findOwnSession(parts, request)
  const { project, role } = await findVisibleProject(parts.db, request.session, slugOf(request))
  return { project, role, actor: { kind: 'user', email: request.session.email } }
}

/** By the project's own token where one is sent, else by the session. Throws `token_invalid` for another project's token too. */
export async function accessByTokenOrSession(parts: AccessParts, request: FastifyRequest): Promise<Access> {
  const { authorization } = request.headers
  if (authorization === undefined) return accessBySession(parts, request)
  const authenticate = request.access === undefined ? parts.authenticate : parts.vouch // asked again, it is the same call
  const { project, tokenId } = await orLimited(parts, request, async () => authenticate(authorization))
  if (project.slug !== slugOf(request)) throw new ServiceError('token_invalid', 'the token belongs to another project than the path')
  return { project, role: 'member', actor: { kind: 'token', id: tokenId } }
}

/** The hooks of a route that takes more than a member: it refuses before anything is read of the body. */
export function needs(role: 'owner' | 'admin') {
  const check = async (request: FastifyRequest) => requireRole(request.access.role, role)
  return { onRequest: check, preHandler: check } // the role may be another one behind a slow body
}

async function orLimited<T>(parts: AccessParts, request: FastifyRequest, find: () => Promise<T>): Promise<T> {
  try {
    return await find()
  } catch (error) {
    throw await parts.strangers.instead(request, error)
  }
}

function slugOf(request: FastifyRequest): string {
  return (request.params as { slug: string }).slug
}
