import { sql } from 'kysely'
import { type Cursor, EPOCH } from './changes.ts'
import { aroundNow } from './database-clock.ts'
import { type Db, rows } from './db.ts'

/**
 * What a machine with the role edge says of itself. `place` is how far into the change feed its copy and each of its edge processes have come,
 * `behindMs` how long ago that was all there was. `address` (host:port) is where workers reach its https. `load` is in processor cores.
 */
export type EdgeBeat = {
  id: string
  name: string
  address: string | undefined
  version: string
  runsForMs: number
  behindMs: number
  place: Cursor
  routes: number
  certificates: number
  connections: number
  load: number
}

/** An edge as it said last. `fresh`: it was heard within ten seconds. Times in ISO 8601, by the database's clock. */
export type Edge = {
  id: string
  name: string
  address: string | null
  version: string
  state: 'fresh' | 'silent'
  startedAt: string
  heartbeatAt: string
  behindMs: number
  routes: number
  certificates: number
  connections: number
  load: number
}

/** An edge that a change has not reached. `leaseEndsAt` is when a silent one is no longer waited for, null for a fresh one. */
export type EdgeBehind = { name: string; heartbeatAt: Date; leaseEndsAt: Date | null }

/** Where a fresh edge is visited. */
export type EdgeAddress = { name: string; address: string }

/** For so long after its last heartbeat an edge may still serve what it was told before, to somebody who is told otherwise. */
export const EDGE_LEASE_S = 600

// One from the future is from before the database's clock was set back, and says nothing of now.
const FRESH = sql`heartbeat_at ${aroundNow(10)}`
const KEPT = sql`interval '1 day'`
// A transaction's time is that of its beginning: what it did may be seen only so much later.
const TRANSACTION_MAX = sql`interval '1 minute'`

/** Writes the edge's heartbeat: one row a machine, whatever it was before. */
export async function beatEdge(db: Db, beat: EdgeBeat): Promise<void> {
  const { place } = beat
  await rows(
    db,
    sql`
      insert into edges (id, name, address, version, started_at, heartbeat_at, behind_ms, epoch, xid, seq, routes, certificates, connections, load)
      values (${beat.id}::uuid, ${beat.name}, ${beat.address ?? null}, ${beat.version}, now() - make_interval(secs => ${beat.runsForMs / 1_000}), now(),
        ${Math.round(beat.behindMs)}, ${place.epoch}, ${place.xid}::xid8, ${place.seq}::bigint, ${beat.routes}, ${beat.certificates},
        ${beat.connections}, ${beat.load})
      on conflict (id) do update set name = excluded.name, address = excluded.address, version = excluded.version,
        started_at = excluded.started_at, heartbeat_at = excluded.heartbeat_at, behind_ms = excluded.behind_ms, epoch = excluded.epoch,
        xid = excluded.xid, seq = excluded.seq, routes = excluded.routes, certificates = excluded.certificates,
        connections = excluded.connections, load = excluded.load`,
  )
}

type EdgeRow = Omit<Edge, 'state' | 'startedAt' | 'heartbeatAt'> & { fresh: boolean; startedAt: Date; heartbeatAt: Date }

/** Every edge of the last day, by name. */
export async function listEdges(db: Db): Promise<Edge[]> {
  const found = await rows(
    db,
    sql<EdgeRow>`
      select id, name, address, version, started_at as "startedAt", heartbeat_at as "heartbeatAt", behind_ms::float8 as "behindMs",
        routes::float8 as routes, certificates::float8 as certificates, connections, load, ${FRESH} as fresh
      from edges order by name, id`,
  )
  return found.map(({ fresh, startedAt, heartbeatAt, ...edge }) => ({
    ...edge,
    state: fresh ? 'fresh' : 'silent',
    startedAt: startedAt.toISOString(),
    heartbeatAt: heartbeatAt.toISOString(),
  }))
}

/** Takes silent edges of that name (or id) off the list, so that nobody waits for them. One that is still heard stays: it would be back at once. */
export async function forgetEdge(db: Db, nameOrId: string): Promise<{ kind: 'forgotten' | 'fresh' | 'unknown' }> {
  const [found] = await rows(
    db,
    sql<{ forgotten: number; all: number }>`
      with gone as (
        delete from edges where ${nameOrId} in (name, id::text) and not (${FRESH}) returning id
      )
      select (select count(*) from gone)::int as forgotten, (select count(*) from edges where ${nameOrId} in (name, id::text))::int as "all"`,
  )
  if (found!.forgotten > 0) return { kind: 'forgotten' }
  return { kind: found!.all > 0 ? 'fresh' : 'unknown' }
}

/** Takes edges off the list that have been silent for a day. */
export async function pruneEdges(db: Db): Promise<void> {
  await rows(db, sql`delete from edges where heartbeat_at < now() - ${KEPT}`)
}

/** How many edges there are, by whether they are heard. */
export async function countEdges(db: Db): Promise<{ fresh: number; silent: number }> {
  const [counted] = await rows(
    db,
    sql<{ fresh: number; silent: number }>`
      select count(*) filter (where ${FRESH})::int as fresh,
        count(*) filter (where not (${FRESH}))::int as silent from edges`,
  )
  return counted!
}

/** The fresh edges that workers can visit. */
export async function findVisitableEdges(db: Db): Promise<EdgeAddress[]> {
  return rows(db, sql<EdgeAddress>`select name, address from edges where address is not null and ${FRESH} order by name, id`)
}

/**
 * The fresh edges that have not yet reached what the transaction `xid` committed. Where a hostname was given up by another project at `releasedAt`,
 * the silent ones too that may not know it, for `leaseS` seconds after their last heartbeat.
 */
export async function findEdgesBehind(
  db: Db,
  { xid, releasedAt, leaseS = EDGE_LEASE_S }: { xid: string; releasedAt: Date | null; leaseS?: number | undefined },
): Promise<EdgeBehind[]> {
  return rows(
    db,
    sql<EdgeBehind>`
      select name, heartbeat_at as "heartbeatAt",
        case when not (${FRESH}) then heartbeat_at + make_interval(secs => ${leaseS}) end as "leaseEndsAt"
      from edges
      where not (xid > ${xid}::xid8 and epoch = (select ${EPOCH} from feed)) and (
        ${FRESH}
        or heartbeat_at > now() - make_interval(secs => ${leaseS})
          and case when heartbeat_at <= now() then heartbeat_at - make_interval(secs => behind_ms / 1000.0) else '-infinity' end
            < ${releasedAt}::timestamptz + ${TRANSACTION_MAX})
      order by heartbeat_at, name`,
  )
}
