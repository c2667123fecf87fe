import type { DnsState } from './dns-report.ts'

const VERIFIED_INTERVAL_S = 7 * 86_400
const UNKNOWN_INTERVAL_S = 60

/**
 * Seconds until a domain is checked again on its own: `intervalS` while it is unverified, a week once it is. What is unknown is looked at
 * sooner, after 1, 2, 4, … minutes, so that zones that never answer do not take the time of those that do. Spread by a tenth either
 * way, so that domains claimed together do not stay together.
 */
export function nextProbeInS(probe: { verified: boolean; failures: number }, state: DnsState, intervalS: number): number {
  const ordinaryS = probe.verified || state === 'verified' ? VERIFIED_INTERVAL_S : intervalS
  const baseS = state === 'unknown' ? Math.min(UNKNOWN_INTERVAL_S * 2 ** probe.failures, ordinaryS) : ordinaryS
  return baseS * (0.9 + Math.random() / 5)
}
