import { hash } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { Route } from '../core/routes.ts'
import { ServiceError } from '../errors.ts'
import { type ExactHostname, type Hostname, parseHostname } from '../hostname.ts'
import { refusals, TOKEN_CODES } from './openapi.ts'
import type { RouteFinder } from './route-finder.ts'
import { ResolveQuery } from './schemas.ts'

type Answer = { json: string; etag: string }

const CACHE_CONTROL = 'private, max-age=1'

/**
 * `GET /v1/edge/resolve`: vendors' applications ask on every request, so the answer's text is written once a route and sent as it is,
 * at once when the route is in memory.
 */
export function resolveHostname(app: FastifyInstance, finder: RouteFinder): void {
  const answers = new WeakMap<Route, Answer>()
  const send = (request: FastifyRequest, reply: FastifyReply, hostname: ExactHostname, route: Route | undefined) => {
    if (!route) throw new ServiceError('domain_not_found', `${hostname} is not a domain of this project`)
    const answer = route.hostname === hostname ? (answers.get(route) ?? remember(answers, route)) : answerFor(hostname, route)
    reply.header('etag', answer.etag).header('cache-control', CACHE_CONTROL).header('vary', 'Authorization')
    if (isMatch(request.headers['if-none-match'], answer.etag)) return reply.code(304).send()
    return reply.type('application/json; charset=utf-8').send(answer.json)
  }

  app.get('/v1/edge/resolve', { schema: RESOLVE }, (request, reply) => {
    const hostname = parseHostname((request.query as { hostname: string }).hostname)
    const route = finder.find(hostname, request.caller.project.id)
    return route instanceof Promise ? route.then((found) => send(request, reply, hostname, found)) : send(request, reply, hostname, route)
  })
}

function remember(answers: WeakMap<Route, Answer>, route: Route): Answer {
  const answer = answerFor(route.hostname, route)
  answers.set(route, answer)
  return answer
}

function answerFor(hostname: Hostname, { projectSlug, upstreamUrl, metadataJson }: Route): Answer {
  const json = `${JSON.stringify({ hostname, projectSlug, upstreamUrl }).slice(0, -1)},"metadata":${metadataJson}}`
  return { json, etag: `"${hash('sha256', json, 'base64url').slice(0, 22)}"` }
}

/** RFC 9110 §13.1.2, by weak comparison. */
function isMatch(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false
  if (ifNoneMatch.trim() === '*') return true
  return ifNoneMatch.split(',').some((candidate) => candidate.trim().replace(/^W\//, '') === etag)
}

const RESOLVE = {
  operationId: 'resolveHostname',
  tags: ['Resolve'],
  summary: 'Resolve a hostname',
  description:
    'The project, the upstream and your metadata for a hostname of your project, verified or not; a name under a wildcard that you hold stands for the same as the wildcard, unless you hold the name itself. Answered from memory; a change is seen within a second. Send the ETag back as If-None-Match and an unchanged answer costs no body.',
  security: [{ token: [] }],
  querystring: ResolveQuery,
  response: {
    200: Type.Ref('Resolved', { description: 'What the hostname stands for.' }),
    304: Type.Null({ description: 'It is as your ETag says.' }),
    ...refusals('query_invalid', 'hostname_invalid', 'domain_not_found', ...TOKEN_CODES),
  },
}
