import type { TLSSocket } from 'node:tls'
import { Members } from '../../lib/members.ts'
import type { EngineParts, VisitorConnection } from '../engine.ts'
import { startLooks } from '../looks.ts'
import { REQUEST_TIMES_CHECKED_EVERY_MS } from '../request-limits.ts'
import { Http1Visitor } from './visitor.ts'

/** HTTP/1.1 and 1.0 for connections whose TLS is done, read from their bytes by us. */
export function createHttp1Server(engine: EngineParts) {
  const visitors = new Members<Http1Visitor>()
  let isDraining = false
  const parts = { ...engine, isDraining: () => isDraining }

  // One number stored for each deadline and one timer for all of them: a timer each would cost more than reading the request.
  const looks = startLooks(REQUEST_TIMES_CHECKED_EVERY_MS, (nowMs) => {
    for (const visitor of visitors.all()) visitor.look(nowMs)
  })

  return {
    serve(socket: TLSSocket, connection: VisitorConnection) {
      const visitor = new Http1Visitor(socket, connection, parts)
      const place = visitors.add(visitor)
      socket.once('close', () => visitors.delete(place))
      if (isDraining) visitor.leave()
    },
    drain() {
      isDraining = true
      for (const visitor of visitors.all()) visitor.leave()
    },
    destroy() {
      looks.stop()
      for (const visitor of visitors.all()) visitor.socket.destroy()
    },
    count: () => visitors.size,
  }
}
