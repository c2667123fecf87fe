import { parse } from 'tldts'
import { ServiceError } from '../errors.ts'
import type { Hostname } from '../hostname.ts'
import type { Plans } from './plans.ts'

/** What the service itself keeps: `reserved` holds the edge, API and portal hosts; names below `edgeHost` are reserved too. */
export type ClaimRules = { plans: Plans; edgeHost: Hostname; reserved: ReadonlySet<string>; dnsZone?: Hostname | undefined }

/** Throws `hostname_reserved` for the service's own names and `hostname_invalid` for a public suffix (`co.uk`), which nobody owns. */
export function requireClaimable(hostname: Hostname, rules: ClaimRules): void {
  if (rules.reserved.has(hostname) || hostname === rules.edgeHost || hostname.endsWith(`.${rules.edgeHost}`)) {
    throw new ServiceError('hostname_reserved', `${hostname} belongs to the service itself and cannot be claimed`)
  }
  const { isIcann, publicSuffix } = parse(hostname, { allowPrivateDomains: false })
  if (isIcann && publicSuffix === hostname) {
    throw new ServiceError(
      'hostname_invalid',
      `${hostname} is a public suffix, under which others register their domains: claim a name below it`,
    )
  }
}
