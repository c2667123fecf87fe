import { type RawBuilder, sql } from 'kysely'
import { type Hostname, wildcardOver } from '../hostname.ts'
import { type Db, rows } from './db.ts'
import { eachPage } from './pages.ts'
import { proofNeeded } from './proof.ts'
import type { UpstreamProtocol } from './upstream-url.ts'

/**
 * What is a claimed name's own, as the machines' local copies keep it. Of two readings the one with the higher version is the newer.
 * `proofNeeded`: it may not be served yet, see proof.ts; nor may a wildcard before it is verified, whose claim shows no tie to any name.
 */
export type RouteRow = {
  hostname: Hostname
  projectId: string
  metadataJson: string
  verified: boolean
  proofNeeded: boolean
  createdAtMs: number
  version: number
}

/** Where a claimed name leads: the rest is its project's, which the copies keep once. */
export type Route = RouteRow & { projectSlug: string; upstreamUrl: string; upstreamProtocol: UpstreamProtocol }

/** A hostname's certificate, or why it has none. The key is sealed, with the hostname as associated data. */
export type CertificateRow = {
  hostname: Hostname
  state: 'issued' | 'pending' | 'failed'
  chainPem: string | null
  sealedKey: Buffer | null
  notAfterMs: number | null
  reason: string | null
  nextAttemptAtMs: number | null
  version: number
}

/** Without `metadata` the rows have an empty object there, and are read with the rights of an edge machine, to which it is nothing. */
export type RouteReading = { metadata: boolean }

const WHOLE: RouteReading = { metadata: true }
const BY_HOSTNAME = { key: 'hostname', start: '' } as const

/** The route that a visitor of the hostname takes: its own, else that of the wildcard over it. */
export async function findRoute(db: Db, hostname: Hostname, reading = WHOLE): Promise<Route | undefined> {
  const found = await loadRoutes(db, [hostname, wildcardOver(hostname)], reading)
  return found.find((route) => route.hostname === hostname) ?? found[0]
}

/** The routes of those names that are claimed, each for itself; whichever is missing is not. */
export async function loadRoutes(db: Db, hostnames: readonly Hostname[], reading = WHOLE): Promise<Route[]> {
  return rows(
    db,
    sql<Route>`
      select ${routeColumns(reading)}, p.slug as "projectSlug", p.upstream_url as "upstreamUrl", p.upstream_protocol as "upstreamProtocol"
      from domains d join projects p on p.id = d.project_id
      where d.deleted_at is null and d.hostname = any(${hostnames}::text[])`,
  )
}

/** As loadRoutes, without what is the project's. */
export async function loadRouteRows(db: Db, hostnames: readonly Hostname[], reading = WHOLE): Promise<RouteRow[]> {
  return readRouteRows(db, reading, sql`d.hostname = any(${hostnames}::text[])`)
}

/** Every route's row, in pages by hostname; each page is read on its own, so changes from the start on must be followed as well. */
export function eachRoutePage(db: Db, size: number, reading = WHOLE): AsyncIterable<RouteRow[]> {
  return eachPage({ ...BY_HOSTNAME, size }, (after) =>
    readRouteRows(db, reading, sql`d.hostname > ${after} order by d.hostname limit ${size}`),
  )
}

/** The certificates of those hostnames that are registered or the service's own; a released hostname's stays out of sight. */
export async function loadCertificates(db: Db, hostnames: readonly Hostname[]): Promise<CertificateRow[]> {
  return readCertificates(db, sql`c.hostname = any(${hostnames}::text[])`)
}

/** Every such certificate, in pages by hostname. */
export function eachCertificatePage(db: Db, size: number): AsyncIterable<CertificateRow[]> {
  return eachPage({ ...BY_HOSTNAME, size }, (after) => readCertificates(db, sql`c.hostname > ${after} order by c.hostname limit ${size}`))
}

async function readRouteRows(db: Db, reading: RouteReading, which: RawBuilder<unknown>): Promise<RouteRow[]> {
  return rows(db, sql<RouteRow>`select ${routeColumns(reading)} from domains d where d.deleted_at is null and ${which}`)
}

function routeColumns({ metadata }: RouteReading): RawBuilder<unknown> {
  return sql`d.hostname, d.project_id as "projectId", ${metadata ? sql.ref('d.metadata') : sql.lit('{}')} as "metadataJson",
    d.verified_at is not null as verified,
    ${proofNeeded(sql`now()`)} or d.verified_at is null and starts_with(d.hostname, '*.') as "proofNeeded",
    ${milliseconds('d.created_at')} as "createdAtMs", d.version::float8 as version`
}

// When the next attempt is, on this machine's clock: its edges compare it with theirs.
async function readCertificates(db: Db, which: RawBuilder<unknown>): Promise<CertificateRow[]> {
  return rows(
    db,
    sql<CertificateRow>`
      select c.hostname, case when c.state = 'pending' and c.postponed_until > now() then 'failed' else c.state end as state,
        c.chain_pem as "chainPem", c.sealed_key as "sealedKey", ${milliseconds('c.not_after')} as "notAfterMs",
        case when c.postponed_until > now() then c.postponed_reason else c.last_sentence end as reason,
        case when c.last_problem is not null or c.postponed_until > now()
          then round(${Date.now()}::float8 + extract(epoch from c.next_attempt_at - now())::float8 * 1000) end as "nextAttemptAtMs",
        c.version::float8 as version
      from certificates c left join domains d on d.hostname = c.hostname and d.deleted_at is null
      where d.project_id is not distinct from c.project_id and ${which}`,
  )
}

function milliseconds(column: string): RawBuilder<number> {
  return sql`round(extract(epoch from ${sql.ref(column)}) * 1000)::float8`
}
