import type { TLSSocket } from 'node:tls'
import { Members } from '../../lib/members.ts'
import type { EngineParts, VisitorConnection } from '../engine.ts'
import { startLooks } from '../looks.ts'
import { Http2Connection } from './connection.ts'
import { createFrameBuffers } from './frame-buffers.ts'
import { HpackEncoder } from './hpack-encoder.ts'
import { KeptForAll } from './waiting-messages.ts'

const DEADLINES_CHECKED_EVERY_MS = 250

/** HTTP/2 for connections whose TLS is done and whose ALPN says h2, by our own framing. */
export function createOwnHttp2Server(engine: EngineParts) {
  const parts = { ...engine, buffers: createFrameBuffers(), encoder: new HpackEncoder(), kept: new KeptForAll() }
  const connections = new Members<Http2Connection>()
  let isDraining = false

  const looks = startLooks(DEADLINES_CHECKED_EVERY_MS, (nowMs) => {
    for (const connection of connections.all()) connection.look(nowMs)
  })

  return {
    serve(socket: TLSSocket, visitor: VisitorConnection) {
      const connection = new Http2Connection(socket, visitor, parts)
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
      for (const connection of connections.all()) connection.destroy()
    },
    count: () => connections.size,
  }
}
