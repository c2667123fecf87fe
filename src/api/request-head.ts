import type { FastifyInstance } from 'fastify'
import { ServiceError } from '../errors.ts'
import { isAuthority } from '../lib/authority.ts'

/**
 * Lets through what Node would refuse in words of its own, or take the first of: `checkHeads` looks at it. Looks each second for requests
 * that do not become whole in time, for `leave` waits for them.
 */
export const HEADS_AS_SENT = { requireHostHeader: false, joinDuplicateHeaders: true, connectionsCheckingInterval: 1_000 }

/**
 * Refuses with `request_malformed` a request without one valid Host (RFC 9112 §3.2), which only HTTP/1.0 may leave out. An expectation that
 * nobody knows is ignored, as RFC 9110 §10.1.1 permits.
 */
export function checkHeads(app: FastifyInstance): void {
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))
  app.addHook('onRequest', ({ raw: { headers, httpVersion } }, _reply, done) => {
    const { host } = headers // two of them are a list by now, which is no host
    const isFine = host === undefined ? httpVersion === '1.0' : isAuthority(host)
    done(isFine ? undefined : new ServiceError('request_malformed', 'a request has one Host field, a host with or without a port'))
  })
}
