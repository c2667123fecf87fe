import { type AddressInfo, Server } from 'node:net'
import type { FastifyInstance } from 'fastify'

/** What a server is told to listen on: a socket that the supervisor bound, or an address of its own. */
export type Listen = { fd: number } | { host: string; port: number }

/** Told by a server as it begins to leave: what has no end of its own ends now. */
export const LEAVING = 'leaving'

const KEPT_GRACE_MS = 1_000
const IDLE_SWEEP_MS = 100
const UNHEARD_MS_MAX = 10_000
const LEAVE_MS_MAX = 30_000

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
 * Ends a server so that no request is lost: takes no new connection, ends what streams, answers the requests that come on kept connections
 * with `Connection: close` (RFC 9112 §9.6), and closes what has been idle for a second. A request that is not whole ten seconds after its
 * beginning is refused, and one that is not answered after thirty is cut off. Resolves when the last answer is out.
 */
export async function leave(app: FastifyInstance): Promise<void> {
  const { server } = app
  const closed = new Promise<void>((resolve) => server.once('close', resolve))
  server.prependListener('request', (_request, response) => {
    response.shouldKeepAlive = false
  })
  Server.prototype.close.call(server) // HTTP's own would cut idle connections at once, on which a request may be on its way
  server.emit(LEAVING)
  server.headersTimeout = UNHEARD_MS_MAX
  server.requestTimeout = UNHEARD_MS_MAX
  let sweep: NodeJS.Timeout | undefined
  const grace = setTimeout(() => {
    sweep = setInterval(() => server.closeIdleConnections(), IDLE_SWEEP_MS)
  }, KEPT_GRACE_MS)
  const late = setTimeout(() => server.closeAllConnections(), LEAVE_MS_MAX)
  await closed
  clearTimeout(grace)
  clearInterval(sweep)
  clearTimeout(late)
  await app.close()
}
