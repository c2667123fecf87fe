import swagger, { type SwaggerTransformObject } from '@fastify/swagger'
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import type { ErrorCode } from '../errors.ts'
import { requiresFields } from './bodies.ts'
import { NAMED_PORTAL_SCHEMAS } from './portal-schemas.ts'
import { PROBLEMS } from './problems.ts'
import { NAMED_SCHEMAS } from './schemas.ts'

const INTRODUCTION = `Namesake serves your customers' own hostnames from your application: register a hostname, let its owner add one CNAME record, and it answers over HTTPS.

All bodies are JSON in UTF-8. Every error is an RFC 9457 problem document whose \`code\` is stable. Unknown fields in a body are refused; new fields may appear in answers only in the details of a domain. Every answer carries an \`X-Request-Id\`.`

/** Collects every route that is registered after it into one OpenAPI 3.1 document, from the schemas that validate. */
export function describeApi(app: FastifyInstance, parts: { baseUrl: URL; version: string }): void {
  for (const schema of [...NAMED_SCHEMAS, ...NAMED_PORTAL_SCHEMAS]) app.addSchema(schema)
  app.register(swagger, {
    openapi: {
      openapi: '3.1.1',
      info: { title: 'Namesake', version: parts.version, description: INTRODUCTION, license: { name: 'MIT', identifier: 'MIT' } },
      servers: [{ url: parts.baseUrl.origin }],
      tags: [
        { name: 'Domains', description: 'Claim hostnames for your project, see how they stand, give them up.' },
        { name: 'Resolve', description: 'What a hostname stands for: made to be asked on every request of your application.' },
        { name: 'Sign-in', description: 'Sessions of people, by a link in a mail. Requests from pages of other sites are refused.' },
        { name: 'Projects', description: 'What the portal does with projects, members and tokens, by session.' },
        {
          name: 'Portal domains',
          description: "The domains of a project, as the portal sees them: by session, or by the project's own token.",
        },
        { name: 'Connect', description: 'For the owner of one hostname, by a link that a vendor made: no account, any origin.' },
        { name: 'Service', description: 'The service itself.' },
      ],
      components: {
        securitySchemes: {
          token: {
            type: 'http',
            scheme: 'bearer',
            bearerFormat: 'svc_ and 64 hexadecimal digits',
            description: 'A token of your project.',
          },
          connect: {
            type: 'http',
            scheme: 'connect',
            description: 'What stands behind the # of a connect link: `Authorization: Connect …`.',
          },
          session: {
            type: 'apiKey',
            in: 'cookie',
            name: '__Host-namesake_session',
            description: 'The cookie of a session; without the prefix `__Host-` where the portal is on plain HTTP.',
          },
        },
      },
    },
    transformObject: sayWhichBodiesAreNeeded,
    refResolver: { buildLocalReference: (schema, _base, _fragment, index) => (schema.$id as string | undefined) ?? `schema-${index}` },
  })
}

type Operation = { requestBody?: { required?: boolean; content: Record<string, { schema: object }> } }

/** @fastify/swagger says of every body that it is required. */
const sayWhichBodiesAreNeeded: SwaggerTransformObject = (parts) => {
  if (!('openapiObject' in parts)) return parts.swaggerObject
  const operations = Object.values(parts.openapiObject.paths ?? {}).flatMap((path) => Object.values(path as Record<string, Operation>))
  for (const { requestBody } of operations) {
    if (requestBody) requestBody.required = requiresFields(requestBody.content['application/json']!.schema)
  }
  return parts.openapiObject
}

/** `GET /v1/openapi.json`, written once all routes stand. */
export function openApiDocument(app: FastifyInstance): void {
  let text: string | undefined
  const schema = {
    operationId: 'getOpenApiDocument',
    tags: ['Service'],
    summary: 'This description, for programs',
    description: 'OpenAPI 3.1: feed it to a generator of clients, or to a validator.',
    security: [],
    response: { 200: Type.Object({}, { additionalProperties: true, description: 'The document.' }), ...refusals('rate_limited') },
  }
  app.get('/v1/openapi.json', { schema }, (_request, reply) => {
    text ??= JSON.stringify(app.swagger())
    return reply.header('cache-control', 'public, max-age=300').type('application/json; charset=utf-8').send(text)
  })
}

/** The `response` entries for these codes, and for those that any endpoint may answer with. */
export function refusals(...codes: ErrorCode[]): Record<number, object> {
  const byStatus = Map.groupBy([...codes, 'internal' as const], (code) => PROBLEMS[code].status)
  return Object.fromEntries(Array.from(byStatus, ([status, group]) => [status, refusal(group)]))
}

/** What a token brings with it: it may be refused, too often from one address, and the database that knows it may be away. */
export const TOKEN_CODES = ['token_invalid', 'rate_limited', 'database_unavailable'] as const

/** What a session brings with it. */
export const SESSION_CODES = ['session_required', 'cross_site', 'rate_limited', 'database_unavailable'] as const

/** What can be wrong with a hostname in a path. */
export const HOSTNAME_CODES = ['hostname_invalid', 'wildcards_not_enabled', 'request_malformed'] as const

/** What can be wrong with any body. */
export const BODY_CODES = ['body_invalid', 'unsupported_media_type', 'payload_too_large'] as const

function refusal(codes: readonly ErrorCode[]): object {
  const description = codes.map((code) => `\`${code}\`: ${PROBLEMS[code].title}.`).join(' ')
  return { description, content: { 'application/problem+json': { schema: Type.Ref('Problem') } } }
}
