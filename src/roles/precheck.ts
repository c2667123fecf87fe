import type { ChallengeType } from '../certs/authority.ts'
import type { SelfCheck } from '../certs/self-check.ts'
import { CHALLENGE_PROBLEM, DELEGATION_PROBLEM, DNS_PROBLEM, DNS_UNKNOWN_PROBLEM } from '../core/probes.ts'
import { type Hostname, isWildcard, withoutStar } from '../hostname.ts'
import type { IssueParts } from '../jobs/issue.ts'
import type { Destination } from '../probe/probe.ts'
import { chooseChallenges } from './challenge-choice.ts'

export type PrecheckParts = {
  /** The service's own hosts: their DNS is the operator's, and `doctor` looks at it. What is found only says what to try first; nothing is refused. */
  isOwn(hostname: Hostname): boolean
  leadsToEdge(hostname: Hostname): Promise<Destination>
  checkHttp(hostname: Hostname, addresses: string[]): Promise<SelfCheck>
  /** Undefined where TLS-ALPN-01 is not offered. */
  checkTls(hostname: Hostname, addresses: string[]): Promise<SelfCheck | undefined>
  isDelegated(hostname: Hostname): Promise<boolean>
  offered: readonly ChallengeType[]
  /** Whether an authority will look; the built-in one does not. */
  isValidating: boolean
}

/** The look before an order: which challenges could be met, or why none could. */
export function createPrecheck(parts: PrecheckParts): IssueParts['precheck'] {
  const { offered } = parts
  return async (hostname) => {
    const own = parts.isOwn(hostname)
    const wildcard = parts.isValidating && isWildcard(hostname)
    const [delegated, target] = await Promise.all([
      offered.includes('dns-01') && parts.isDelegated(hostname),
      wildcard ? ({ kind: 'no', sentence: '' } as const) : parts.leadsToEdge(hostname),
    ])
    const leadsHere = target.kind === 'yes'
    const http = leadsHere ? await parts.checkHttp(hostname, target.addresses) : undefined
    // Where port 80 is ours nothing hangs on port 443.
    const tls = leadsHere && http?.kind !== 'ours' ? await parts.checkTls(hostname, target.addresses) : undefined
    const found = { http: http?.kind ?? 'not-checked', tls: tls?.kind ?? 'not-checked' } as const
    const choice = chooseChallenges({ wildcard, leadsHere: leadsHere || own, delegated, offered, ...found })
    if (choice.kind === 'go') return { kind: 'go', ways: choice.types }
    if (own) return { kind: 'go', ways: offered.filter((type) => type !== 'dns-01') }
    switch (choice.because) {
      case 'leads-elsewhere':
        return refuse(target.kind === 'unknown' ? DNS_UNKNOWN_PROBLEM : DNS_PROBLEM, target.kind === 'yes' ? '' : target.sentence)
      case 'not-delegated':
        return refuse(
          DELEGATION_PROBLEM,
          `The certificate of ${hostname} needs one more record: the CNAME record _acme-challenge.${withoutStar(hostname)}, with the value that its details name.`,
        )
      case 'answered-by-other': {
        const alsoTls = tls && 'sentence' in tls ? ` ${tls.sentence}` : ''
        return refuse(CHALLENGE_PROBLEM, `${http && 'sentence' in http ? http.sentence : ''}${alsoTls}`)
      }
    }
  }
}

function refuse(type: string, sentence: string) {
  return { kind: 'no' as const, problem: { type, detail: sentence }, sentence }
}
