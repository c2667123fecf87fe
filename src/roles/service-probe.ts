import type { Config } from '../config.ts'
import type { Db } from '../core/db.ts'
import { challengeNameOf, delegationLabel } from '../core/delegation.ts'
import { findCnameTarget } from '../core/projects.ts'
import { createProbe, type Probe } from '../probe/probe.ts'

const ISSUERS = new Map([
  ['letsencrypt.org', ['letsencrypt.org']],
  ['pki.goog', ['pki.goog']],
  ['zerossl.com', ['sectigo.com', 'zerossl.com']],
  ['buypass.com', ['buypass.com']],
  ['ssl.com', ['ssl.com']],
])

/** The DNS probe with this installation's names: what customers must point at, and which authorities their CAA records must allow. */
export function createServiceProbe(config: Config): Probe {
  const probe = createProbe({
    edgeHost: config.edgeHost,
    edgeIps: config.edgeIps,
    portalHosts: [config.baseUrl.hostname, config.portalUrl.hostname],
    servers: config.dnsServers,
    caaIssuers: everybodysIssuers(config.acmeDirectories),
  })
  const { dnsZone } = config
  if (!dnsZone) return probe
  return {
    ...probe,
    check(hostname, ownership, signal) {
      const value = `${delegationLabel(ownership.proof, hostname)}.${dnsZone}`
      return probe.check(hostname, { ...ownership, delegation: { name: challengeNameOf(hostname), value } }, signal)
    },
  }
}

/** The probe of whoever knows a hostname alone: it also leads to the edge by the CNAME target of the project that holds it. */
export function withCnameTargets(probe: Probe, db: Db): Probe {
  return { ...probe, leadsToEdge: async (hostname) => probe.leadsToEdge(hostname, await findCnameTarget(db, hostname)) }
}

/** None where one of the directories is not known: CAA records that forbid the others may allow that one. */
function everybodysIssuers(directories: readonly string[]): string[] {
  const issuers = directories.map(caaIssuersOf)
  return issuers.every(({ length }) => length > 0) ? issuers.flat() : []
}

/** The CAA issuer names (RFC 8659 §4.2) of a directory's operator; none known: CAA is then left to the authority itself. */
export function caaIssuersOf(directory: string): string[] {
  if (directory === 'local') return []
  const host = new URL(directory).hostname
  for (const [suffix, issuers] of ISSUERS) if (host === suffix || host.endsWith(`.${suffix}`)) return issuers
  return []
}
