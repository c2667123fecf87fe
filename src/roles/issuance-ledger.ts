import { IssueError } from '../certs/authority.ts'
import type { IssuancePermission } from '../core/certificates.ts'
import type { Db } from '../core/db.ts'
import {
  type BudgetRequest,
  markSent,
  NO_ROOM_PROBLEM,
  type OrderOutcome,
  type RateLimit,
  recordRateLimit,
  renewUnderWay,
  settleOrder,
  takeFallbackBudget,
  takeOrdinaryBudget,
} from '../core/issuance-budget.ts'
import type { Hostname } from '../hostname.ts'
import type { Log } from '../log.ts'

/** The issuance budget as an order under way sees it. `take`, `settle`, `goOn` and `correct` never reject: a certificate in hand is worth more than its entry. */
export type IssuanceLedger = {
  /** Room for the same order at another directory, or undefined. */
  take(
    directory: string,
    hostname: Hostname,
    permission: IssuancePermission,
  ): Promise<Pick<IssuancePermission, 'orderId' | 'asked'> | undefined>
  /**
   * Ordinary room for an order that was to be exempt, in place of its entry. Rejects with IssueError `noRoom` when there is none, as when it
   * cannot be had: then the order must not be sent.
   */
  takeOrdinary(
    orderId: string | null,
    directory: string,
    hostname: Hostname,
    permission: IssuancePermission,
  ): Promise<{ orderId: string | null }>
  /** To be asked before an order is sent. False where it must not be, since its room was given back; rejects when that cannot be known. */
  send(orderId: string | null): Promise<boolean>
  settle(orderId: string | null, outcome: OrderOutcome): Promise<void>
  /** The order was left open, and is gone on with. */
  goOn(orderId: string | null): Promise<void>
  correct(limit: RateLimit): Promise<void>
}

/** The ledger in the database; `limits` hold instead of what is known of each directory. What cannot be settled stays counted against every limit, which is the safe side. */
export function createIssuanceLedger(db: Db, log: Log, { limits }: Pick<BudgetRequest, 'limits'> = {}): IssuanceLedger {
  const attempt = async <T>(fn: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await fn()
    } catch (error) {
      log.warn({ err: error }, 'the issuance budget could not be kept')
      return undefined
    }
  }
  return {
    async take(directory, hostname, { projectId, asRenewal: renewing }) {
      const answer = await attempt(() => takeFallbackBudget(db, { directory, hostname, projectId, renewing, limits }))
      if (answer?.kind === 'no-room') log.warn({ hostname, directory, reason: answer.sentence }, 'no order at this authority')
      return answer?.kind === 'taken' ? answer : undefined
    },
    async takeOrdinary(orderId, directory, hostname, { projectId, asRenewal: renewing }) {
      const answer = await attempt(() => takeOrdinaryBudget(db, orderId, { directory, hostname, projectId, renewing, limits }))
      if (answer?.kind === 'taken') return answer
      const reason = answer?.sentence ?? 'The issuance budget could not be read; it is tried again.'
      const lead = `${directory} does not take this order as the renewal that it asked for, and counts it as any other. `
      throw new IssueError(lead + reason, { type: NO_ROOM_PROBLEM, detail: reason })
    },
    send: (orderId) => markSent(db, orderId),
    goOn: async (orderId) => {
      if (orderId !== null) await attempt(() => renewUnderWay(db, orderId))
    },
    settle: (orderId, outcome) => attempt(() => settleOrder(db, orderId, outcome)),
    correct: (limit) => attempt(() => recordRateLimit(db, limit)),
  }
}
