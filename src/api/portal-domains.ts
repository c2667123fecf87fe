import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { Type } from 'typebox'
import { registerDomains } from '../core/bulk-claims.ts'
import { findStatuses } from '../core/domain-status.ts'
import { changeMetadata, findDomain, listDomains, registerDomain, removeDomain } from '../core/domains.ts'
import type { Project } from '../core/projects.ts'
import { ServiceError } from '../errors.ts'
import { type Hostname, parseClaimName } from '../hostname.ts'
import { Shares } from '../lib/shares.ts'
import { admit } from './admit.ts'
import { rawMember } from './bodies.ts'
import { detailsJson, domainJson } from './domain-json.ts'
import { sendDomainList, sendJson } from './domain-list.ts'
import { type EdgeDomainsParts, linkJson } from './edge-domains.ts'
import { entityTag, IfMatchHeaders, readIfMatch } from './entity-tags.ts'
import { BODY_CODES, HOSTNAME_CODES, refusals, SESSION_CODES } from './openapi.ts'
import { type AccessParts, accessByTokenOrSession } from './portal-access.ts'
import { BulkSchema, MetadataChangeSchema, PortalHostnameParams, PortalListQuery, SlugParams } from './portal-schemas.ts'
import { RegistrationSchema } from './schemas.ts'

const BASE = '/v1/portal/projects/:slug/domains'
const ONE = `${BASE}/:hostname`
/** Each is up to a thousand claims, one after the other. */
const BULKS_AT_ONCE = { max: 10, perOwnerMax: 2 }
const BULK_RETRY = { retryAfterS: 10 }

/** The domains of a project through the portal's door: the verbs of `/v1/edge/domains`. Every request has its access by now. */
export function portalDomains(instance: FastifyInstance, parts: EdgeDomainsParts & AccessParts): void {
  const app = instance.withTypeProvider<TypeBoxTypeProvider>()
  const { db, rules } = parts
  const bulks = new Shares(BULKS_AT_ONCE)
  const sendDetails = async (reply: FastifyReply, project: Project, hostname: Hostname) => {
    const details = await findDomain(db, project, hostname, rules)
    const statuses = await findStatuses(db, project.id, [hostname])
    reply.header('etag', entityTag(details.metadataJson))
    return sendJson(reply, detailsJson(details, statuses.get(hostname) ?? 'waiting-for-dns'))
  }

  admit(app, async (request) => {
    request.access = await accessByTokenOrSession(parts, request)
  })

  app.post(BASE, { schema: REGISTER }, async (request, reply) => {
    const { project, actor } = request.access
    const wanted = { hostname: parseClaimName(request.body.hostname), metadataJson: rawMember(request, 'metadata') ?? '{}' }
    const domain = await registerDomain(db, project, wanted, rules, actor)
    parts.wrote(domain.hostname)
    return sendJson(reply, domainJson(domain))
  })

  app.post(`${BASE}/bulk`, { schema: BULK }, async (request, reply) => {
    const { project, actor } = request.access
    if (!bulks.enter(project.id))
      throw new ServiceError('rate_limited', 'other lists are still being claimed: try again in 10 seconds', BULK_RETRY)
    try {
      const isWanted = () => !reply.raw.destroyed
      const requireAccess = () => accessByTokenOrSession(parts, request) // a thousand claims take seconds
      const wanted = { texts: request.body.hostnames, rules, actor, claimed: parts.wrote, isWanted, requireAccess }
      return sendJson(reply, JSON.stringify({ results: await registerDomains(db, project, wanted) }))
    } finally {
      bulks.leave(project.id)
    }
  })

  app.get(BASE, { schema: LIST }, async (request, reply) => {
    const { project } = request.access
    return sendDomainList(reply, {
      query: request.query,
      address: new URL(`/v1/portal/projects/${project.slug}/domains`, parts.baseUrl),
      read: (query) => listDomains(db, project, query),
      async write(domains) {
        if (request.query.details === undefined) return domains.map((domain) => domainJson(domain))
        const hostnames = domains.map(({ hostname }) => hostname)
        const statuses = await findStatuses(db, project.id, hostnames)
        return domains.map((domain) => domainJson(domain, statuses.get(domain.hostname) ?? 'waiting-for-dns'))
      },
    })
  })

  app.get(ONE, { schema: SHOW }, async (request, reply) =>
    sendDetails(reply, request.access.project, parseClaimName(request.params.hostname)),
  )

  app.post(`${ONE}/check`, { schema: CHECK }, async (request, reply) => {
    const hostname = parseClaimName(request.params.hostname)
    await parts.checkDomain(request.access.project, hostname)
    return sendDetails(reply, request.access.project, hostname)
  })

  app.post(`${ONE}/link`, { schema: LINK }, async (request, reply) => {
    const { project, actor } = request.access
    return sendJson(reply, await linkJson(parts, project, parseClaimName(request.params.hostname), actor))
  })

  app.patch(ONE, { schema: CHANGE }, async (request, reply) => {
    const { project, actor } = request.access
    const hostname = parseClaimName(request.params.hostname)
    const wanted = { hostname, metadataJson: rawMember(request, 'metadata')! }
    await changeMetadata(db, project, wanted, actor, readIfMatch(request.headers['if-match']))
    parts.wrote(hostname)
    return sendDetails(reply, project, hostname)
  })

  app.delete(ONE, { schema: REMOVE }, async (request, reply) => {
    const { project, actor } = request.access
    const hostname = parseClaimName(request.params.hostname)
    await removeDomain(db, project, hostname, actor)
    parts.wrote(hostname)
    return reply.code(204).send(null)
  })
}

const EITHER: Record<string, string[]>[] = [{ session: [] }, { token: [] }]
const common = { tags: ['Portal domains'], security: EITHER }
const ACCESS_CODES = [...SESSION_CODES, 'token_invalid', 'project_not_found'] as const
const CLAIM_CODES = ['hostname_invalid', 'hostname_reserved', 'wildcards_not_enabled', 'metadata_invalid'] as const
const DETAILS = Type.Ref('PortalDomainDetails', { description: 'The domain, as it stands.' })

const REGISTER = {
  ...common,
  operationId: 'registerPortalDomain',
  summary: 'Register a hostname in a project',
  description: 'As `POST /v1/edge/domains`.',
  params: SlugParams,
  body: RegistrationSchema,
  response: {
    200: Type.Ref('Domain', { description: 'The domain, new or as it was with its metadata merged.' }),
    ...refusals(...BODY_CODES, ...CLAIM_CODES, 'request_malformed', 'plan_limit', 'hostname_claimed', ...ACCESS_CODES),
  },
}

const BULK = {
  ...common,
  operationId: 'registerPortalDomains',
  summary: 'Register many hostnames in a project',
  description:
    'Claims each of up to 1,000 hostnames; one that is refused stops none of the others. Two lists a project at a time; who hangs up has the rest left alone.',
  params: SlugParams,
  body: BulkSchema,
  response: {
    200: Type.Ref('BulkResult', { description: 'What became of each.' }),
    ...refusals(...BODY_CODES, 'request_malformed', 'rate_limited', ...ACCESS_CODES),
  },
}

const LIST = {
  ...common,
  operationId: 'listPortalDomains',
  summary: 'List the domains of a project',
  description: 'As `GET /v1/edge/domains`; with `details=status` each comes with its status.',
  params: SlugParams,
  querystring: PortalListQuery,
  response: {
    200: Type.Array(Type.Ref('PortalDomain'), { description: 'The domains.' }),
    ...refusals('query_invalid', 'request_malformed', ...ACCESS_CODES),
  },
}

const SHOW = {
  ...common,
  operationId: 'showPortalDomain',
  summary: 'Show a domain of a project',
  description: 'As `GET /v1/edge/domains/{hostname}`, with the status.',
  params: PortalHostnameParams,
  response: { 200: DETAILS, ...refusals(...HOSTNAME_CODES, 'domain_not_found', ...ACCESS_CODES) },
}

const CHECK = {
  ...common,
  operationId: 'checkPortalDomain',
  summary: 'Check the DNS of a domain now',
  description: 'As `POST /v1/edge/domains/{hostname}/check`, with the status.',
  params: PortalHostnameParams,
  response: { 200: DETAILS, ...refusals(...HOSTNAME_CODES, ...BODY_CODES, 'domain_not_found', ...ACCESS_CODES) },
}

const LINK = {
  ...common,
  operationId: 'linkPortalDomain',
  summary: "Make a link for a hostname's owner, from the portal",
  description: 'As `POST /v1/edge/domains/{hostname}/link`.',
  params: PortalHostnameParams,
  response: {
    200: Type.Ref('ConnectLink', { description: 'The link.' }),
    ...refusals(...HOSTNAME_CODES, ...BODY_CODES, 'domain_not_found', ...ACCESS_CODES),
  },
}

const CHANGE = {
  ...common,
  operationId: 'changePortalDomain',
  summary: 'Replace the metadata of a domain',
  description:
    'Puts the new metadata in the place of the old, all of it; registering again merges instead. With the `ETag` of a former answer as `If-Match`, only what was seen is replaced.',
  params: PortalHostnameParams,
  headers: IfMatchHeaders,
  body: MetadataChangeSchema,
  response: {
    200: DETAILS,
    ...refusals(...HOSTNAME_CODES, ...BODY_CODES, 'metadata_invalid', 'changed_meanwhile', 'domain_not_found', ...ACCESS_CODES),
  },
}

const REMOVE = {
  ...common,
  operationId: 'removePortalDomain',
  summary: 'Remove a domain of a project',
  description: 'As `DELETE /v1/edge/domains/{hostname}`.',
  params: PortalHostnameParams,
  response: {
    204: Type.Null({ description: 'It is removed.' }),
    ...refusals(...HOSTNAME_CODES, ...BODY_CODES, 'domain_not_found', ...ACCESS_CODES),
  },
}
