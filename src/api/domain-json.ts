import type { DomainDetails } from '../core/domain-details.ts'
import type { DomainRecord } from '../core/domain-record.ts'
import type { DomainStatus } from '../core/domain-status.ts'

/** The domain record as JSON text, with its status where one is given. Metadata goes in as the raw text that was sent: parsing it would lose key order and number notation. */
export function domainJson(domain: DomainRecord, status?: DomainStatus): string {
  return `{${membersOf(domain)}${statusMember(status)}}`
}

/** As domainJson, with DNS, certificate and DNS provider. */
export function detailsJson(details: DomainDetails, status?: DomainStatus): string {
  const { dns, certificate, zone, provider, live } = details
  const parts = JSON.stringify({ dns, certificate, zone, provider, live }).slice(1, -1)
  return `{${membersOf(details)},${parts}${statusMember(status)}}`
}

function statusMember(status: DomainStatus | undefined): string {
  return status === undefined ? '' : `,"status":"${status}"`
}

function membersOf({ hostname, projectSlug, verified, verifiedAt, createdAt, metadataJson }: DomainRecord): string {
  return `${JSON.stringify({ hostname, projectSlug, verified, verifiedAt, createdAt }).slice(1, -1)},"metadata":${metadataJson}`
}
