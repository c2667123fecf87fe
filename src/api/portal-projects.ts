import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { Type } from 'typebox'
import { listActivity } from '../core/activity.ts'
import type { ClaimRules } from '../core/claim-rules.ts'
import { isMember } from '../core/members.ts'
import { createOwnProject, listVisibleProjects, showVisibleProject } from '../core/portal-projects.ts'
import { type ErrorPageBrand, readErrorPageBrand } from '../core/project-pages.ts'
import { deleteProject, type Project, type ProjectRules, updateProject } from '../core/projects.ts'
import type { RateLimits } from '../core/rate-limits.ts'
import type { Session } from '../core/sessions.ts'
import { ServiceError } from '../errors.ts'
import { admit } from './admit.ts'
import { linkToNext } from './domain-list.ts'
import { entityTag, IfMatchHeaders, readIfMatch } from './entity-tags.ts'
import { BODY_CODES, refusals, SESSION_CODES } from './openapi.ts'
import { type AccessParts, accessBySession, findOwnSession, needs } from './portal-access.ts'
import { ActivityQuery, NewProjectSchema, ProjectChangesSchema, SlugParams } from './portal-schemas.ts'

/** What a try of an upstream comes to: its status, or a sentence on why there was none. */
export type UpstreamCheck = { kind: 'answered'; status: number } | { kind: 'unreachable'; sentence: string }

export type PortalProjectsParts = AccessParts & {
  limits: RateLimits
  signup: 'open' | 'invited'
  baseUrl: URL
  projectRules: ProjectRules
  rules: Pick<ClaimRules, 'edgeHost'>
  /** `asker`: who wants to know. */
  checkUpstream(url: URL, protocol: Project['upstreamProtocol'], asker: string): Promise<UpstreamCheck>
  /** What visitors see while a project's application does not answer, and its Content-Security-Policy. */
  previewErrorPage(brand: ErrorPageBrand): { html: string; policy: string }
  announce(key: string): void
}

const BASE = '/v1/portal/projects'
const ONE = `${BASE}/:slug`

/** The projects of the session's user: make one, and, before any has been made, see that there is none. */
export function portalProjects(instance: FastifyInstance, parts: PortalProjectsParts): void {
  const app = instance.withTypeProvider<TypeBoxTypeProvider>()
  const { db, projectRules } = parts
  admit(app, async (request) => {
    request.session = await findOwnSession(parts, request)
  })

  app.get(BASE, { schema: LIST }, async (request, reply) =>
    reply.header('cache-control', 'no-store').send(await listVisibleProjects(db, request.session, projectRules.plans)),
  )

  app.post(BASE, { schema: CREATE }, async (request, reply) => {
    const { email } = request.session
    await parts.limits.take('projects', email)
    if (parts.signup === 'invited' && !(await isMember(db, email)))
      throw new ServiceError('role_insufficient', 'you belong to no project any more: ask for a new invitation')
    const project = await createOwnProject(db, request.session, request.body, projectRules)
    const [record, upstreamCheck] = await Promise.all([
      show(parts, reply, request.session, project),
      parts.checkUpstream(new URL(project.upstreamUrl), project.upstreamProtocol, email),
    ])
    return reply.send({ ...record, upstreamCheck })
  })
}

/** One project: its settings and what happened to it. */
export function portalProject(instance: FastifyInstance, parts: PortalProjectsParts): void {
  const app = instance.withTypeProvider<TypeBoxTypeProvider>()
  const { db, projectRules } = parts
  admit(app, async (request, reply) => {
    reply.header('cache-control', 'no-store')
    request.access = await accessBySession(parts, request)
  })

  app.get(ONE, { schema: SHOW }, async (request, reply) => reply.send(await show(parts, reply, request.session, request.access.project)))

  app.patch(ONE, { schema: CHANGE, ...needs('admin') }, async (request, reply) => {
    const { project, actor } = request.access
    await parts.limits.take('changes', project.id) // each has every machine read the project anew, and a new upstream is visited
    const changed = await updateProject(db, project.slug, request.body, projectRules, actor, readIfMatch(request.headers['if-match']))
    parts.announce(project.slug)
    const isNew = changed.upstreamUrl !== project.upstreamUrl || changed.upstreamProtocol !== project.upstreamProtocol
    const [record, upstreamCheck] = await Promise.all([
      show(parts, reply, request.session, project),
      isNew ? parts.checkUpstream(new URL(changed.upstreamUrl), changed.upstreamProtocol, request.session.email) : undefined,
    ])
    return reply.send({ ...record, ...(upstreamCheck && { upstreamCheck }) })
  })

  app.delete(ONE, { schema: DELETE, ...needs('owner') }, async (request, reply) => {
    await deleteProject(db, request.access.project, request.access.actor)
    parts.announce(request.access.project.slug)
    return reply.code(204).send(null)
  })

  app.get(`${ONE}/error-page`, { schema: ERROR_PAGE }, async (request, reply) => {
    const { html, policy } = parts.previewErrorPage(await readErrorPageBrand(db, request.access.project))
    // Shown in a frame of the portal's settings, and nowhere else. The sandbox takes away the session's origin.
    const framed = `${policy.replace("frame-ancestors 'none'", "frame-ancestors 'self'")}; sandbox`
    return reply
      .type('text/html; charset=utf-8')
      .header('content-security-policy', framed)
      .header('x-content-type-options', 'nosniff')
      .send(html)
  })

  app.get(`${ONE}/activity`, { schema: ACTIVITY }, async (request, reply) => {
    const { project } = request.access
    const { limit, cursor } = request.query
    const { entries, nextCursor } = await listActivity(db, project, { limit: limit === undefined ? undefined : Number(limit), cursor })
    const address = new URL(`${BASE}/${project.slug}/activity`, parts.baseUrl)
    if (nextCursor) reply.header('link', linkToNext(address, request.query, nextCursor))
    return reply.send(entries)
  })
}

/** With the edge host: what its customers are told where it has no CNAME target of its own, and what one must lead to. The reply gets its entity tag. */
async function show({ db, projectRules, rules }: PortalProjectsParts, reply: FastifyReply, session: Session, project: Project) {
  const { record, version } = await showVisibleProject(db, session, project, projectRules.plans)
  reply.header('etag', entityTag(version))
  return { ...record, edgeHost: rules.edgeHost }
}

const common = { tags: ['Projects'], security: [{ session: [] }] }
const IN_PROJECT = ['project_not_found', 'request_malformed', ...SESSION_CODES] as const
const SETTING_CODES = ['brand_invalid', 'error_page_invalid', 'hostname_invalid', 'hostname_reserved', 'cname_target_invalid'] as const
const PROJECT_CODES = ['name_invalid', 'upstream_invalid', 'upstream_forbidden'] as const

const LIST = {
  ...common,
  operationId: 'listProjects',
  summary: 'List your projects',
  description: 'The projects that this session sees, by name.',
  response: { 200: Type.Array(Type.Ref('Project'), { description: 'The projects.' }), ...refusals(...SESSION_CODES) },
}

const CREATE = {
  ...common,
  operationId: 'createProject',
  summary: 'Create a project',
  description:
    'Makes a project that you own and see at once. Without a slug, one is made of the name. The upstream is tried at once; that it cannot be reached is a warning, not a refusal.',
  body: NewProjectSchema,
  response: {
    200: Type.Ref('ChangedProject', { description: 'The project.' }),
    ...refusals(...BODY_CODES, ...PROJECT_CODES, 'slug_invalid', 'slug_taken', 'role_insufficient', ...SESSION_CODES),
  },
}

const SHOW = {
  ...common,
  operationId: 'showProject',
  summary: 'Show a project',
  description: 'A project that this session sees. One that you were invited to since you signed in shows after your next sign-in.',
  params: SlugParams,
  response: { 200: Type.Ref('Project', { description: 'The project.' }), ...refusals(...IN_PROJECT) },
}

const CHANGE = {
  ...common,
  operationId: 'changeProject',
  summary: 'Change a project',
  description:
    'Changes what is given and leaves the rest. For admins and owners. A new upstream holds on every machine within a second. A new CNAME target is looked up first. With the `ETag` of a former answer as `If-Match`, only what was seen is changed.',
  params: SlugParams,
  headers: IfMatchHeaders,
  body: ProjectChangesSchema,
  response: {
    200: Type.Ref('ChangedProject', { description: 'The project.' }),
    ...refusals(...BODY_CODES, ...PROJECT_CODES, ...SETTING_CODES, 'changed_meanwhile', 'rate_limited', 'role_insufficient', ...IN_PROJECT),
  },
}

const DELETE = {
  ...common,
  operationId: 'deleteProject',
  summary: 'Delete a project',
  description: 'Gives up a project that holds no domain. Its tokens are refused from then on, and its slug stays taken. For owners.',
  params: SlugParams,
  response: {
    204: Type.Null({ description: 'It is deleted.' }),
    ...refusals(...BODY_CODES, 'project_not_empty', 'role_insufficient', ...IN_PROJECT),
  },
}

const ERROR_PAGE = {
  ...common,
  operationId: 'previewErrorPage',
  summary: 'Preview the error page',
  description: 'The page that visitors see while your application does not answer, with a hostname and a request id made up.',
  params: SlugParams,
  response: {
    200: { description: 'The page.', content: { 'text/html': { schema: Type.String() } } },
    ...refusals(...IN_PROJECT),
  },
}

const ACTIVITY = {
  ...common,
  operationId: 'listActivity',
  summary: 'List what happened to a project',
  description: 'Who changed what and when, newest first. While more follow, the Link header leads to the next page.',
  params: SlugParams,
  querystring: ActivityQuery,
  response: {
    200: Type.Array(Type.Ref('Activity'), { description: 'The changes.' }),
    ...refusals('query_invalid', ...IN_PROJECT),
  },
}
