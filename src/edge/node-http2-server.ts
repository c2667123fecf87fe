import { constants, type IncomingHttpHeaders, performServerHandshake, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2'
import type { TLSSocket } from 'node:tls'
import type { EngineParts, VisitorConnection } from './engine.ts'
import { HeaderField } from './http2/header-field.ts'
import { type Http2Head, readHttp2Head, refusedHead, tooLargeHead } from './http2/request-head.ts'
import { NodeHttp2Exchange } from './node-http2-exchange.ts'
import { noteNeverIndexed } from './node-http2-sensitive.ts'
import { REQUEST_FIELDS_MAX, REQUEST_HEAD_BYTES_MAX, STREAMS_PER_CONNECTION_MAX } from './request-limits.ts'

const STREAM_WINDOW_BYTES = 256 * 1024
const CONNECTION_WINDOW_BYTES = 1024 * 1024
/** Between the announcement that we go and the last stream that we take: requests on their way must have arrived by then. */
const GOAWAY_GRACE_MS = 2_000
const LAST_STREAM_ID_MAX = 2 ** 31 - 1

const SESSION_OPTIONS = {
  settings: {
    enablePush: false,
    maxConcurrentStreams: STREAMS_PER_CONNECTION_MAX,
    initialWindowSize: STREAM_WINDOW_BYTES,
    maxHeaderListSize: REQUEST_HEAD_BYTES_MAX,
  },
  maxHeaderListPairs: 2 * REQUEST_FIELDS_MAX, // with those whose number is not held, as cookies
  maxSessionMemory: 16, // megabytes
  maxSettings: 32,
  maxOutstandingPings: 10,
  maxSessionInvalidFrames: 100,
  maxSessionRejectedStreams: 100,
  streamResetBurst: 200,
  streamResetRate: 100,
  strictSingleValueFields: false, // what an upstream sends twice, the visitor gets twice
}

/** HTTP/2 by node:http2, fed with connections whose TLS is done and whose ALPN says h2. */
export function createNodeHttp2Server({ timeouts, onExchange }: EngineParts) {
  const sessions = new Map<ServerHttp2Session, { streams: number }>()
  let isDraining = false

  const receive = (stream: ServerHttp2Stream, rawHeaders: string[], endsStream: boolean, connection: VisitorConnection) => {
    const head = readHead(rawHeaders)
    const exchange = new NodeHttp2Exchange({ stream, head, connection, endsStream, lastBytesMs: timeouts.bodyIdleMs })
    onExchange(exchange, head.kind === 'refused' ? head.status : undefined)
  }

  const leave = (session: ServerHttp2Session) => {
    if (session.closed || session.destroyed) return
    session.goaway(constants.NGHTTP2_NO_ERROR, LAST_STREAM_ID_MAX)
    setTimeout(() => session.close(), GOAWAY_GRACE_MS).unref()
  }

  return {
    serve(socket: TLSSocket, connection: VisitorConnection) {
      const session = performServerHandshake(socket, SESSION_OPTIONS) as ServerHttp2Session
      const state = { streams: 0 }
      sessions.set(session, state)
      session.once('connect', () => session.setLocalWindowSize(CONNECTION_WINDOW_BYTES))
      session.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, flags: number, rawHeaders: string[]) => {
        noteNeverIndexed(headers)
        state.streams += 1
        stream.once('close', () => (state.streams -= 1))
        receive(stream, rawHeaders, (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0, connection)
      })
      session.on('error', () => session.destroy())
      session.setTimeout(timeouts.keepAliveMs, () => {
        if (state.streams === 0) session.close()
      })
      session.once('close', () => {
        sessions.delete(session)
        socket.destroy()
      })
      if (isDraining) leave(session)
    },
    drain() {
      isDraining = true
      for (const session of sessions.keys()) leave(session)
    },
    destroy() {
      for (const session of sessions.keys()) session.destroy()
    },
    count: () => sessions.size,
  }
}

/** node:http2 has ended what is malformed, unless the two of us differ, but takes more of a head than it says. */
function readHead(raw: readonly string[]): Http2Head {
  const fields: HeaderField[] = []
  for (let i = 0; i < raw.length; i += 2) fields.push(new HeaderField(raw[i]!, raw[i + 1]!))
  if (fields.reduce((bytes, field) => bytes + field.size, 0) > REQUEST_HEAD_BYTES_MAX) return tooLargeHead(fields)
  const head = fields.every(({ isProper }) => isProper) ? readHttp2Head(fields) : undefined
  return head ?? refusedHead(400, '', '')
}
