import { sql } from 'kysely'
import { ServiceError } from '../errors.ts'
import type { Hostname } from '../hostname.ts'
import { type Db, rows } from './db.ts'
import { CERTIFICATE, type CertificateColumns, type CertificateDetails, certificateOf } from './domain-details.ts'
import { type OrderRecord, readOrderHistory } from './order-history.ts'

/** A hostname's certificate as the operator sees it. `projectSlug` is null for a host of the service itself; `underWay`: an order runs. */
export type InventoryEntry = { hostname: Hostname; projectSlug: string | null; underWay: boolean } & CertificateDetails

/** With the material, null where there is none; the key is sealed, with the hostname as associated text. */
export type InventoryItem = InventoryEntry & { chainPem: string | null; sealedKey: Buffer | null; history: OrderRecord[] }

export type InventoryQuery = { projectSlug?: string | undefined; state?: string | undefined; limit: number }

/**
 * The certificates of the whole installation, in the order in which they run out; whoever has none comes where those stand that have run
 * out now, and what is not renewed any more comes last. At most `limit` of them; `total` counts all.
 */
export async function listCertificates(db: Db, query: InventoryQuery): Promise<{ certificates: InventoryEntry[]; total: number }> {
  const found = await rows(
    db,
    sql<InventoryRow & { total: number }>`
      select ${ENTRY}, count(*) over ()::int as total
      from certificates c left join domains d on d.hostname = c.hostname and d.deleted_at is null left join projects p on p.id = d.project_id
      where c.project_id is not distinct from d.project_id
        and (${query.projectSlug ?? null}::text is null or p.slug = ${query.projectSlug ?? null})
        and (${query.state ?? null}::text is null or c.state = ${query.state ?? null})
      order by c.renewal_stopped_at is not null, coalesce(c.not_after, now()), c.hostname limit ${query.limit}`,
  )
  return { certificates: found.map(toEntry), total: found[0]?.total ?? 0 }
}

/** One hostname's certificate with all that is known of it. Throws `domain_not_found` when nobody holds the hostname. */
export async function findCertificate(db: Db, hostname: Hostname): Promise<InventoryItem> {
  const [row] = await rows(
    db,
    sql<InventoryRow & { projectId: string | null; chainPem: string | null; sealedKey: Buffer | null }>`
      select ${ENTRY}, d.project_id as "projectId", c.chain_pem as "chainPem", c.sealed_key as "sealedKey"
      from (select ${hostname}::text as hostname) h left join domains d on d.hostname = h.hostname and d.deleted_at is null
        left join projects p on p.id = d.project_id
        left join certificates c on c.hostname = h.hostname and c.project_id is not distinct from d.project_id
      where d.id is not null or c.hostname is not null`,
  )
  if (!row) throw new ServiceError('domain_not_found', `${hostname} is not registered`)
  const history = await readOrderHistory(db, row.projectId === null ? null : { id: row.projectId }, hostname)
  return { ...toEntry(row), hostname, chainPem: row.chainPem, sealedKey: row.sealedKey, history }
}

type InventoryRow = CertificateColumns & { hostname: Hostname; projectSlug: string | null; underWay: boolean }

const ENTRY = sql<InventoryRow>`c.hostname, p.slug as "projectSlug", coalesce(c.lease_until > now(), false) as "underWay", ${CERTIFICATE}`

function toEntry(row: InventoryRow): InventoryEntry {
  return { hostname: row.hostname, projectSlug: row.projectSlug, underWay: row.underWay, ...certificateOf(row) }
}
