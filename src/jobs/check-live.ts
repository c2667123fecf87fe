import type { Db } from '../core/db.ts'
import { type EdgeAddress, findVisitableEdges } from '../core/edges.ts'
import { findLiveCheck, findMissingEdges, type LiveOutcome, recordLiveCheck, recordLiveWait } from '../core/live-checks.ts'
import { type Hostname, parseClaimName } from '../hostname.ts'

export type CheckLiveParts = {
  db: Db
  /** Asks the hostname for a page as a visitor does, where its DNS leads and at each of the edges, and compares the certificate that is presented. Never rejects. */
  visit(hostname: Hostname, serial: string, edges: readonly EdgeAddress[]): Promise<LiveOutcome>
  /** How long an edge that fell silent may go on serving a hostname's former project; without it ten minutes. */
  leaseS?: number
}

/**
 * Waits until the edges have what the hostname needs, then makes the requests of our own after which a domain counts as live. Nothing is to be done
 * where DNS or certificate are not right by now.
 */
export async function checkLive({ db, visit, leaseS }: CheckLiveParts, payload: unknown): Promise<void> {
  const check = await findLiveCheck(db, parseClaimName((payload as { hostname: string }).hostname))
  if (!check) return
  const missing = await findMissingEdges(db, check, leaseS)
  if (missing.length > 0) return recordLiveWait(db, check, missing)
  await recordLiveCheck(db, check, await visit(check.hostname, check.serial, await findVisitableEdges(db)))
}
