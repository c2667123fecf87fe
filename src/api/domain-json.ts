import type { DomainDetails } from '../core/domain-details.ts'
import type { DomainRecord } from '../core/domain-record.ts'

/** The domain record as JSON text. Metadata goes in as the raw text that was sent: parsing it would lose key order and number notation. */
export function domainJson(domain: DomainRecord): string {
  return `{${membersOf(domain)}}`
}

/** As domainJson, with DNS and certificate. */
export function detailsJson(details: DomainDetails): string {
  return `{${membersOf(details)},"dns":${JSON.stringify(details.dns)},"certificate":${JSON.stringify(details.certificate)}}`
}

function membersOf({ hostname, projectSlug, verified, verifiedAt, createdAt, metadataJson }: DomainRecord): string {
  return `${JSON.stringify({ hostname, projectSlug, verified, verifiedAt, createdAt }).slice(1, -1)},"metadata":${metadataJson}`
}
