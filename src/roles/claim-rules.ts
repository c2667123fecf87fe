import type { Config } from '../config.ts'
import type { ClaimRules } from '../core/claim-rules.ts'

/** What a claim is held to in this installation: the plans, and the service's own names that nobody may claim. */
export function claimRules(config: Config): ClaimRules {
  const reserved = new Set<string>([config.edgeHost, config.baseUrl.hostname, config.portalUrl.hostname])
  const { plans, edgeHost, edgeIps, dnsZone } = config
  return { plans, edgeHost, edgeIps, reserved, dnsZone, wildcards: dnsZone !== undefined }
}
