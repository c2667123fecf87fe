import type { OpenOrder } from '../certs/authority.ts'
import type { Db } from '../core/db.ts'
import { findOrderUnderWay, forgetOrderUnderWay, keepOrderUnderWay } from '../core/orders-under-way.ts'
import type { Hostname } from '../hostname.ts'
import type { Log } from '../log.ts'
import type { CertificateKeys } from './certificate-keys.ts'

/** Whose order it is, where, and its entry in the issuance budget. */
export type OrderPlace = { directory: string; projectId: string | null }

/** The orders that are open at an authority, as an attempt sees them. None of it rejects: an order goes on without being kept. */
export type KeptOrders = {
  find(hostname: Hostname, place: OrderPlace): Promise<{ orderUrl: string; keyPem: string; orderId: string | null } | undefined>
  keep(hostname: Hostname, order: OpenOrder & OrderPlace & { orderId: string | null }): Promise<void>
  forget(hostname: Hostname, orderUrl: string): Promise<void>
}

/** The open orders in the database, their keys sealed. */
export function createKeptOrders(db: Db, keys: CertificateKeys, log: Pick<Log, 'warn'>): KeptOrders {
  const attempt = async <T>(hostname: Hostname, fn: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await fn()
    } catch (error) {
      log.warn({ err: error, hostname }, 'an open order could not be kept or found; after a crash it would be made anew')
      return undefined
    }
  }
  return {
    find: (hostname, { directory, projectId }) =>
      attempt(hostname, async () => {
        const found = await findOrderUnderWay(db, hostname, { projectId, directories: [directory] })
        if (!found) return undefined
        return { orderUrl: found.orderUrl, keyPem: keys.open(found.sealedKey, hostname), orderId: found.orderId }
      }),
    keep: (hostname, { keyPem, ...order }) =>
      attempt(hostname, () => keepOrderUnderWay(db, hostname, { ...order, sealedKey: keys.seal(keyPem, hostname) })),
    forget: (hostname, orderUrl) => attempt(hostname, () => forgetOrderUnderWay(db, hostname, orderUrl)),
  }
}
