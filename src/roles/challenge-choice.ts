import type { ChallengeType } from '../certs/authority.ts'

/** What a look at one way in found; `not-checked` where it was not looked at. */
export type WayIn = 'ours' | 'cannot-connect' | 'answered-by-other' | 'not-checked'

/**
 * What is known of a hostname before an order: whether it leads to the edge, what answers at its ports 80 and 443, and whether
 * `_acme-challenge` below it is delegated to us. `offered`: what this installation can do at all.
 */
export type Prospects = {
  wildcard: boolean
  leadsHere: boolean
  http: WayIn
  tls: WayIn
  delegated: boolean
  offered: readonly ChallengeType[]
}

/** `types`: first preferred. Else what keeps every challenge from being met. */
export type Choice =
  | { kind: 'go'; types: ChallengeType[] }
  | { kind: 'none'; because: 'not-delegated' | 'leads-elsewhere' | 'answered-by-other' }

/**
 * Which challenges to try, in which order. A wildcard is proven by DNS alone (RFC 8555 §8.3, RFC 8737 §3). Where somebody else answers
 * port 80, TLS must be seen to be ours; where we cannot reach ourselves, as without hairpin NAT, the authority still may.
 */
export function chooseChallenges({ wildcard, leadsHere, http, tls, delegated, offered }: Prospects): Choice {
  const dns = delegated && offered.includes('dns-01')
  if (wildcard) return dns ? { kind: 'go', types: ['dns-01'] } : { kind: 'none', because: 'not-delegated' }
  if (!leadsHere) return dns ? { kind: 'go', types: ['dns-01'] } : { kind: 'none', because: 'leads-elsewhere' }
  const tlsMayWork = http === 'answered-by-other' ? tls === 'ours' : tls !== 'answered-by-other'
  const types: ChallengeType[] = []
  if (http !== 'answered-by-other' && offered.includes('http-01')) types.push('http-01')
  if (tlsMayWork && offered.includes('tls-alpn-01')) types.push('tls-alpn-01')
  if (http === 'cannot-connect' && tls === 'ours') types.reverse() // what was seen to work goes first
  if (dns) types.push('dns-01')
  return types.length > 0 ? { kind: 'go', types } : { kind: 'none', because: 'answered-by-other' }
}

/** Every second attempt begins with the next type: the one before it may have had no room to try it. */
export function beginningWith<T>(attempt: number, types: readonly T[]): T[] {
  return attempt % 2 === 0 ? [...types.slice(1), ...types.slice(0, 1)] : [...types]
}
