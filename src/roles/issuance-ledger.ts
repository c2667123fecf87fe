import type { IssuancePermission } from '../core/certificates.ts'
import type { Db } from '../core/db.ts'
import { type OrderOutcome, type RateLimit, recordRateLimit, settleOrder, takeFallbackBudget } from '../core/issuance-budget.ts'
import type { Hostname } from '../hostname.ts'
import type { Log } from '../log.ts'

/** The issuance budget as an order under way sees it. None of it rejects: a certificate in hand is worth more than its entry. */
export type IssuanceLedger = {
  /** Room for the same order at another directory, or undefined. */
  take(directory: string, hostname: Hostname, permission: IssuancePermission): Promise<{ orderId: string | null } | undefined>
  settle(orderId: string | null, outcome: OrderOutcome): Promise<void>
  correct(limit: RateLimit): Promise<void>
}

/** The ledger in the database. What cannot be settled stays counted against every limit, which is the safe side. */
export function createIssuanceLedger(db: Db, log: Log): IssuanceLedger {
  const attempt = async <T>(fn: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await fn()
    } catch (error) {
      log.warn({ err: error }, 'the issuance budget could not be kept')
      return undefined
    }
  }
  return {
    async take(directory, hostname, { projectId, renewing }) {
      const answer = await attempt(() => takeFallbackBudget(db, { directory, hostname, projectId, renewing }))
      if (answer?.kind === 'no-room') log.warn({ hostname, directory, reason: answer.sentence }, 'no order at this authority')
      return answer?.kind === 'taken' ? answer : undefined
    },
    settle: (orderId, outcome) => attempt(() => settleOrder(db, orderId, outcome)),
    correct: (limit) => attempt(() => recordRateLimit(db, limit)),
  }
}
