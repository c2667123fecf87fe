import { type RawBuilder, sql } from 'kysely'
import type { Hostname } from '../hostname.ts'
import { type Db, rows } from './db.ts'
import type { DnsState } from './dns-report.ts'
import { COUNTS_AS_LIVE } from './live-checks.ts'

export const DOMAIN_STATUSES = ['waiting-for-dns', 'wrong-record', 'verified', 'certificate-pending', 'certificate-failed', 'live'] as const

/** How far a domain has come, in one word. `live`: its record is right, its certificate is there, and a request of our own over HTTPS has come through. */
export type DomainStatus = (typeof DOMAIN_STATUSES)[number]

/** What a domain's status follows from. `certified`: it has a certificate that is valid now. `seen`: our own request came through, or was tried often enough. */
export type DomainFacts = {
  verified: boolean
  dnsState: DnsState
  certificate: 'none' | 'pending' | 'issued' | 'failed'
  certified: boolean
  seen: boolean
}

/** A domain that may have changed: how it stands, or that its project does not hold it any more. */
export type DomainNews = { projectId: string; hostname: Hostname } & (
  | { removed: false; verified: boolean; verifiedAt: string | null; createdAt: string; status: DomainStatus }
  | { removed: true }
)

// Not the owner's doing: they wait with the others, or nothing is known against a record that was right before.
export const NOBODYS_FAULT: readonly DnsState[] = ['unknown', 'servers-disagree', 'edge-host-broken']
// Nor is a CNAME target that leads elsewhere, but that of whoever set it: no visitor comes by it.
const NOT_THERE_YET: readonly DnsState[] = [...NOBODYS_FAULT, 'cname-target-broken', 'absent', 'proof-needed', 'verified']

/** A record that has gone wrong shows, though `verified` never goes back. */
export function domainStatus({ verified, dnsState, certificate, certified, seen }: DomainFacts): DomainStatus {
  if (!verified) return NOT_THERE_YET.includes(dnsState) ? 'waiting-for-dns' : 'wrong-record'
  if (dnsState !== 'verified' && !NOBODYS_FAULT.includes(dnsState)) return 'wrong-record'
  if (certified) return seen ? 'live' : 'certificate-pending'
  if (certificate === 'failed') return 'certificate-failed'
  return certificate === 'none' ? 'verified' : 'certificate-pending'
}

type Place = { projectId: string; hostname: Hostname }
type Held = Place & DomainFacts & { verifiedAt: Date | null; createdAt: Date }

/** How those of the hostnames stand that these projects (ids) hold or held; the others are left out. */
export async function findDomainNews(db: Db, projectIds: readonly string[], hostnames: readonly Hostname[]): Promise<DomainNews[]> {
  const held = await findHeld(db, projectIds, hostnames)
  const isHeld = new Set(held.map(({ projectId, hostname }) => `${projectId} ${hostname}`))
  const released = await findReleased(db, projectIds, hostnames)
  return [
    ...held.map((row) => ({
      projectId: row.projectId,
      hostname: row.hostname,
      removed: false as const,
      verified: row.verified,
      verifiedAt: row.verifiedAt?.toISOString() ?? null,
      createdAt: row.createdAt.toISOString(),
      status: domainStatus(row),
    })),
    ...released
      .filter(({ projectId, hostname }) => !isHeld.has(`${projectId} ${hostname}`))
      .map((place) => ({ ...place, removed: true as const })),
  ]
}

/** The status of each of these domains, which the project holds. */
export async function findStatuses(db: Db, projectId: string, hostnames: readonly Hostname[]): Promise<Map<Hostname, DomainStatus>> {
  const held = await findHeld(db, [projectId], hostnames)
  return new Map(held.map((row) => [row.hostname, domainStatus(row)]))
}

// Of each of the two an index knows its part of the domains alone, and serves a query that says so in its words.

function findHeld(db: Db, projectIds: readonly string[], hostnames: readonly Hostname[]): Promise<Held[]> {
  return rows(
    db,
    sql<Held>`
      select d.project_id as "projectId", d.hostname, d.verified_at as "verifiedAt", d.created_at as "createdAt",
        d.verified_at is not null as verified, coalesce(p.state, 'unknown') as "dnsState", coalesce(c.state, 'none') as certificate,
        coalesce(c.chain_pem is not null and c.not_after > now(), false) as certified, coalesce(${COUNTS_AS_LIVE}, false) as seen
      from domains d left join probes p on p.domain_id = d.id
      left join certificates c on c.hostname = d.hostname and c.project_id = d.project_id
      where d.hostname = any(${hostnames}::text[]) and d.project_id = any(${projectIds}::bigint[]) and d.deleted_at is null`,
  )
}

/** One look at each is enough, however often it was claimed and given up. */
function findReleased(db: Db, projectIds: readonly string[], hostnames: readonly Hostname[]): Promise<Place[]> {
  const oneRelease = (more: RawBuilder<unknown>) =>
    sql`lateral (select from domains r where r.hostname = wanted and r.deleted_at is not null ${more} limit 1)`
  return rows(
    db,
    sql<Place>`
      select project as "projectId", wanted as hostname
      from unnest(${hostnames}::text[]) wanted, ${oneRelease(sql``)} by_anybody, unnest(${projectIds}::bigint[]) project,
        ${oneRelease(sql`and r.project_id = project`)} by_project`,
  )
}
