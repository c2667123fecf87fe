import type { TLSSocket } from 'node:tls'
import { Members } from '../../lib/members.ts'
import type { EngineParts, VisitorConnection } from '../engine.ts'
import { startLooks } from '../looks.ts'
import { REQUEST_TIMES_CHECKED_EVERY_MS } from '../request-limits.ts'
import { Http1Connection } from './connection.ts'

/** HTTP/1.1 and 1.0 for connections whose TLS is done, read from their bytes by us. */
export function createHttp1Server(engine: EngineParts) {
  const connections = new Members<Http1Connection>()
  let isDraining = false
  const parts = { ...engine, isDraining: () => isDraining }

  // One number stored for each deadline and one timer for all of them: a timer each would cost more than reading the request.
  const looks = startLooks(REQUEST_TIMES_CHECKED_EVERY_MS, (nowMs) => {
    for (const connection of connections.all()) connection.look(nowMs)
  })

  return {
    serve(socket: TLSSocket, visitor: VisitorConnection) {
      const connection = new Http1Connection(socket, visitor, parts)
      const place = connections.add(connection)
      socket.once('close', () => connections.delete(place))
      if (isDraining) connection.leave()
    },
    drain() {
      isDraining = true
      for (const connection of connections.all()) connection.leave()
    },
    destroy() {
      looks.stop()
      for (const connection of connections.all()) connection.socket.destroy()
    },
    count: () => connections.size,
  }
}
