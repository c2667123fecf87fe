import type { Db } from '../core/db.ts'
import { findLiveCheck, type LiveOutcome, recordLiveCheck } from '../core/live-checks.ts'
import { type Hostname, parseClaimName } from '../hostname.ts'

export type CheckLiveParts = {
  db: Db
  /** Asks the hostname for a page as a visitor does, and compares the certificate that is presented. Never rejects. */
  visit(hostname: Hostname, serial: string): Promise<LiveOutcome>
}

/** Makes the request of our own after which a domain counts as live. Nothing is to be done where DNS or certificate are not right by now. */
export async function checkLive({ db, visit }: CheckLiveParts, payload: unknown): Promise<void> {
  const check = await findLiveCheck(db, parseClaimName((payload as { hostname: string }).hostname))
  if (check) await recordLiveCheck(db, check, await visit(check.hostname, check.serial))
}
