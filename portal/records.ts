// What the API answers with, as the portal reads it. Times are ISO 8601.

export type Role = 'owner' | 'admin' | 'member'
export type User = { email: string; projects: { slug: string; name: string; role: Role }[]; signedInAt: string }

export const UPSTREAM_PROTOCOLS = ['http1', 'h2', 'h2c'] as const
export type UpstreamProtocol = (typeof UPSTREAM_PROTOCOLS)[number]

/** With the entity tag that it came with, by which a change says what it was made over; undefined where it came in a list, or a proxy took the tag away. */
export type Tagged<Record> = Record & { etag?: string | undefined }

export type Project = {
  slug: string
  name: string
  role: Role
  upstreamUrl: string
  upstreamProtocol: UpstreamProtocol
  plan: { name: string; domainsMax: number | null }
  domains: number
  createdAt: string
  brand?: { color?: string | null; logoUrl?: string | null }
  /** HTML of the vendor's own; null: the service's page. Not in lists. */
  errorPage?: string | null
  /** The vendor's own name that customers are told in place of the edge host. */
  cnameTarget?: string | null
  /** Not in lists. */
  edgeHost?: string
}
export type UpstreamCheck = { kind: 'answered'; status: number } | { kind: 'unreachable'; sentence: string }
export type CheckedProject = Project & { upstreamCheck?: UpstreamCheck }

export const DOMAIN_STATUSES = ['waiting-for-dns', 'wrong-record', 'verified', 'certificate-pending', 'certificate-failed', 'live'] as const
export type DomainStatus = (typeof DOMAIN_STATUSES)[number]

export type Domain = {
  hostname: string
  projectSlug: string
  verified: boolean
  verifiedAt: string | null
  createdAt: string
  metadata: object
  status: DomainStatus
}

export type DnsRecord = { name: string; type: string; value: string }
export type Delegation = DnsRecord & { state: 'present' | 'absent' | 'elsewhere' | 'unknown'; sentence: string }
export type Dns = {
  state: string
  sentence: string
  expected: DnsRecord[]
  found: DnsRecord[]
  warnings?: { kind: string; sentence: string }[]
  checkedAt?: string | null
  nextCheckAt?: string | null
  /** One more record, which is not needed: with it the certificate is issued before the hostname leads here. */
  delegation: Delegation | null
}
export type Certificate = {
  state: 'none' | 'pending' | 'issued' | 'failed'
  origin: 'ordered' | 'imported' | null
  issuer: string | null
  serial: string | null
  notBefore: string | null
  notAfter: string | null
  renewAt: string | null
  attempts: number
  lastAttemptAt: string | null
  lastError: { sentence: string; problem: { type?: unknown } } | null
  nextAttemptAt: string | null
  nextIssuanceAt: string | null
  nextIssuanceReason: string | null
  renewal: { plan: 'ari' | 'lifetime' | 'imported' | 'stopped'; sentence: string; explanationUrl: string | null } | null
}
export type ProviderHint = { id: string; name: string }
export type DomainDetails = Domain & {
  dns: Dns
  certificate: Certificate
  provider: ProviderHint | null
  zone: string | null
  /** The metadata as it was sent: the parsed one has lost the notation of numbers. */
  metadataJson: string
  live: { seenAt: string | null; sentence: string | null }
}

export type BulkResult = { hostname: string; outcome: 'claimed' | 'exists' | 'refused'; code?: string; detail?: string }

export type Token = { id: string; name: string; preview: string; createdAt: string; lastUsedAt: string | null; revokedAt: string | null }
export type IssuedToken = { id: string; name: string; token: string; preview: string; createdAt: string }
export type Member = { email: string; role: Role; invitedAt: string | null; joinedAt: string | null; etag: string }
export type Activity = {
  id: string
  at: string
  actor: { kind: 'user'; email: string } | { kind: 'token'; name: string; preview: string } | { kind: 'operator' }
  action: string
  subject: string
  detail: Record<string, unknown>
}

export type Connect = {
  hostname: string
  project: { name: string; color: string | null; logoUrl: string | null }
  status: DomainStatus
  dns: Dns
  provider: ProviderHint | null
  zone: string | null
  expiresAt: string
}
