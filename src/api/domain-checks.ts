import type { Db } from '../core/db.ts'
import type { DnsReport } from '../core/dns-report.ts'
import { nextProbeInS } from '../core/probe-interval.ts'
import { type DueProbe, findProbeTarget, recordProbes, watchDomain } from '../core/probes.ts'
import type { Project } from '../core/projects.ts'
import type { Hostname } from '../hostname.ts'
import { Lru } from '../lib/lru.ts'
import { createOnce } from '../lib/once.ts'
import { enterAll, Shares } from '../lib/shares.ts'

export type DomainProbe = {
  check(
    hostname: Hostname,
    claim: { proof: string; proofNeeded: boolean; sharedDomains: readonly string[]; cnameTarget: Hostname | null },
    signal?: AbortSignal,
  ): Promise<DnsReport>
}

export type DomainChecksParts = {
  db: Db
  probe: DomainProbe
  probeIntervalS: number
  /** The hostname has just become verified. */
  announce(hostname: Hostname): void
  now(): Date
}

const CHECK_TIMEOUT_MS = 10_000
const REPEAT_MS = 2_000
const CHECKS_AT_ONCE = { max: 50, perOwnerMax: 10 }
const CHECKS_BY_LINK_AT_ONCE = { max: 40, perOwnerMax: 7 } // the vendor's own have the rest
const CHECKS_REMEMBERED_MAX = 10_000
const WATCH_S = 120

/** `byLink`: whoever asks is not the vendor, but has a link of its. */
export type CheckDomain = (project: Project, hostname: Hostname, asker?: { byLink: boolean }) => Promise<void>

/**
 * Looks at a domain's DNS now and keeps what was found. Throws `domain_not_found`. At most once in two seconds a hostname, ten
 * of a project and 50 in all at a time, of which links have seven and 40: beyond that, or when the look-up does not end in time, the last check's findings stand, and the background check, which runs every two seconds for the next while, follows up.
 */
export function createDomainChecks(parts: DomainChecksParts): CheckDomain {
  const once = createOnce<string, void>()
  const begun = new Lru<string, number>(CHECKS_REMEMBERED_MAX)
  const running = new Shares(CHECKS_AT_ONCE) // by project: its name servers may be silent ones
  const runningByLink = new Shares(CHECKS_BY_LINK_AT_ONCE)

  const check = async (project: Project, target: DueProbe, byLink: boolean) => {
    const leave = enterAll((byLink ? [running, runningByLink] : [running]).map((shares) => [shares, project.id]))
    if (!leave) return
    begun.set(target.domainId, parts.now().getTime())
    try {
      const report = await parts.probe.check(target.hostname, target, AbortSignal.timeout(CHECK_TIMEOUT_MS))
      const result = { probe: target, report, nextProbeInS: nextProbeInS(target, report, parts.probeIntervalS) }
      const verified = await recordProbes(parts.db, [result])
      for (const hostname of verified) parts.announce(hostname)
    } catch (error) {
      if ((error as Error).name !== 'TimeoutError') throw error // as when there are too many at a time
    } finally {
      leave()
    }
  }
  return async (project, hostname, { byLink } = { byLink: false }) => {
    const target = await findProbeTarget(parts.db, project, hostname)
    await watchDomain(parts.db, project, hostname, { forS: WATCH_S })
    const repeated = parts.now().getTime() - (begun.peek(target.domainId) ?? Number.NEGATIVE_INFINITY) < REPEAT_MS
    await once(target.domainId, async () => {
      if (!repeated) await check(project, target, byLink)
    })
  }
}
