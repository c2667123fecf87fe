import type { Socket } from 'node:net'
import type { ClientLoad } from './admission.ts'
import type { Timeouts } from './timeouts.ts'
import type { Turn } from './turn.ts'
import type { UpstreamRoom } from './upstream-room.ts'

/** How an upstream is spoken to: HTTP/1.1, HTTP/2 over TLS, or HTTP/2 in plain text without asking first (RFC 9113 §3.3). */
export type UpstreamProtocol = 'http1' | 'h2' | 'h2c'

/** Where a request is sent, read from a route's upstream URL. */
export type Upstream = {
  /** One pool of connections each: never shared between projects, nor between the service's own upstream and a project's. */
  key: string
  /** The project's id; empty for the service's own. */
  owner: string
  protocol: UpstreamProtocol
  isTls: boolean
  /** A name, or an IP address without brackets. */
  host: string
  port: number
  /** Our own api role, which lives on a private address. */
  isOurs: boolean
}

/** What pools of connections are made of. `connect` keeps to the room, also for the client that asks, and rejects with UpstreamFailure. */
export type UpstreamPoolParts = {
  connect(upstream: Upstream, load?: ClientLoad): Promise<Socket>
  room: UpstreamRoom
  timeouts: Timeouts
  turn: Turn
}

export function readUpstream(upstreamUrl: string, protocol: UpstreamProtocol, owner: string | undefined): Upstream {
  const url = new URL(upstreamUrl)
  const isTls = url.protocol === 'https:'
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const port = url.port === '' ? (isTls ? 443 : 80) : Number(url.port)
  const key = `${owner ?? ''} ${isTls ? 'https' : 'http'} ${protocol} ${host} ${port}`
  return { key, owner: owner ?? '', protocol, isTls, host, port, isOurs: owner === undefined }
}

export const FAILURE_REASONS = [
  'dns',
  'forbidden-address',
  'refused',
  'unreachable',
  'reset',
  'tls',
  'timeout',
  'malformed',
  'busy',
  'no-upgrade',
  'circuit-open',
] as const

/** Why an exchange with an upstream failed, or was not tried; what `Namesake-Error` and the metrics say. */
export type FailureReason = (typeof FAILURE_REASONS)[number]

/** An upstream gave no proper answer. A status code, 5xx included, is not a failure. */
export class UpstreamFailure extends Error {
  readonly reason: FailureReason

  constructor(reason: FailureReason, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'UpstreamFailure'
    this.reason = reason
  }
}

/**
 * A connection broke. A TLS alert on one that has carried nothing before refuses whoever comes, as of a server that asks for a certificate of ours and looks
 * only behind the handshake (RFC 8446 §4.4.2.4): it is no accident that asking again could mend.
 */
export function broken(error: NodeJS.ErrnoException, { isReused }: { isReused: boolean }): UpstreamFailure {
  const isRefusal = !isReused && error.code?.startsWith('ERR_SSL_') === true
  return new UpstreamFailure(isRefusal ? 'tls' : 'reset', error.message, { cause: error })
}

/** A connection whose other end does not even answer a question: nobody is there who would look at what was sent. */
export class VanishedUpstream extends UpstreamFailure {
  constructor() {
    super('timeout', 'the upstream shows no sign of life')
    this.name = 'VanishedUpstream'
  }
}
