import fastify, { type FastifyInstance } from 'fastify'
import { ServiceError } from '../errors.ts'
import { isWildcard, readHostname } from '../hostname.ts'
import type { Log } from '../log.ts'
import { createProblems } from './problems.ts'
import { refuseConnection } from './refused-connections.ts'
import { checkHeads, HEADS_AS_SENT } from './request-head.ts'
import type { RouteFinder } from './route-finder.ts'

export type InternalAppParts = {
  log: Log
  baseUrl: URL
  finder: Pick<RouteFinder, 'findInCopy'>
  /** Those that `readiness` knows. */
  roles: readonly string[]
  /** Whether every process of this tree serves, or of one role any does, and what to show of it. */
  readiness(role?: string): Promise<{ ready: boolean; details: object }>
  /** The metrics of this tree, in Prometheus' text format; undefined while the supervisor does not answer. */
  metrics(): Promise<string | undefined>
}

const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/** What the operator's own programs ask on the internal address; no token, no OpenAPI, free to change. */
export function createInternalApp(parts: InternalAppParts): FastifyInstance {
  const problems = createProblems(parts)
  const app = fastify({
    logger: false,
    return503OnClosing: false,
    http: HEADS_AS_SENT,
    clientErrorHandler: refuseConnection,
    frameworkErrors: problems.answerFrameworkError,
  })
  checkHeads(app)
  problems.answerAll(app)

  // The contract of Caddy's `on_demand_tls { ask … }`: 200 permits a certificate for the name, anything else does not.
  app.get('/internal/certificate-check', async (request, reply) => {
    const { domain } = request.query as { domain?: string | string[] }
    if (Array.isArray(domain)) throw new ServiceError('query_invalid', 'domain is there more than once: ask about one hostname at a time')
    const reading = readHostname(domain ?? '')
    if (reading.kind === 'invalid') throw new ServiceError('hostname_invalid', reading.reason)
    const route = await parts.finder.findInCopy(reading.hostname)
    // A wildcard that may not be served yet shows no tie to the name.
    if (!route || (isWildcard(route.hostname) && route.proofNeeded))
      throw new ServiceError('domain_not_found', `${reading.hostname} is not registered`)
    return reply.send({ domain: reading.hostname })
  })

  app.get('/ready', async (request, reply) => {
    const { role } = request.query as { role?: string | string[] }
    if (Array.isArray(role)) throw new ServiceError('query_invalid', 'role is there more than once: ask about one at a time')
    if (role !== undefined && !parts.roles.includes(role))
      throw new ServiceError('query_invalid', `this machine has no role "${role}": role is one of ${parts.roles.join(', ')}`)
    const { ready, details } = await parts.readiness(role)
    return reply
      .code(ready ? 200 : 503)
      .header('cache-control', 'no-store')
      .send({ ready, ...details })
  })

  app.get('/metrics', async (_request, reply) => {
    const metrics = await parts.metrics()
    // An empty 200 is a good scrape to Prometheus: all series end, and `up` is 1 all the same.
    if (metrics === undefined) return reply.code(503).header('cache-control', 'no-store').send('the supervisor does not answer\n')
    return reply.type(METRICS_TYPE).send(metrics)
  })
  return app
}
