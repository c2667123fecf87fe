import type { TLSSocket } from 'node:tls'
import type { Exchange } from '../../src/edge/engine.ts'
import { Http2Connection } from '../../src/edge/http2/connection.ts'
import { createFrameBuffers } from '../../src/edge/http2/frame-buffers.ts'
import { HpackEncoder } from '../../src/edge/http2/hpack-encoder.ts'
import { KeptForAll } from '../../src/edge/http2/waiting-messages.ts'
import { TIMEOUTS } from '../../src/edge/timeouts.ts'
import { createTurn } from '../../src/edge/turn.ts'
import { FrameCollector, type RawFrame } from './http2-frames.ts'
import { createLine, settled } from './line.ts'

/** Our side of HTTP/2 over a socket in memory; the test is the visitor. */
export function createHttp2Pair(onExchange: (exchange: Exchange) => void, kept = new KeptForAll()) {
  const collector = new FrameCollector()
  const line = createLine({ onWrite: (chunk) => collector.add(chunk) })
  const { socket } = line
  const parts = {
    timeouts: TIMEOUTS,
    onExchange,
    turn: createTurn(),
    http2ErrorSent() {},
    buffers: createFrameBuffers(),
    encoder: new HpackEncoder(),
    kept,
  }
  const visitor = { servername: undefined, peer: '192.0.2.1', covers: () => true }
  const connection = new Http2Connection(socket as unknown as TLSSocket, visitor, parts)
  return {
    connection,
    frames: collector.frames as readonly RawFrame[],
    send: (...frames: Buffer[]) => void socket.push(Buffer.concat(frames)),
    settled,
    /** From now on the system takes nothing, until `release`. */
    hold: line.hold,
    release: line.release,
    isClosed: () => socket.destroyed,
    close: () => void socket.destroy(),
  }
}
