import type { TLSSocket } from 'node:tls'
import type { ExactHostname, Hostname } from '../hostname.ts'
import type { FieldSection } from './field-section.ts'
import type { RequestFields } from './forwarded-request.ts'
import { createHttp1Server } from './http1/server.ts'
import { createOwnHttp2Server } from './http2/server.ts'
import { createNodeHttp2Server } from './node-http2-server.ts'
import type { RequestId } from './request-ids.ts'
import type { Timeouts } from './timeouts.ts'
import type { Turn } from './turn.ts'

/** Field names and values in turn, as they came: `['Host', 'shop.customer.com', 'Accept', '*' + '/*']`. */
export type Fields = readonly string[]

/** A visitor's connection after its TLS handshake. */
export type VisitorConnection = {
  /** The name in the handshake; undefined when there was none. Also right for a resumed session. */
  servername: ExactHostname | undefined
  /** The address of whoever connected: the visitor, or a proxy in front of us. */
  peer: string
  /** Whether the certificate of this connection is valid for the hostname too. */
  covers(hostname: Hostname): boolean
}

export type BodyReader = {
  /** The chunk is the reader's, but what of it is needed after the call is to be kept (`keep`). */
  take(chunk: Buffer): void
  /** It was whole, and all of it was taken. */
  end(): void
}

export type RequestBody = {
  /** Bytes, when announced. */
  readonly length: number | undefined
  /** Valid once the reader has heard of the end. */
  trailers(): Fields
  /** From now on the reader gets what comes, and what has come. There is one. */
  start(reader: BodyReader): void
  /** What comes waits from now on, and at last with the visitor. */
  pause(): void
  resume(): void
  /** The reader hears no more of it. */
  stop(): void
}

export type AnswerHead = {
  status: number
  reason: string
  /** But for what says how the body is framed. */
  fields: FieldSection
  /** `none`: no body can follow (HEAD, 204, 304); a number: exactly so many bytes; `unknown`: until `end`. */
  body: 'none' | 'unknown' | number
  /** Trailers may follow a body whose length is known, as HTTP/2 allows. */
  mayHaveTrailers?: boolean
}

/** The head of a 1xx answer other than 100 and 101, without what is of one hop. */
export type InterimAnswer = { status: number; reason: string; fields: FieldSection }

/**
 * One request of a visitor, whatever its protocol, with the means to answer it once. The head is checked already: one authority, an
 * origin-form target (or `*` with OPTIONS), a body whose framing allows one reading only.
 */
export interface Exchange {
  readonly protocol: 'HTTP/1.0' | 'HTTP/1.1' | 'HTTP/2'
  readonly connection: VisitorConnection
  readonly method: string
  readonly target: string
  /** Host or :authority as sent; where an HTTP/1.0 request has none, that of its absolute target, else the name of the handshake (RFC 9112 §3.3), and empty without one. */
  readonly authority: string
  readonly fields: RequestFields
  readonly body: RequestBody | undefined
  /** The visitor waits for `100 Continue` before it sends the body. */
  readonly expectsContinue: boolean
  /** The protocol that the visitor asks to change to, as in `websocket`. */
  readonly upgrade: string | undefined
  /** Bytes of the answer's body so far: those that were written or, where the visitor has windows, those that were let through. */
  readonly bytesSent: number
  sendContinue(): void
  /** A 1xx answer before the answer itself (RFC 9110 §15.2); left out over HTTP/1.0, which knows none, and while the visitor does not read. */
  sendInterim(head: InterimAnswer): void
  /** Begins the answer; like all that is written, it leaves at the end of this turn of the loop at the latest. */
  answer(head: AnswerHead): void
  /** False means: write no more until the drain listener is called. The chunk is the exchange's from now on; what does not leave at once it keeps (`keep`). */
  write(chunk: Buffer): boolean
  end(trailers?: Fields): void
  /** Ends the answer so that no visitor takes it for complete. */
  abort(): void
  onDrain(listener: () => void): void
  /** Called once if the visitor goes before all of the answer has left; at once if it has gone already. `isStalled`: it was let go, as it took no more. */
  onGone(listener: (isStalled: boolean) => void): void
  /**
   * Called once when the exchange is over, however it ended; with a status when the visitor is told it because its body was no proper one:
   * together with the request's id, which the listener gives.
   */
  onClose(listener: (refusal?: number) => RequestId): void
  /** Only with `upgrade`: the connection itself, and what the visitor sent behind the request. Nothing else may be called after it. */
  takeOver(): { socket: TLSSocket; head: Buffer }
}

export type EngineParts = {
  timeouts: Timeouts
  turn: Turn
  /** `refusedWith`: the status to answer with, when the head is none that could be served; it may lack all or some of what a head says. */
  onExchange(exchange: Exchange, refusedWith?: number): void
  /** A visitor is told of an error, by a frame of this type (RFC 9113 §7): what ended was its stream, or its connection. node:http2 does not say. */
  http2ErrorSent(frameType: number, code: number): void
}

export type Http2Engine = 'own' | 'node'

export type EngineCounts = { http1Connections: number; http2Connections: number }

/** All that the rest of the edge knows of HTTP towards visitors. */
export interface Engine {
  /** Serves a connection whose handshake has ended until it closes. */
  serve(socket: TLSSocket, connection: VisitorConnection): void
  /** From now on every connection ends with the answer that it waits for; an idle one has a moment to send a request that is on its way. */
  drain(): void
  /** Cuts what is left. */
  destroy(): void
  counts(): EngineCounts
}

/** HTTP/1.1 by our own reader, HTTP/2 by our own framing or by node:http2; ALPN chooses between the versions. */
export function createEngine(parts: EngineParts, http2Engine: Http2Engine): Engine {
  const http1 = createHttp1Server(parts)
  const http2 = http2Engine === 'own' ? createOwnHttp2Server(parts) : createNodeHttp2Server(parts)
  return {
    serve(socket, connection) {
      if (socket.alpnProtocol === 'h2') http2.serve(socket, connection)
      else http1.serve(socket, connection)
    },
    drain() {
      http1.drain()
      http2.drain()
    },
    destroy() {
      http1.destroy()
      http2.destroy()
    },
    counts: () => ({ http1Connections: http1.count(), http2Connections: http2.count() }),
  }
}
