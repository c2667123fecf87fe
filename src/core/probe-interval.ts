import type { DnsReport } from './dns-report.ts'

const VERIFIED_INTERVAL_S = 7 * 86_400
const WRONG_INTERVAL_MAX_S = 3_600
const UNKNOWN_INTERVAL_S = 60

/**
 * Seconds until a domain is checked again on its own: `intervalS` while it is unverified, a week once it is and nothing is wrong with it. While
 * something is, after once, twice, four times … `intervalS`, up to an hour: its provider may have had a bad minute, or its owner mends it. What is
 * unknown is looked at sooner, after 1, 2, 4, … minutes, so that zones that never answer do not take the time of those that do. Spread by a
 * tenth either way, so that domains claimed together do not stay together.
 */
export function nextProbeInS(
  probe: { verified: boolean; failures: number },
  report: Pick<DnsReport, 'state' | 'warnings'>,
  intervalS: number,
): number {
  const ordinaryS = isRight(report) ? VERIFIED_INTERVAL_S : probe.verified ? wrongIntervalS(probe.failures, intervalS) : intervalS
  const baseS = report.state === 'unknown' ? Math.min(UNKNOWN_INTERVAL_S * 2 ** probe.failures, ordinaryS) : ordinaryS
  return baseS * (0.9 + Math.random() / 5)
}

/**
 * Whether a check adds to the `failures` in a row, or ends them: those of an unverified domain are the ones that found nothing out. Undefined of one that had
 * no place to ask: it leaves them as they are.
 */
export function isFailure(probe: { verified: boolean }, report: Pick<DnsReport, 'state' | 'warnings' | 'turnedAway'>): boolean | undefined {
  if (report.turnedAway) return undefined
  return report.state === 'unknown' || (probe.verified && !isRight(report))
}

function isRight({ state, warnings }: Pick<DnsReport, 'state' | 'warnings'>): boolean {
  return state === 'verified' && warnings.length === 0
}

function wrongIntervalS(failures: number, intervalS: number): number {
  return Math.max(intervalS, Math.min(intervalS * 2 ** failures, WRONG_INTERVAL_MAX_S))
}
