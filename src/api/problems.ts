import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type ErrorCode, ServiceError } from '../errors.ts'
import { quoted } from '../lib/quoted.ts'
import type { Log } from '../log.ts'
import { limitSentence } from './page-limits.ts'

/** What each code means in HTTP. `title` says it in general (the answer's `detail` says it for the case), `remedy` what the caller can do. */
export const PROBLEMS: Readonly<Record<ErrorCode, { status: number; title: string; remedy: string }>> = {
  request_malformed: { status: 400, title: 'The request is malformed', remedy: 'Check the URL encoding and the headers.' },
  body_invalid: {
    status: 400,
    title: 'The body is not what this endpoint takes',
    remedy: 'Send one JSON object with the documented fields only.',
  },
  query_invalid: { status: 400, title: 'A query parameter is not valid', remedy: 'The detail names the parameter.' },
  hostname_invalid: {
    status: 400,
    title: 'The hostname is not valid',
    remedy: 'Send a fully-qualified domain name such as shop.customer.com.',
  },
  hostname_reserved: { status: 400, title: 'The hostname is reserved', remedy: 'It belongs to the service itself; choose another.' },
  wildcards_not_enabled: { status: 400, title: 'Wildcard hostnames are not enabled', remedy: 'Claim each hostname on its own.' },
  metadata_invalid: {
    status: 400,
    title: 'The metadata is not valid',
    remedy: 'Send a JSON object of at most 16 KB; large integers as strings.',
  },
  certificate_invalid: {
    status: 400,
    title: 'The certificate cannot be served',
    remedy: 'Correct every fault that the detail names, and send chain and key again.',
  },
  token_invalid: {
    status: 401,
    title: 'The token is not valid',
    remedy: 'Send Authorization: Bearer svc_… with a token that is not revoked.',
  },
  plan_limit: {
    status: 402,
    title: 'The plan has no room for another domain',
    remedy: 'Remove a domain or change the plan; what is registered stays.',
  },
  domain_not_found: {
    status: 404,
    title: 'The hostname is not a domain of this project',
    remedy: 'Register it, or use the token of its project.',
  },
  route_not_found: { status: 404, title: 'There is nothing at this address', remedy: 'Compare the path with this reference.' },
  token_not_found: { status: 404, title: 'There is no such token', remedy: 'List the tokens of the project.' },
  project_not_found: { status: 404, title: 'There is no such project', remedy: 'Check the slug.' },
  method_not_allowed: { status: 405, title: 'The method is not allowed here', remedy: 'The Allow header lists those that are.' },
  hostname_claimed: {
    status: 409,
    title: 'The hostname is already claimed',
    remedy: 'Another project holds it; it must be removed there first.',
  },
  slug_taken: { status: 409, title: 'The slug is taken', remedy: 'Choose another.' },
  payload_too_large: { status: 413, title: 'The body is too large', remedy: 'A body has at most 1 MB.' },
  unsupported_media_type: { status: 415, title: 'The body is not JSON', remedy: 'Send Content-Type: application/json.' },
  session_required: { status: 401, title: 'There is no session', remedy: 'Sign in: ask for a link and open it.' },
  magic_link_invalid: {
    status: 401,
    title: 'The sign-in link is not valid',
    remedy: 'Ask for a new one: a link works once, for 15 minutes.',
  },
  connect_link_invalid: {
    status: 401,
    title: 'The connect link is not valid',
    remedy:
      'Ask whoever sent it for a new one: a link lives 30 days, as long as the hostname is claimed and no twenty newer ones were made.',
  },
  cross_site: {
    status: 403,
    title: 'The request comes from another site',
    remedy: 'Call this endpoint from the portal, or without an Origin.',
  },
  role_insufficient: {
    status: 403,
    title: 'Your role in the project does not allow this',
    remedy: 'Ask an owner or an admin of the project.',
  },
  member_not_found: { status: 404, title: 'There is no such member', remedy: 'List the members of the project.' },
  last_owner: { status: 409, title: 'A project needs an owner', remedy: 'Make somebody else an owner first, who then signs in.' },
  changed_meanwhile: {
    status: 412,
    title: 'It was changed since you read it',
    remedy: 'Read it again, and send your change with its new ETag as If-Match.',
  },
  project_not_empty: { status: 409, title: 'The project still holds domains', remedy: 'Remove its domains first.' },
  error_page_invalid: {
    status: 400,
    title: 'The error page is not valid',
    remedy: 'An error page is HTML of at most 32 KB; null takes it away.',
  },
  cname_target_invalid: {
    status: 400,
    title: 'The CNAME target does not lead to the edge host',
    remedy: 'Add the record that the detail names, then save again; null stands for the edge host itself.',
  },
  brand_invalid: { status: 400, title: 'The brand is not valid', remedy: 'A color looks like #1a56c4, a logo is an https URL.' },
  mail_unavailable: {
    status: 503,
    title: 'This installation cannot send mail',
    remedy: 'Its operator sets NAMESAKE_SMTP_URL and NAMESAKE_MAIL_FROM.',
  },
  rate_limited: {
    status: 429,
    title: 'Too many requests',
    remedy: 'Wait as long as the Retry-After header says; without one the detail says what makes room.',
  },
  plan_unknown: { status: 400, title: 'There is no such plan', remedy: 'Choose one that the service offers.' },
  email_invalid: { status: 400, title: 'The e-mail address is not valid', remedy: 'An address looks like ada@vendor.com.' },
  name_invalid: {
    status: 400,
    title: 'The name is not valid',
    remedy: 'A name has 1 to 80 characters, all of which can be seen, and no link.',
  },
  slug_invalid: { status: 400, title: 'The slug is not valid', remedy: 'Use letters, digits and single hyphens.' },
  upstream_invalid: {
    status: 400,
    title: 'The upstream URL is not valid',
    remedy: 'Send an http or https origin without a path, and a protocol that it allows: h2 with https, h2c with http.',
  },
  upstream_forbidden: { status: 400, title: 'The upstream is not allowed', remedy: 'Use an address on the public Internet.' },
  internal: { status: 500, title: 'The service failed', remedy: 'Try again; if it stays, report the requestId.' },
  database_unavailable: { status: 503, title: 'The service cannot reach its database', remedy: 'Try again after the Retry-After header.' },
}

const RETRY_AFTER_S = 2

/** Where each code is explained: `type` of a problem document leads here. */
export function problemType(baseUrl: URL, code: ErrorCode): string {
  return new URL(`/v1/docs#${code}`, baseUrl).href
}

/** RFC 9457. */
export function problemDocument(baseUrl: URL, { code, message }: ServiceError, requestId: string): Buffer {
  const { status, title } = PROBLEMS[code]
  return Buffer.from(JSON.stringify({ type: problemType(baseUrl, code), title, status, code, detail: message, requestId }))
}

export type Problems = {
  /** Makes every failure of the app's routes a problem document, and so every path without a route. */
  answerAll(app: FastifyInstance): void
  /** The same for what fails before there is a route. */
  answerFrameworkError(error: FastifyError, request: FastifyRequest, reply: FastifyReply): void
}

/** Failures as RFC 9457 problem documents. What is not a ServiceError is logged, and tells the caller nothing. */
export function createProblems(parts: { baseUrl: URL; log: Log }): Problems {
  const answer = (error: FastifyError, request: FastifyRequest, reply: FastifyReply) => {
    const known = toServiceError(error, request)
    if (!known && !request.raw.destroyed) {
      parts.log.error({ err: error, requestId: request.id, method: request.method, url: request.url }, 'request failed')
    }
    return sendProblem(request, reply, parts.baseUrl, known ?? new ServiceError('internal', 'something went wrong on our side'))
  }
  return {
    answerAll(app) {
      app.setErrorHandler(answer)
      app.setNotFoundHandler((request) => {
        throw new ServiceError('route_not_found', `there is nothing at ${request.method} ${request.url.split('?')[0]!.slice(0, 200)}`)
      })
    },
    answerFrameworkError(error, request, reply) {
      reply.header('x-request-id', request.id)
      answer(error, request, reply)
    },
  }
}

function sendProblem(request: FastifyRequest, reply: FastifyReply, baseUrl: URL, error: ServiceError): FastifyReply {
  const { status } = PROBLEMS[error.code]
  reply.code(status).header('cache-control', 'no-store').header('content-type', 'application/problem+json')
  if (status === 401) reply.header('www-authenticate', challenges(request))
  // Mail is away until somebody sets it up: waiting does not help.
  const mends = status === 503 && error.code !== 'mail_unavailable'
  if (mends || error.retryAfterS !== undefined) reply.header('retry-after', error.retryAfterS ?? RETRY_AFTER_S)
  return reply.send(problemDocument(baseUrl, error, request.id)) // as bytes: to a string Fastify adds a charset, which this type does not have
}

/** How what the API's description calls a security scheme is asked for. None but Bearer is registered. */
const SCHEMES: Readonly<Record<string, string>> = { token: 'Bearer', session: 'Cookie', connect: 'Connect' }

/**
 * What the endpoint takes, by its description (RFC 9110 §11.6.1); where that is nothing, it is the link in the body that was refused. Who sent no
 * token is told the scheme only (RFC 6750 §3.1).
 */
function challenges({ routeOptions, headers }: FastifyRequest): string {
  const described = (routeOptions.schema?.security ?? []).flatMap((needed) => Object.keys(needed)).map((name) => SCHEMES[name]!)
  const taken = described.length > 0 ? described : ['Link']
  const wasInvalid = (scheme: string) => scheme === 'Bearer' && headers.authorization !== undefined
  return taken.map((scheme) => `${scheme} realm="namesake"${wasInvalid(scheme) ? ', error="invalid_token"' : ''}`).join(', ')
}

function toServiceError(error: FastifyError, request: FastifyRequest): ServiceError | undefined {
  if (error instanceof ServiceError) return error
  if (error.validation) return fromValidation(error, request.query as Record<string, unknown>)
  return FRAMEWORK[error.code]?.()
}

const FRAMEWORK: Record<string, () => ServiceError> = {
  // PostgreSQL's character_not_in_repertoire, of a text that was to be stored or looked for.
  22021: () => new ServiceError('request_malformed', 'a text has the character U+0000, which nothing here may contain'),
  FST_ERR_CTP_BODY_TOO_LARGE: () => new ServiceError('payload_too_large', 'a body has at most 1 MB'),
  FST_ERR_CTP_INVALID_MEDIA_TYPE: () =>
    new ServiceError('unsupported_media_type', 'send the body as JSON, with Content-Type: application/json'),
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: () => new ServiceError('request_malformed', 'the body is not as long as Content-Length says'),
  FST_ERR_BAD_URL: () => new ServiceError('request_malformed', 'the path is not properly percent-encoded'),
  FST_ERR_MAX_PARAM_LENGTH: () =>
    new ServiceError('request_malformed', 'a part of the path is longer than anything that could stand there'),
}

function fromValidation(error: FastifyError, query: Record<string, unknown>): ServiceError {
  const [first] = error.validation!
  const name = first!.instancePath.slice(1)
  if (error.validationContext === 'querystring' && Array.isArray(query[name]))
    return new ServiceError('query_invalid', `"${name}" is given more than once`)
  if (error.validationContext !== 'body') return new ServiceError('query_invalid', sentenceOf(first, 'the query'))
  if (first?.instancePath === '/hostname')
    return new ServiceError('hostname_invalid', 'the hostname is a string such as "shop.customer.com"')
  if (first?.instancePath === '/metadata') return new ServiceError('metadata_invalid', 'metadata is a JSON object')
  return new ServiceError('body_invalid', sentenceOf(first, 'the body'))
}

function sentenceOf(failure: NonNullable<FastifyError['validation']>[number] | undefined, where: string): string {
  const unknown = failure?.params.additionalProperty
  if (typeof unknown === 'string') return `${where} has an unknown field ${quoted(unknown)}`
  const missing = failure?.params.missingProperty
  if (typeof missing === 'string') return `${where} needs the field "${missing}"`
  if (failure?.instancePath === '' && failure.keyword === 'type') return `${where} is a JSON object`
  if (failure?.instancePath === '/limit' && failure.keyword === 'pattern') return limitSentence(failure.params.pattern)
  const allowed = failure?.params.allowedValues
  if (Array.isArray(allowed)) return `"${failure!.instancePath.slice(1)}" is one of ${allowed.join(', ')}`
  if (failure?.instancePath) return `"${failure.instancePath.slice(1)}" ${failure.message}`
  return `${where} ${failure?.message ?? 'is not valid'}`
}
