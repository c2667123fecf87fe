import fastify, { type FastifyInstance } from 'fastify'
import type { ClaimRules } from '../core/claim-rules.ts'
import type { Db } from '../core/db.ts'
import type { Hostname } from '../hostname.ts'
import type { Log } from '../log.ts'
import { refuseOtherMethods } from './allowed-methods.ts'
import type { Authenticator, Caller } from './authentication.ts'
import { BODY_BYTES_MAX, readJsonBodies } from './bodies.ts'
import { docsPage } from './docs-page.ts'
import type { DomainProbe } from './domain-checks.ts'
import { edgeDomains } from './edge-domains.ts'
import { health } from './health.ts'
import { describeApi, openApiDocument } from './openapi.ts'
import { type PortalFile, portalFiles } from './portal-files.ts'
import { createProblems, refuseConnection } from './problems.ts'
import { createRequestIds, createTrust } from './request-id.ts'
import { resolveHostname } from './resolve.ts'
import type { RouteFinder } from './route-finder.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Set for every route under /v1/edge. */
    caller: Caller
  }
}

export type AppParts = {
  db: Db
  log: Log
  baseUrl: URL
  version: string
  /** The built portal; empty where it is not served. */
  portal: readonly PortalFile[]
  rules: ClaimRules
  probe: DomainProbe
  probeIntervalS: number
  /** Addresses and CIDR blocks in front of the API whose X-Forwarded-For is believed, beside loopback. */
  trustedProxies: readonly string[]
  authenticate: Authenticator['authenticate']
  finder: RouteFinder
  /** Sends the hint of the change feed for what was just written. */
  announce(hostname: Hostname): void
  now(): Date
}

const REQUEST_TIMEOUT_MS = 30_000
const PATH_SEGMENT_MAX = 8_000 // a long hostname is refused with its own reason, not by the router

/** The public API. Listens to nothing yet: see listen.ts. */
export function createApp(parts: AppParts): FastifyInstance {
  const trust = createTrust(parts.trustedProxies)
  const problems = createProblems(parts)
  const app = fastify({
    logger: false, // failures are logged where they are answered
    trustProxy: (address) => trust.has(address),
    genReqId: createRequestIds(trust),
    routerOptions: { maxParamLength: PATH_SEGMENT_MAX },
    bodyLimit: BODY_BYTES_MAX,
    requestTimeout: REQUEST_TIMEOUT_MS,
    return503OnClosing: false, // requests on kept connections are answered until the drain ends
    ajv: { customOptions: { coerceTypes: false, removeAdditional: false, useDefaults: false } },
    clientErrorHandler: refuseConnection,
    frameworkErrors: problems.answerFrameworkError,
  })
  const wrote = (hostname: Hostname) => {
    parts.finder.wrote(hostname)
    parts.announce(hostname)
  }

  // In the order in which a request meets them.
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id)
    done()
  })
  problems.answerAll(app)
  readJsonBodies(app)
  app.setSerializerCompiler(() => JSON.stringify) // no field of an answer is dropped because a schema forgot it
  describeApi(app, parts)

  app.register(async (open) => {
    health(open)
    openApiDocument(open)
    docsPage(open)
    portalFiles(open, parts.portal)
  })
  app.register(async (edge) => {
    edge.decorateRequest('caller')
    edge.addHook('onRequest', (request, _reply, done) => {
      const caller = parts.authenticate(request.headers.authorization)
      if (!(caller instanceof Promise)) {
        request.caller = caller
        return done()
      }
      caller.then((found) => {
        request.caller = found
        done()
      }, done)
    })
    resolveHostname(edge, parts.finder)
    edgeDomains(edge, { ...parts, wrote })
  })
  refuseOtherMethods(app)
  return app
}
