import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'

/** What a server is told to listen on: a socket that the supervisor bound, or an address of its own. */
export type Listen = { fd: number } | { host: string; port: number }

/** Starts to serve; resolves with the port. `app.close()` stops it. */
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
