import type { ChallengeType } from '../certs/authority.ts'
import type { SelfCheck } from '../certs/self-check.ts'
import type { DnsReport } from '../core/dns-report.ts'
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
  /** Where its challenges are to be delegated to, and whether they are; undefined where no zone is configured. */
  delegationOf(hostname: Hostname): Promise<{ target: string; delegated: boolean } | undefined>
  /** The check of a claim that has yet to show that its name is meant for it, as others are served in its domain; undefined of any other. */
  lookBesideOthers(hostname: Hostname): Promise<Pick<DnsReport, 'state' | 'sentence' | 'turnedAway'> | undefined>
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
    const [delegation, target] = await Promise.all([
      parts.delegationOf(hostname),
      wildcard ? ({ kind: 'no', sentence: '' } as const) : parts.leadsToEdge(hostname),
    ])
    const leadsHere = target.kind === 'yes'
    const beside = leadsHere && !delegation?.delegated ? await parts.lookBesideOthers(hostname) : undefined
    if (beside && beside.state !== 'verified') return refuseByDns(beside.state, beside)
    const http = leadsHere ? await parts.checkHttp(hostname, target.addresses) : undefined
    // Where port 80 is ours nothing hangs on port 443.
    const tls = leadsHere && http?.kind !== 'ours' ? await parts.checkTls(hostname, target.addresses) : undefined
    const found = { http: http?.kind ?? 'not-checked', tls: tls?.kind ?? 'not-checked' } as const
    const choice = chooseChallenges({ wildcard, leadsHere: leadsHere || own, delegated: delegation?.delegated ?? false, offered, ...found })
    if (choice.kind === 'go') return { kind: 'go', ways: choice.types }
    if (own) return { kind: 'go', ways: offered.filter((type) => type !== 'dns-01') }
    switch (choice.because) {
      case 'leads-elsewhere':
        return target.kind === 'yes' ? refuse(DNS_PROBLEM, '') : refuseByDns(target.kind, target)
      case 'not-delegated':
        return refuse(DELEGATION_PROBLEM, notDelegated(hostname, delegation?.target))
      case 'answered-by-other': {
        const alsoTls = tls && 'sentence' in tls ? ` ${tls.sentence}` : ''
        return refuse(CHALLENGE_PROBLEM, `${http && 'sentence' in http ? http.sentence : ''}${alsoTls}`)
      }
    }
  }
}

function notDelegated(hostname: Hostname, target: string | undefined): string {
  const lead = `The certificate of ${hostname} is proven by DNS alone`
  if (target === undefined) return `${lead}, and this service has no DNS zone for that any more: its operator sets NAMESAKE_DNS_ZONE.`
  return `${lead}: add the CNAME record _acme-challenge.${withoutStar(hostname)} with the value "${target}". It is ordered as soon as a check finds it.`
}

/** For want of room here nothing was found out, so it is no attempt, as when no authority does its work. */
function refuseByDns(state: DnsReport['state'] | 'no', { sentence, turnedAway = false }: { sentence: string; turnedAway?: boolean }) {
  return { ...refuse(state === 'unknown' ? DNS_UNKNOWN_PROBLEM : DNS_PROBLEM, sentence), ...(turnedAway && { outage: true }) }
}

function refuse(type: string, sentence: string) {
  return { kind: 'no' as const, problem: { type, detail: sentence }, sentence }
}
