import { sql } from 'kysely'
import type { Hostname } from '../hostname.ts'
import { type Db, type Queryable, rows } from './db.ts'

const KEPT_HOURS_MAX = 7 * 24 // as long as the public authorities keep an order open
const KEPT_HOURS_UNTOLD = 24

/** An order that is open at an authority. `orderId` is its entry in the issuance budget, which nobody has settled yet. */
export type OrderUnderWay = { directory: string; orderUrl: string; sealedKey: Buffer; orderId: string | null }

/** Keeps an open order until its certificate is stored, or it is forgotten, or over; one a hostname and directory. */
export async function keepOrderUnderWay(
  db: Db,
  hostname: Hostname,
  order: OrderUnderWay & { projectId: string | null; expires: Date | undefined },
): Promise<void> {
  const { directory, projectId, orderUrl, sealedKey, orderId, expires } = order
  await rows(
    db,
    sql`
      insert into orders_under_way (hostname, directory, project_id, order_url, sealed_key, order_id, expires_at)
      values (${hostname}, ${directory}, ${projectId}::bigint, ${orderUrl}, ${sealedKey}, ${orderId}::bigint,
        least(coalesce(${expires ?? null}::timestamptz, now() + make_interval(hours => ${KEPT_HOURS_UNTOLD})), now() + make_interval(hours => ${KEPT_HOURS_MAX})))
      on conflict (hostname, directory) do update set project_id = excluded.project_id, order_url = excluded.order_url,
        sealed_key = excluded.sealed_key, order_id = excluded.order_id, expires_at = excluded.expires_at`,
  )
}

/** The project's open order for the hostname at the first of the directories that has one; what another project left is not found. */
export async function findOrderUnderWay(
  on: Queryable,
  hostname: Hostname,
  { projectId, directories }: { projectId: string | null; directories: readonly string[] },
): Promise<OrderUnderWay | undefined> {
  const [found] = await rows(
    on,
    sql<OrderUnderWay>`
      select directory, order_url as "orderUrl", sealed_key as "sealedKey", order_id::text as "orderId" from orders_under_way
      where hostname = ${hostname} and project_id is not distinct from ${projectId}::bigint and expires_at > now()
        and directory = any(${directories}::text[])
      order by array_position(${directories}::text[], directory) limit 1`,
  )
  return found
}

/** The order is done, or failed for good. Another one for the same hostname stays. */
export async function forgetOrderUnderWay(db: Db, hostname: Hostname, orderUrl: string): Promise<void> {
  await rows(db, sql`delete from orders_under_way where hostname = ${hostname} and order_url = ${orderUrl}`)
}

/** Deletes the keys of orders that are over by now. To be called now and then. */
export async function pruneOrdersUnderWay(db: Db): Promise<void> {
  await rows(db, sql`delete from orders_under_way where expires_at <= now()`)
}
