import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

declare module 'fastify' {
  interface FastifyRequest {
    /** When its head had been read, on the clock of `performance.now()`. */
    begunAtMs: number
  }
}

const SLOW_BODY_MS = 1_000

/**
 * Lets in whom `identify` accepts, before anything is read of the body; and asks it again behind a body that took its time, since who began to send it
 * may have been signed out, removed or revoked meanwhile.
 */
export function admit(app: FastifyInstance, identify: (request: FastifyRequest, reply: FastifyReply) => Promise<void>): void {
  app.addHook('onRequest', identify)
  app.addHook('preHandler', async (request, reply) => {
    if (wasSlow(request)) await identify(request, reply)
  })
}

/** Has the body taken so long that who sent it may be allowed something else by now? */
export function wasSlow({ begunAtMs }: FastifyRequest): boolean {
  return performance.now() - begunAtMs > SLOW_BODY_MS
}
