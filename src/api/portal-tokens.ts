import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import type { Db } from '../core/db.ts'
import type { RateLimits } from '../core/rate-limits.ts'
import { issueToken, listTokens, revokeToken } from '../core/tokens.ts'
import { admit } from './admit.ts'
import { BODY_CODES, refusals, SESSION_CODES } from './openapi.ts'
import { type AccessParts, accessBySession, needs } from './portal-access.ts'
import { NewTokenSchema, SlugParams, TokenParams } from './portal-schemas.ts'

export type PortalTokensParts = AccessParts & {
  db: Db
  limits: RateLimits
  /** The token was revoked here just now. */
  revoked(tokenId: string): void
}

const BASE = '/v1/portal/projects/:slug/tokens'

/** The tokens of a project. */
export function portalTokens(instance: FastifyInstance, parts: PortalTokensParts): void {
  const app = instance.withTypeProvider<TypeBoxTypeProvider>()
  const { db } = parts
  admit(app, async (request, reply) => {
    reply.header('cache-control', 'no-store')
    request.access = await accessBySession(parts, request)
  })

  app.get(BASE, { schema: LIST }, async (request, reply) => reply.send(await listTokens(db, request.access.project.slug)))

  app.post(BASE, { schema: ISSUE, ...needs('admin') }, async (request, reply) => {
    const { project, actor } = request.access
    await parts.limits.take('tokens', request.session.email)
    return reply.send(await issueToken(db, project.slug, request.body, actor))
  })

  app.delete(`${BASE}/:tokenId`, { schema: REVOKE, ...needs('admin') }, async (request, reply) => {
    const { project, actor } = request.access
    await revokeToken(db, project.slug, request.params.tokenId, actor)
    parts.revoked(request.params.tokenId)
    return reply.code(204).send(null)
  })
}

const common = { tags: ['Projects'], security: [{ session: [] }] }
const IN_PROJECT = ['project_not_found', 'request_malformed', ...SESSION_CODES] as const

const LIST = {
  ...common,
  operationId: 'listTokens',
  summary: 'List the tokens of a project',
  description:
    'The active tokens and the 200 that were revoked last, oldest first, by name and hash: the tokens themselves are never shown again.',
  params: SlugParams,
  response: { 200: Type.Array(Type.Ref('Token'), { description: 'The tokens.' }), ...refusals(...IN_PROJECT) },
}

const ISSUE = {
  ...common,
  operationId: 'issueToken',
  summary: 'Issue a token',
  description: 'The answer holds the token, this once. A project has up to 1,000 active tokens. For admins and owners.',
  params: SlugParams,
  body: NewTokenSchema,
  response: {
    200: Type.Ref('IssuedToken', { description: 'The token.' }),
    ...refusals(...BODY_CODES, 'name_invalid', 'role_insufficient', ...IN_PROJECT),
  },
}

const REVOKE = {
  ...common,
  operationId: 'revokeToken',
  summary: 'Revoke a token',
  description: 'Every machine refuses it within a second. Revoking twice is no error. For admins and owners.',
  params: TokenParams,
  response: {
    204: Type.Null({ description: 'It is revoked.' }),
    ...refusals(...BODY_CODES, 'token_not_found', 'role_insufficient', ...IN_PROJECT),
  },
}
