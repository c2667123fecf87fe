import type { FastifyRequest } from 'fastify'
import { ServiceError } from '../errors.ts'

/**
 * Refuses what another site's page sends with the user's cookie: an `Origin` that is neither the portal's nor the request's own host, or
 * `Sec-Fetch-Site: cross-site`. An absent `Origin` passes. Throws `cross_site`.
 */
export function refuseCrossSite(request: FastifyRequest, portalUrl: URL): void {
  const { origin, host } = request.headers
  const isForeign = origin !== undefined && origin !== portalUrl.origin && URL.parse(origin)?.host !== host?.toLowerCase()
  if (!isForeign && request.headers['sec-fetch-site'] !== 'cross-site') return
  throw new ServiceError('cross_site', 'this request comes from a page of another site: only the portal may send it')
}
