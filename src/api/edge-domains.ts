import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import type { Actor } from '../core/activity.ts'
import type { ClaimRules } from '../core/claim-rules.ts'
import { connectUrl, createConnectLink } from '../core/connect-links.ts'
import type { Db } from '../core/db.ts'
import { findDomain, findOrderHistory, listDomains, registerDomain, removeDomain } from '../core/domains.ts'
import type { LinkSigner } from '../core/link-signer.ts'
import type { Project } from '../core/projects.ts'
import { type Hostname, parseClaimName } from '../hostname.ts'
import { actorOf } from './authentication.ts'
import { rawMember } from './bodies.ts'
import type { CheckDomain } from './domain-checks.ts'
import { detailsJson, domainJson } from './domain-json.ts'
import { sendDomainList, sendJson } from './domain-list.ts'
import { BODY_CODES, HOSTNAME_CODES, refusals, TOKEN_CODES } from './openapi.ts'
import { HostnameParams, ListQuery, RegistrationSchema } from './schemas.ts'

export type EdgeDomainsParts = {
  db: Db
  baseUrl: URL
  portalUrl: URL
  connectSigner: LinkSigner
  rules: ClaimRules
  checkDomain: CheckDomain
  /** The hostname's route was written here just now. */
  wrote(hostname: Hostname): void
}

const TOKEN = [{ token: [] }]

/** `/v1/edge/domains`: the project's domains. Every request has a caller by now. */
export function edgeDomains(instance: FastifyInstance, parts: EdgeDomainsParts): void {
  const app = instance.withTypeProvider<TypeBoxTypeProvider>()

  app.post('/v1/edge/domains', { schema: REGISTER }, async (request, reply) => {
    const wanted = { hostname: parseClaimName(request.body.hostname), metadataJson: rawMember(request, 'metadata') ?? '{}' }
    const domain = await registerDomain(parts.db, request.caller.project, wanted, parts.rules, actorOf(request.caller))
    parts.wrote(domain.hostname)
    return sendJson(reply, domainJson(domain))
  })

  app.get('/v1/edge/domains', { schema: LIST }, async (request, reply) => {
    const { project } = request.caller
    return sendDomainList(reply, {
      query: request.query,
      address: new URL('/v1/edge/domains', parts.baseUrl),
      read: (query) => listDomains(parts.db, project, query),
      write: async (domains) => domains.map((domain) => domainJson(domain)),
    })
  })

  app.get('/v1/edge/domains/:hostname', { schema: SHOW }, async (request, reply) => {
    const hostname = parseClaimName(request.params.hostname)
    return sendJson(reply, detailsJson(await findDomain(parts.db, request.caller.project, hostname, parts.rules)))
  })

  app.get('/v1/edge/domains/:hostname/certificate/history', { schema: HISTORY }, async (request, reply) => {
    const hostname = parseClaimName(request.params.hostname)
    return sendJson(reply, JSON.stringify(await findOrderHistory(parts.db, request.caller.project, hostname)))
  })

  app.post('/v1/edge/domains/:hostname/link', { schema: LINK }, async (request, reply) => {
    const hostname = parseClaimName(request.params.hostname)
    return sendJson(reply, await linkJson(parts, request.caller.project, hostname, actorOf(request.caller)))
  })

  app.delete('/v1/edge/domains/:hostname', { schema: REMOVE }, async (request, reply) => {
    const hostname = parseClaimName(request.params.hostname)
    await removeDomain(parts.db, request.caller.project, hostname, actorOf(request.caller))
    parts.wrote(hostname)
    return reply.code(204).send(null)
  })

  app.post('/v1/edge/domains/:hostname/check', { schema: CHECK }, async (request, reply) => {
    const hostname = parseClaimName(request.params.hostname)
    await parts.checkDomain(request.caller.project, hostname)
    return sendJson(reply, detailsJson(await findDomain(parts.db, request.caller.project, hostname, parts.rules)))
  })
}

/** Makes a link for the owner of the hostname, and writes it as it is sent. */
export async function linkJson(parts: EdgeDomainsParts, project: Project, hostname: Hostname, actor: Actor): Promise<string> {
  const { id, expiresAt } = await createConnectLink(parts.db, project, hostname, actor)
  return JSON.stringify({ url: connectUrl(parts.portalUrl, parts.connectSigner.tokenOf(id)), expiresAt })
}

const REGISTER = {
  operationId: 'registerDomain',
  tags: ['Domains'],
  summary: 'Register a hostname',
  description:
    'Claims the hostname for your project. Idempotent: registering it again answers with the existing record, with the new metadata merged into the old (top-level keys; the newer value wins). A hostname belongs to one project at a time. Where the operator has enabled it, a wildcard such as `*.customer.com` is one domain, which serves every name with one label in the place of the star; a name that you also register on its own has precedence.',
  security: TOKEN,
  body: RegistrationSchema,
  response: {
    200: Type.Ref('Domain', { description: 'The domain, new or as it was with its metadata merged.' }),
    ...refusals(
      ...BODY_CODES,
      'hostname_invalid',
      'hostname_reserved',
      'wildcards_not_enabled',
      'metadata_invalid',
      'plan_limit',
      'hostname_claimed',
      'project_not_found',
      ...TOKEN_CODES,
    ),
  },
}

const LIST = {
  operationId: 'listDomains',
  tags: ['Domains'],
  summary: 'List the domains',
  description:
    'Every domain of your project, oldest first (then by hostname). With `limit`, a page: while more follow, the Link header (RFC 8288) leads to the next one with `rel="next"`. A hostname that is removed and claimed again while the list is read may be in it twice, or with `order=newest` not at all.',
  security: TOKEN,
  querystring: ListQuery,
  response: {
    200: Type.Array(Type.Ref('Domain'), { description: 'The domains.' }),
    ...refusals('query_invalid', ...TOKEN_CODES),
  },
}

const SHOW = {
  operationId: 'showDomain',
  tags: ['Domains'],
  summary: 'Show a domain',
  description:
    'The domain with how its DNS and its certificate stand, and the records that the owner of the hostname adds (`dns.expected`).',
  security: TOKEN,
  params: HostnameParams,
  response: {
    200: Type.Ref('DomainDetails', { description: 'The domain.' }),
    ...refusals(...HOSTNAME_CODES, 'domain_not_found', ...TOKEN_CODES),
  },
}

const HISTORY = {
  operationId: 'listOrders',
  tags: ['Domains'],
  summary: "Show what became of a domain's certificate orders",
  description: "The last 20 attempts to obtain the certificate, newest first, each with the authority's problem document in full.",
  security: TOKEN,
  params: HostnameParams,
  response: {
    200: Type.Array(Type.Ref('OrderRecord'), { description: 'The attempts; none before the first.' }),
    ...refusals(...HOSTNAME_CODES, 'domain_not_found', ...TOKEN_CODES),
  },
}

const LINK = {
  operationId: 'linkDomain',
  tags: ['Domains'],
  summary: "Make a link for the hostname's owner",
  description:
    'A page that shows the record to add and how it stands, for your customer, who needs no account. It lives 30 days, and dies with the claim; the last twenty of a hostname work. No body is needed.',
  security: TOKEN,
  params: HostnameParams,
  response: {
    200: Type.Ref('ConnectLink', { description: 'The link.' }),
    ...refusals(...HOSTNAME_CODES, ...BODY_CODES, 'domain_not_found', ...TOKEN_CODES),
  },
}

const REMOVE = {
  operationId: 'removeDomain',
  tags: ['Domains'],
  summary: 'Remove a domain',
  description:
    'Gives the hostname up: within a second it is no longer served, and anybody may claim it. Its certificate is kept for 30 days, so that registering it again costs no new one.',
  security: TOKEN,
  params: HostnameParams,
  response: {
    204: Type.Null({ description: 'It is removed.' }),
    ...refusals(...HOSTNAME_CODES, ...BODY_CODES, 'domain_not_found', ...TOKEN_CODES),
  },
}

const CHECK = {
  operationId: 'checkDomain',
  tags: ['Domains'],
  summary: "Check a domain's DNS now",
  description:
    'Looks the hostname up and answers with what was found, instead of waiting for the background check. No body is needed. At most once in two seconds a hostname, ten at once of one project: beyond that, the last findings come back. While you look, the background check runs every two seconds.',
  security: TOKEN,
  params: HostnameParams,
  response: {
    200: Type.Ref('DomainDetails', { description: 'The domain, as it stands after the check.' }),
    ...refusals(...HOSTNAME_CODES, ...BODY_CODES, 'domain_not_found', ...TOKEN_CODES),
  },
}
