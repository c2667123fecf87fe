import { type ClaimRules, isOwnName } from '../core/claim-rules.ts'
import { ServiceError } from '../errors.ts'
import type { ExactHostname } from '../hostname.ts'
import { recordTypeShown } from '../lib/record-type.ts'
import { registeredDomain } from '../probe/place.ts'
import type { Destination, Probe } from '../probe/probe.ts'

/**
 * What a CNAME target is held to: it is the vendor's own name, and what leads to it leads to the edge. Throws `hostname_reserved`, or
 * `cname_target_invalid` with the record to add, also when it cannot be found out.
 */
export async function checkCnameTarget(
  target: ExactHostname,
  rules: Pick<ClaimRules, 'edgeHost' | 'dnsZone' | 'reserved'>,
  leadsToEdge: Probe['leadsToEdge'],
): Promise<void> {
  if (isOwnName(target, rules))
    throw new ServiceError('hostname_reserved', `a CNAME target is in a domain of your own, and ${target} belongs to the service itself`)
  const destination = await leadsToEdge(target)
  if (destination.kind !== 'yes') throw new ServiceError('cname_target_invalid', reasonOf(target, rules.edgeHost, destination))
}

function reasonOf(target: string, edgeHost: string, { kind, sentence }: Exclude<Destination, { kind: 'yes' }>): string {
  if (kind === 'unknown') return `it cannot be found out now where ${target} leads, so nothing was saved: try again soon. ${sentence}`
  const type = registeredDomain(target) === target ? recordTypeShown('ALIAS') : 'CNAME'
  return `the record ${target} ${type} ${edgeHost} is needed first. ${sentence}`
}
