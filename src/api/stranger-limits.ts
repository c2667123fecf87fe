import type { FastifyRequest } from 'fastify'
import type { RateLimits } from '../core/rate-limits.ts'
import { ServiceError } from '../errors.ts'
import { addressKey } from '../lib/addresses.ts'

/** Counts, by the address that they come from, those who have shown nothing of who they are. Whoever has is never counted. */
export type StrangerLimits = {
  /** For an endpoint that is open to all. Throws `rate_limited`. */
  take(request: FastifyRequest): Promise<void>
  /** What a failure is answered with: itself, or `rate_limited` when too many credentials from there were refused. */
  instead(request: FastifyRequest, error: unknown): Promise<unknown>
}

/** By what calls from one place are counted. Who has left already has no address any more. */
export function callerKey(request: { ip: string | undefined }): string {
  return addressKey(request.ip ?? '')
}

const REFUSED = new Set(['token_invalid', 'session_required', 'connect_link_invalid'])

export function createStrangerLimits(limits: RateLimits): StrangerLimits {
  const take = (request: FastifyRequest) => limits.take('strangers', callerKey(request))
  return {
    take,
    async instead(request, error) {
      if (!(error instanceof ServiceError) || !REFUSED.has(error.code)) return error
      return take(request).then(
        () => error,
        (limited: unknown) => limited,
      )
    },
  }
}
