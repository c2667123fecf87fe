import { type AddressInfo, Server } from 'node:net'
import type { FastifyInstance } from 'fastify'

/** What a server is told to listen on: a socket that the supervisor bound, or an address of its own. */
export type Listen = { fd: number } | { host: string; port: number }

const KEPT_GRACE_MS = 1_000
const IDLE_SWEEP_MS = 100

/** Starts to serve; resolves with the port. `app.close()` stops it, `leave` without turning anybody away. */
export async function listen(app: FastifyInstance, on: Listen): Promise<number> {
  await app.ready()
  await new Promise<void>((resolve, reject) => {
    app.server.once('error', reject)
    app.server.listen(on, () => {
      app.server.off('error', reject)
      resolve()
    })
  })
  return (app.server.address() as AddressInfo | null)?.port ?? 0
}

/**
 * Ends a server so that no request is lost: takes no new connection, answers those that come on kept ones with `Connection: close`
 * (RFC 9112 §9.6), and closes what has been idle for a second. Resolves when the last answer is out.
 */
export async function leave(app: FastifyInstance): Promise<void> {
  const { server } = app
  const closed = new Promise<void>((resolve) => server.once('close', resolve))
  server.prependListener('request', (_request, response) => {
    response.shouldKeepAlive = false
  })
  Server.prototype.close.call(server) // HTTP's own would cut idle connections at once, on which a request may be on its way
  let sweep: NodeJS.Timeout | undefined
  const grace = setTimeout(() => {
    sweep = setInterval(() => server.closeIdleConnections(), IDLE_SWEEP_MS)
  }, KEPT_GRACE_MS)
  await closed
  clearTimeout(grace)
  clearInterval(sweep)
  await app.close()
}
