import { parse } from 'tldts'
import { ServiceError } from '../errors.ts'
import { type ExactHostname, type Hostname, isWildcard, wildcardOver, withoutStar } from '../hostname.ts'
import type { Plans } from './plans.ts'

/**
 * What the service itself keeps: `reserved` holds the edge, API and portal hosts; `edgeHost`, `dnsZone` and names below
 * either are reserved too. `wildcards`: whether certificates can be had for them, which takes DNS-01 and so that zone of our own.
 */
export type ClaimRules = {
  plans: Plans
  edgeHost: Hostname
  /** The addresses that customers may enter in place of it; none where the operator has set none. */
  edgeIps: readonly string[]
  reserved: ReadonlySet<string>
  wildcards: boolean
  dnsZone?: Hostname | undefined
}

/** Whether a name that is no wildcard is one of the service's own hosts, or in one of its own domains. */
export function isOwnName(name: ExactHostname, rules: Pick<ClaimRules, 'edgeHost' | 'dnsZone' | 'reserved'>): boolean {
  return ownDomains(rules).some((domain) => `.${name}`.endsWith(`.${domain}`)) || rules.reserved.has(name)
}

/**
 * Throws `hostname_reserved` for the service's own names and for a wildcard over one of them, `hostname_invalid` for a public suffix
 * (`co.uk`), which nobody owns, with or without a star, and `wildcards_not_enabled`.
 */
export function requireClaimable(hostname: Hostname, rules: ClaimRules): void {
  const name = withoutStar(hostname)
  if (isWildcard(hostname) && !rules.wildcards) {
    throw new ServiceError('wildcards_not_enabled', 'wildcard hostnames are not enabled here: claim each hostname on its own')
  }
  const ours = isOwnName(name, rules)
  if (
    ours ||
    (isWildcard(hostname) && [...rules.reserved, ...ownDomains(rules)].some((own) => wildcardOver(own as Hostname) === hostname))
  ) {
    const why = ours ? 'belongs to the service itself' : "covers the service's own hosts"
    throw new ServiceError('hostname_reserved', `${hostname} ${why} and cannot be claimed`)
  }
  const { isIcann, publicSuffix } = parse(name, { allowPrivateDomains: false })
  if (isIcann && publicSuffix === name) {
    const below = isWildcard(hostname) ? 'a wildcard of a name below it' : 'a name below it'
    throw new ServiceError('hostname_invalid', `${name} is a public suffix, under which others register their domains: claim ${below}`)
  }
}

function ownDomains({ edgeHost, dnsZone }: Pick<ClaimRules, 'edgeHost' | 'dnsZone'>): Hostname[] {
  return dnsZone ? [edgeHost, dnsZone] : [edgeHost]
}
