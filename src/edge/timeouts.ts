/** How long the edge waits, in milliseconds, for what. Tunnels and event streams may rest for as long as they like. */
export type Timeouts = {
  /** For the ClientHello and its certificate, and then for the handshake itself. */
  handshakeMs: number
  /** For the whole head of a visitor's request, once its first byte came. */
  requestHeadMs: number
  /** DNS, TCP and TLS towards an upstream together. */
  connectMs: number
  /** From the last byte of the request to the head of the upstream's answer. */
  answerHeadMs: number
  /** Between two bytes of a body, in either direction. */
  bodyIdleMs: number
  /** An idle connection, of a visitor or to an upstream. */
  keepAliveMs: number
  /**
   * A connection to an upstream that is in use. Else it would last as long as there is traffic, and so would the address that it was opened to: a vendor who
   * has moved in the DNS would not be followed while the former machine answers.
   */
  upstreamAgeMs: number
  /** For a sign of life on an upstream's HTTP/2 connection after something was sent; then for the answer to a PING. */
  pingMs: number
}

export const TIMEOUTS: Timeouts = {
  handshakeMs: 15_000,
  requestHeadMs: 30_000,
  connectMs: 5_000,
  answerHeadMs: 120_000,
  bodyIdleMs: 300_000,
  keepAliveMs: 75_000,
  upstreamAgeMs: 300_000,
  pingMs: 10_000,
}

const AGE_SPREAD = 0.2

/** When a connection to an upstream that is opened now is too old for another request; those of one moment, as of a start, not all at once. */
export function oldAtMs({ upstreamAgeMs }: Timeouts, nowMs: number): number {
  return nowMs + upstreamAgeMs * (1 - AGE_SPREAD * Math.random())
}

/** TCP keep-alive is the only way to learn that the other end of a silent tunnel, or of a stream of events that have not come, is gone. */
export const TCP_KEEP_ALIVE_MS = 60_000

/** When we drain: for a request that is still on its way to an idle connection, or half there, and for the first word of whoever has said none. */
export const LEAVING_MS = 2_000
