import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Hostname } from '../hostname.ts'
import type { AddressSet } from '../lib/addresses.ts'
import { TokenBucket } from '../lib/token-bucket.ts'
import type { LineSink } from '../log.ts'
import { createAccessLog, LastSaid } from './access-log.ts'
import { clientAddress } from './client-address.ts'
import { noOutcome } from './outcome.ts'
import { createRequestIds } from './request-ids.ts'

export type ChallengeLogParts = { accessLog: LineSink; accessLogSample: number; trustedProxies: AddressSet }

/** A request to port 80, as far as it could be read. */
export type PlainVisit = {
  readonly request: IncomingMessage
  readonly peer: string
  readonly startedAt: number
  target: string
  hostname: Hostname | ''
  project: string | undefined
}

const CHALLENGES = '/.well-known/acme-challenge/'
/** Authorities ask a few times an order; what is more comes from others, who would fill the log. */
const LINES = { perSecond: 20, burst: 500 }

/** An access line for each request for a challenge once its answer has left: whether an authority came, and what it got. To be called with every visit. */
export function createChallengeLog({ accessLog, accessLogSample, trustedProxies }: ChallengeLogParts) {
  const log = createAccessLog(accessLog, accessLogSample, Date.now)
  const nextRequestId = createRequestIds()
  const lines = new TokenBucket(LINES, performance.now())
  return ({ request, peer, startedAt, target, hostname, project }: PlainVisit, response: ServerResponse, bytesSent: number): void => {
    const now = performance.now()
    if (!target.startsWith(CHALLENGES) || !lines.take(now)) return
    const { method = '', httpVersion, headers } = request
    const status = response.headersSent ? response.statusCode : 0
    log(
      {
        exchange: { method, target, protocol: httpVersion === '1.0' ? 'HTTP/1.0' : 'HTTP/1.1', bytesSent },
        requestId: nextRequestId(),
        hostname,
        project,
        client: clientAddress(peer, String(headers['x-forwarded-for'] ?? ''), trustedProxies),
        outcome: { ...noOutcome(), status, visitor: response.writableFinished ? undefined : 'visitor-gone' },
        tunnelBytes: 0,
        view: { lastSaid: new LastSaid() },
      },
      now - startedAt,
    )
  }
}
