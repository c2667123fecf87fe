/** How long the edge waits, in milliseconds, for what; 0 would be for ever and occurs only for tunnels and event streams. */
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
  pingMs: 10_000,
}

/** TCP keep-alive is the only way to learn that the other end of a silent tunnel, or of a stream of events that have not come, is gone. */
export const TCP_KEEP_ALIVE_MS = 60_000
