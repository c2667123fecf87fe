import { randomBytes } from 'node:crypto'
import type { Hostname } from '../hostname.ts'
import { backOffMs, pause } from '../lib/back-off.ts'
import { explainAbort } from './acme-http.ts'
import type { Challenge, ChallengeSolver } from './authority.ts'
import { ownFault } from './problem.ts'
import type { SelfCheck } from './self-check.ts'
import { selfCheckTlsAlpn, type TlsAlpnTarget } from './tls-alpn.ts'

export type TlsAlpnParts = {
  /** Makes the challenge known to every edge, soon after it resolves. */
  present(challenge: Challenge): Promise<void>
  withdraw(challenge: Challenge): Promise<void>
  /** Where an authority would look; empty when that is not known. */
  addressesOf(hostname: Hostname): Promise<readonly string[]>
  /** The port that authorities use: 443, unless it is mapped. */
  port: number
}

export type TlsAlpn = {
  readonly solver: ChallengeSolver
  /** Whether a TLS-ALPN-01 validation would be answered by us at these addresses, found out with a challenge of our own making. 8 seconds at most. */
  selfCheck(target: Pick<TlsAlpnTarget, 'hostname' | 'addresses' | 'port'>): Promise<SelfCheck>
}

const SEEN_TIMEOUT_MS = 5_000
/** An edge reads the feed each second even when no hint reaches it. */
const FEED_MS = 1_500
const LOOK_AGAIN = { firstMs: 30, maxMs: 500 }

/**
 * Meets TLS-ALPN-01 challenges (RFC 8737) through the edges. `present` resolves when every address that can be reached shows this very
 * challenge, or, where none can be reached from here (no hairpin NAT), when the edges have had time to hear of it; it rejects
 * with IssueError when another answer stays for 5 seconds.
 */
export function createTlsAlpn(parts: TlsAlpnParts): TlsAlpn {
  const present = async (
    challenge: Challenge,
    place: { addresses: readonly string[]; port: number },
    signal?: AbortSignal,
  ): Promise<SelfCheck> => {
    await parts.present(challenge)
    return untilSeen({ ...place, hostname: challenge.hostname, expected: challenge.keyAuthorization }, signal)
  }
  // What cannot be taken away now expires by itself.
  const withdraw = (challenge: Challenge): Promise<void> => parts.withdraw(challenge).catch(() => {})

  return {
    solver: {
      type: 'tls-alpn-01',
      async present(challenge, signal) {
        const addresses = await parts.addressesOf(challenge.hostname)
        const seen = await present(challenge, { addresses, port: parts.port }, signal)
        if (signal.aborted) throw explainAbort(signal)
        if (seen.kind === 'answered-by-other') throw ownFault('challengeNotAnswered', seen.sentence)
      },
      withdraw,
    },
    async selfCheck({ hostname, addresses, port }) {
      const token = randomBytes(16).toString('base64url')
      const challenge = { hostname, token, keyAuthorization: `${token}.self-check` }
      try {
        return await present(challenge, { addresses, port })
      } finally {
        await withdraw(challenge)
      }
    },
  }
}

/** Looks ever more seldom until the challenge is seen. An edge that has not yet heard of it refuses, or shows an earlier one. */
async function untilSeen(target: TlsAlpnTarget, signal?: AbortSignal): Promise<SelfCheck> {
  const startMs = performance.now()
  for (let look = 1; ; look++) {
    const seen = await selfCheckTlsAlpn(target)
    if (seen.kind === 'ours' || signal?.aborted) return seen
    const leftMs = startMs + (seen.kind === 'cannot-connect' ? FEED_MS : SEEN_TIMEOUT_MS) - performance.now()
    if (leftMs <= 0) return seen
    await pause(Math.min(leftMs, backOffMs(look, LOOK_AGAIN)), signal)
  }
}
