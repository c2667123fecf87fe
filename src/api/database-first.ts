import { saysDatabaseIsAway } from '../errors.ts'

const PATIENCE_MS = 500
const OUTAGE_MEMORY_MS = 2_000

/**
 * Asks the database. Where an older answer is at hand, it stands in when the database cannot be reached within half a second, and for
 * the two seconds after that at once, so that an outage does not make every caller wait. Without one, the failure is the caller's.
 */
export type DatabaseFirst = <T>(ask: () => Promise<T>, older: T | undefined) => Promise<T>

export function createDatabaseFirst(now: () => Date): DatabaseFirst {
  let failedAtMs = Number.NEGATIVE_INFINITY
  return async (ask, older) => {
    if (older === undefined) return ask()
    if (now().getTime() - failedAtMs < OUTAGE_MEMORY_MS) return older
    const answer = await Promise.race([ask().catch(unavailable), late()])
    if (answer !== UNAVAILABLE) return answer
    failedAtMs = now().getTime()
    return older
  }
}

const UNAVAILABLE = Symbol('unavailable')

function unavailable(error: unknown): typeof UNAVAILABLE {
  if (saysDatabaseIsAway(error)) return UNAVAILABLE
  throw error
}

function late(): Promise<typeof UNAVAILABLE> {
  return new Promise((resolve) => setTimeout(resolve, PATIENCE_MS, UNAVAILABLE).unref())
}
