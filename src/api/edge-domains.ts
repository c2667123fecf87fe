import { Readable } from 'node:stream'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { Type } from 'typebox'
import type { ClaimRules } from '../core/claim-rules.ts'
import type { Db } from '../core/db.ts'
import type { DomainPage } from '../core/domain-page.ts'
import { findDomain, findOrderHistory, listDomains, registerDomain, removeDomain } from '../core/domains.ts'
import { ServiceError } from '../errors.ts'
import { type Hostname, parseHostname } from '../hostname.ts'
import { rawMember } from './bodies.ts'
import { createDomainChecks, type DomainProbe } from './domain-checks.ts'
import { detailsJson, domainJson } from './domain-json.ts'
import { refusals, TOKEN_CODES } from './openapi.ts'
import { HostnameParams, ListQuery, RegistrationSchema } from './schemas.ts'

export type EdgeDomainsParts = {
  db: Db
  baseUrl: URL
  rules: ClaimRules
  probe: DomainProbe
  probeIntervalS: number
  /** The hostname's route was written here just now. */
  wrote(hostname: Hostname): void
  now(): Date
}

const READ_AT_ONCE_MAX = 1_000
const TOKEN = [{ token: [] }]
const HOSTNAME_CODES = ['hostname_invalid', 'wildcards_not_enabled', 'request_malformed'] as const
const BODY_CODES = ['body_invalid', 'unsupported_media_type', 'payload_too_large'] as const

/** `/v1/edge/domains`: the project's domains. Every request has a caller by now. */
export function edgeDomains(instance: FastifyInstance, parts: EdgeDomainsParts): void {
  const app = instance.withTypeProvider<TypeBoxTypeProvider>()
  const checkDomain = createDomainChecks({ ...parts, announce: parts.wrote })

  app.post('/v1/edge/domains', { schema: REGISTER }, async (request, reply) => {
    const wanted = { hostname: parseHostname(request.body.hostname), metadataJson: rawMember(request, 'metadata') ?? '{}' }
    const domain = await registerDomain(parts.db, request.caller.project, wanted, parts.rules)
    parts.wrote(domain.hostname)
    return sendJson(reply, domainJson(domain))
  })

  app.get('/v1/edge/domains', { schema: LIST }, async (request, reply) => {
    const { limit, verified, ...rest } = request.query
    const query = {
      ...rest,
      ...(limit !== undefined && { limit: Number(limit) }),
      verified: verified === undefined ? undefined : verified === 'true',
    }
    const read = (cursor?: string) => listDomains(parts.db, request.caller.project, { limit: READ_AT_ONCE_MAX, ...query, cursor })
    const page = await read(query.cursor)
    if (limit === undefined && page.nextCursor) return sendJson(reply, Readable.from(everyDomain(page, read)))
    if (page.nextCursor) reply.header('link', nextPage(parts.baseUrl, request.query, page.nextCursor))
    return sendJson(reply, `[${page.domains.map(domainJson).join(',')}]`)
  })

  app.get('/v1/edge/domains/:hostname', { schema: SHOW }, async (request, reply) => {
    const hostname = parseHostname(request.params.hostname)
    return sendJson(
      reply,
      detailsJson(await findDomain(parts.db, request.caller.project, hostname, parts.rules.edgeHost, parts.rules.dnsZone)),
    )
  })

  app.get('/v1/edge/domains/:hostname/certificate/history', { schema: HISTORY }, async (request, reply) => {
    const hostname = parseHostname(request.params.hostname)
    return sendJson(reply, JSON.stringify(await findOrderHistory(parts.db, request.caller.project, hostname)))
  })

  app.delete('/v1/edge/domains/:hostname', { schema: REMOVE }, async (request, reply) => {
    const hostname = parseHostname(request.params.hostname)
    await removeDomain(parts.db, request.caller.project, hostname)
    parts.wrote(hostname)
    return reply.code(204).send(null)
  })

  app.post('/v1/edge/domains/:hostname/check', { schema: CHECK }, async (request, reply) => {
    requireNoFields(request.body)
    const hostname = parseHostname(request.params.hostname)
    await checkDomain(request.caller.project, hostname)
    return sendJson(
      reply,
      detailsJson(await findDomain(parts.db, request.caller.project, hostname, parts.rules.edgeHost, parts.rules.dnsZone)),
    )
  })
}

function requireNoFields(body: unknown): void {
  if (body === undefined || (isObject(body) && Object.keys(body).length === 0)) return
  throw new ServiceError('body_invalid', 'this endpoint takes no fields: leave the body out, or send {}')
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The whole list, read and written in pieces: a project with 100,000 domains holds up nobody else. A domain removed meanwhile may be in it. */
async function* everyDomain(first: DomainPage, read: (cursor: string) => Promise<DomainPage>): AsyncIterable<string> {
  yield `[${first.domains.map(domainJson).join(',')}`
  for (let cursor = first.nextCursor; cursor; ) {
    const page = await read(cursor)
    yield page.domains.map((domain) => `,${domainJson(domain)}`).join('')
    cursor = page.nextCursor
  }
  yield ']'
}

function sendJson(reply: FastifyReply, json: string | Readable): FastifyReply {
  return reply.header('cache-control', 'no-store').type('application/json; charset=utf-8').send(json)
}

function nextPage(baseUrl: URL, query: object, cursor: string): string {
  const next = new URL('/v1/edge/domains', baseUrl)
  for (const [name, value] of Object.entries({ ...query, cursor })) next.searchParams.set(name, value)
  return `<${next.href}>; rel="next"`
}

const REGISTER = {
  operationId: 'registerDomain',
  tags: ['Domains'],
  summary: 'Register a hostname',
  description:
    'Claims the hostname for your project. Idempotent: registering it again answers with the existing record, with the new metadata merged into the old (top-level keys; the newer value wins). A hostname belongs to one project at a time.',
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
      ...TOKEN_CODES,
    ),
  },
}

const LIST = {
  operationId: 'listDomains',
  tags: ['Domains'],
  summary: 'List the domains',
  description:
    'Every domain of your project, oldest first (then by hostname). With `limit`, a page: while more follow, the Link header (RFC 8288) leads to the next one with `rel="next"`.',
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
    'Looks the hostname up and answers with what was found, instead of waiting for the background check. No body is needed. At most once in two seconds a hostname: sooner, the last findings come back. While you look, the background check runs every two seconds.',
  security: TOKEN,
  params: HostnameParams,
  response: {
    200: Type.Ref('DomainDetails', { description: 'The domain, as it stands after the check.' }),
    ...refusals(...HOSTNAME_CODES, ...BODY_CODES, 'domain_not_found', ...TOKEN_CODES),
  },
}
