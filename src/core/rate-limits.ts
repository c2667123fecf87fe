import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import { RateLimiterMemory, RateLimiterPostgres, RateLimiterRes } from 'rate-limiter-flexible'
import { ServiceError } from '../errors.ts'
import { type Db, rows } from './db.ts'

/** What is counted: `links` an e-mail address, the others the address that a request comes from. */
export type LimitName = 'links' | 'sign-in' | 'strangers'

export type RateLimits = {
  /** Counts one more for the key. Throws `rate_limited` with the time to wait beyond the limit. */
  take(name: LimitName, key: string): Promise<void>
}

const MINUTE_S = 60
const LIMITS: Record<LimitName, { points: number; duration: number }> = {
  links: { points: 5, duration: 15 * MINUTE_S },
  'sign-in': { points: 30, duration: MINUTE_S },
  strangers: { points: 300, duration: MINUTE_S },
}

/**
 * Counts in PostgreSQL, so all processes share one count; while that cannot be reached each counts for itself. What is over a limit is
 * remembered here and asks the database no more.
 */
export function createRateLimits(db: Db): RateLimits {
  const limiters = Object.fromEntries(
    Object.entries(LIMITS).map(([name, limit]) => [
      name,
      new RateLimiterPostgres({
        ...limit,
        storeClient: db.pool,
        storeType: 'pool',
        tableName: 'rate_limits',
        tableCreated: true,
        clearExpiredByTimeout: false,
        keyPrefix: name,
        inMemoryBlockOnConsumed: limit.points + 1,
        insuranceLimiter: new RateLimiterMemory({ ...limit, keyPrefix: name }),
      }),
    ]),
  )
  return {
    async take(name, key) {
      try {
        await limiters[name]!.consume(createHash('sha256').update(key).digest('base64url')) // as long as the table's key allows
      } catch (error) {
        if (!(error instanceof RateLimiterRes)) throw error
        const retryAfterS = Math.max(1, Math.ceil(error.msBeforeNext / 1000))
        throw new ServiceError('rate_limited', `too many requests: try again in ${waitingTime(retryAfterS)}`, { retryAfterS })
      }
    },
  }
}

/** Deletes the counts that are over. */
export async function pruneRateLimits(db: Db): Promise<void> {
  await rows(db, sql`delete from rate_limits where expire < extract(epoch from now()) * 1000`)
}

function waitingTime(seconds: number): string {
  if (seconds < 120) return `${seconds} seconds`
  return `${Math.ceil(seconds / MINUTE_S)} minutes`
}
