import cookies from '@fastify/cookie'
import fastify, { type FastifyInstance, type onRequestHookHandler } from 'fastify'
import type { ClaimRules } from '../core/claim-rules.ts'
import type { Db } from '../core/db.ts'
import type { LinkSigner } from '../core/link-signer.ts'
import type { ProjectRules } from '../core/projects.ts'
import type { RateLimits } from '../core/rate-limits.ts'
import type { Hostname } from '../hostname.ts'
import type { Log } from '../log.ts'
import { wasSlow } from './admit.ts'
import { refuseOtherMethods } from './allowed-methods.ts'
import { auth } from './auth.ts'
import type { Authenticator, Caller } from './authentication.ts'
import { BODY_BYTES_MAX, readJsonBodies } from './bodies.ts'
import { connect } from './connect.ts'
import { docsPage } from './docs-page.ts'
import { type DomainCertificatesParts, domainCertificates } from './domain-certificates.ts'
import { createDomainChecks, type DomainProbe } from './domain-checks.ts'
import { edgeDomains } from './edge-domains.ts'
import { createEventStreams } from './event-stream.ts'
import { health } from './health.ts'
import { inbox } from './inbox.ts'
import { describeApi, openApiDocument } from './openapi.ts'
import type { AccessParts } from './portal-access.ts'
import { portalDomains } from './portal-domains.ts'
import { portalEvents } from './portal-events.ts'
import { type PortalFile, portalFiles } from './portal-files.ts'
import { portalMembers } from './portal-members.ts'
import { type PortalProjectsParts, portalProject, portalProjects } from './portal-projects.ts'
import { portalTokens } from './portal-tokens.ts'
import { createProblems } from './problems.ts'
import { createProjectNews } from './project-news.ts'
import { refuseConnection, refuseTunnels } from './refused-connections.ts'
import { checkHeads, HEADS_AS_SENT } from './request-head.ts'
import { createRequestIds, createTrust } from './request-id.ts'
import { resolveHostname } from './resolve.ts'
import type { RouteFinder } from './route-finder.ts'
import { createSessionCookie } from './session-cookie.ts'
import { createStrangerLimits } from './stranger-limits.ts'

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
  readImported: DomainCertificatesParts['readImported']
  probeIntervalS: number
  /** Addresses and CIDR blocks in front of the API whose X-Forwarded-For is believed, beside loopback. */
  trustedProxies: readonly string[]
  authenticate: Authenticator['authenticate']
  /** As `authenticate`, of a call that was authenticated already: it counts against no limit. */
  vouch: Authenticator['authenticate']
  /** A token was revoked here just now. */
  revoked(tokenId: string): void
  portalUrl: URL
  signer: LinkSigner
  connectSigner: LinkSigner
  signup: 'open' | 'invited'
  /** Whether mail is sent, kept for `/inbox`, or not possible. */
  mail: 'sent' | 'kept' | 'none'
  limits: RateLimits
  projectRules: ProjectRules
  checkUpstream: PortalProjectsParts['checkUpstream']
  previewErrorPage: PortalProjectsParts['previewErrorPage']
  finder: RouteFinder
  /** Sends the hint of the change feed for what was just written. */
  announce(key: string): void
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
    http: HEADS_AS_SENT,
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
  app.decorateRequest('begunAtMs', 0)
  app.addHook('onRequest', (request, reply, done) => {
    request.begunAtMs = performance.now()
    reply.header('x-request-id', request.id)
    done()
  })
  checkHeads(app)
  refuseTunnels(app, parts.baseUrl)
  problems.answerAll(app)
  readJsonBodies(app)
  app.setSerializerCompiler(() => JSON.stringify) // no field of an answer is dropped because a schema forgot it
  describeApi(app, parts)

  app.register(cookies)
  const strangers = createStrangerLimits(parts.limits)
  const news = createProjectNews(parts)
  app.addHook('onClose', () => news.close())
  const cookie = createSessionCookie(parts.portalUrl)
  const access: AccessParts = { ...parts, cookie, strangers }
  // One of each for all doors: what a project or an address may have at once, it may have in all.
  const checkDomain = createDomainChecks({ ...parts, announce: wrote })
  const streams = createEventStreams(app)

  app.register(async (open) => {
    health(open)
    const { baseUrl, portalUrl } = parts
    portalFiles(open, parts.portal, { httpsOnly: portalUrl.protocol === 'https:' })
    if (parts.mail === 'kept')
      inbox(open, { db: parts.db, hostnames: new Set([baseUrl.hostname, portalUrl.hostname, '127.0.0.1', '[::1]']) })
  })
  app.register(async (described) => {
    described.addHook('onRequest', strangers.take)
    openApiDocument(described)
    docsPage(described)
  })
  app.register(async (edge) => {
    edge.decorateRequest('caller')
    const identify: onRequestHookHandler = (request, _reply, done) => {
      const answer = (error: unknown) => done(error as Error)
      const refuse = (error: unknown) => void strangers.instead(request, error).then(answer, answer)
      try {
        const authenticate = request.caller === undefined ? parts.authenticate : parts.vouch
        const caller = authenticate(request.headers.authorization)
        if (caller instanceof Promise) {
          caller.then((found) => {
            request.caller = found
            done()
          }, refuse)
          return
        }
        request.caller = caller
      } catch (error) {
        return refuse(error)
      }
      done()
    }
    edge.addHook('onRequest', identify)
    edge.addHook('preHandler', (request, reply, done) => (wasSlow(request) ? identify.call(edge, request, reply, done) : done()))
    resolveHostname(edge, parts.finder)
    edgeDomains(edge, { ...parts, wrote, checkDomain })
    domainCertificates(edge, { ...parts, wrote })
  })
  app.register(async (sessions) => auth(sessions, { ...parts, ...access }))
  app.register(async (owner) => connect(owner, { ...parts, strangers, news, streams, wrote, checkDomain }))
  app.register(async (portal) => {
    portal.decorateRequest('session')
    portal.decorateRequest('access')
    portal.register(async (projects) => portalProjects(projects, { ...parts, ...access }))
    portal.register(async (project) => portalProject(project, { ...parts, ...access }))
    portal.register(async (members) => portalMembers(members, { ...parts, ...access }))
    portal.register(async (tokens) => portalTokens(tokens, { ...parts, ...access }))
    portal.register(async (events) => portalEvents(events, { ...access, news, streams }))
    portal.register(async (domains) => portalDomains(domains, { ...parts, ...access, wrote, checkDomain }))
  })
  refuseOtherMethods(app)
  return app
}
