import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { mailboxOf, parseEmailAddress } from '../core/email-address.ts'
import { changeRole, inviteMember, listMembers, type MemberRecord, removeMember } from '../core/members.ts'
import type { RateLimits } from '../core/rate-limits.ts'
import { admit } from './admit.ts'
import { entityTag, IfMatchHeaders, readIfMatch } from './entity-tags.ts'
import { BODY_CODES, refusals, SESSION_CODES } from './openapi.ts'
import { type AccessParts, accessBySession, needs } from './portal-access.ts'
import { InvitationSchema, MemberParams, RoleChangeSchema, SlugParams } from './portal-schemas.ts'

const BASE = '/v1/portal/projects/:slug/members'

/** Who belongs to a project. */
export function portalMembers(instance: FastifyInstance, parts: AccessParts & { limits: RateLimits }): void {
  const app = instance.withTypeProvider<TypeBoxTypeProvider>()
  const { db } = parts
  admit(app, async (request, reply) => {
    reply.header('cache-control', 'no-store')
    request.access = await accessBySession(parts, request)
  })

  app.get(BASE, { schema: LIST }, async (request, reply) => reply.send((await listMembers(db, request.access.project)).map(memberJson)))

  app.post(BASE, { schema: INVITE, ...needs('admin') }, async (request, reply) => {
    // Each is a mail with words of the inviter's own.
    await parts.limits.take('invitations', request.session.email)
    await parts.limits.take('links', `invitation of ${mailboxOf(parseEmailAddress(request.body.email))}`)
    return reply.send(memberJson(await inviteMember(db, request.access, request.body)))
  })

  app.patch(`${BASE}/:email`, { schema: CHANGE, ...needs('admin') }, async (request, reply) => {
    const seen = readIfMatch(request.headers['if-match'])
    return reply.send(memberJson(await changeRole(db, request.access, request.params.email, request.body.role, seen)))
  })

  app.delete(`${BASE}/:email`, { schema: REMOVE }, async (request, reply) => {
    await removeMember(db, request.access, request.params.email)
    return reply.code(204).send(null)
  })
}

/** With its entity tag among its fields, since members come in a list. */
function memberJson(member: MemberRecord) {
  return { ...member, etag: entityTag(member.role) }
}

const common = { tags: ['Projects'], security: [{ session: [] }] }
const IN_PROJECT = ['project_not_found', 'request_malformed', ...SESSION_CODES] as const
const MEMBER = Type.Ref('Member', { description: 'The member.' })

const LIST = {
  ...common,
  operationId: 'listMembers',
  summary: 'List the members of a project',
  description: 'Everybody who belongs to the project, those who have not signed in yet too.',
  params: SlugParams,
  response: { 200: Type.Array(Type.Ref('Member'), { description: 'The members.' }), ...refusals(...IN_PROJECT) },
}

const INVITE = {
  ...common,
  operationId: 'inviteMember',
  summary: 'Invite somebody to a project',
  description:
    'Makes the address a member and mails an invitation; the project shows at its next sign-in. Who is a member already gets the mail again and keeps the role. For admins; owners are invited by owners.',
  params: SlugParams,
  body: InvitationSchema,
  response: { 200: MEMBER, ...refusals(...BODY_CODES, 'email_invalid', 'role_insufficient', ...IN_PROJECT) },
}

const CHANGE = {
  ...common,
  operationId: 'changeMember',
  summary: 'Change the role of a member',
  description:
    'Holds at once. For admins; only owners make and unmake owners. A project keeps at least one owner. With the `etag` of the member as `If-Match`, only the role that was seen is changed.',
  params: MemberParams,
  headers: IfMatchHeaders,
  body: RoleChangeSchema,
  response: {
    200: MEMBER,
    ...refusals(...BODY_CODES, 'email_invalid', 'role_insufficient', 'member_not_found', 'last_owner', 'changed_meanwhile', ...IN_PROJECT),
  },
}

const REMOVE = {
  ...common,
  operationId: 'removeMember',
  summary: 'Remove a member, or leave',
  description:
    'Holds at once, in every session. Anybody may leave; admins remove members and admins, owners everybody. A project keeps at least one owner.',
  params: MemberParams,
  response: {
    204: Type.Null({ description: 'No member any more.' }),
    ...refusals(...BODY_CODES, 'email_invalid', 'role_insufficient', 'member_not_found', 'last_owner', ...IN_PROJECT),
  },
}
