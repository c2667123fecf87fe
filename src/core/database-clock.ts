import { type RawBuilder, sql } from 'kysely'
import { pause } from '../lib/back-off.ts'
import { steadyNowMs } from '../lib/steady-clock.ts'
import { type Db, rows } from './db.ts'

/** The time as the database has it, for what machines compare with each other. */
export type DatabaseClock = { now(): Date; close(): Promise<void> }

const READ_EVERY_MS = 60_000
const RETRY_MS = 2_000
const ROUND_TRIP_MS_MAX = 1_000 // of a slower answer nobody knows what time it tells

/**
 * A clock that is set by the database's at the start and each minute after it, and runs by the monotonic clock between: neither a wrong clock of this
 * machine nor a jump of it shows. Until the first answer it is the machine's own.
 */
export function createDatabaseClock(db: Db): DatabaseClock {
  const stopping = new AbortController()
  let aheadMs = 0

  const read = async (): Promise<boolean> => {
    const askedMs = steadyNowMs()
    try {
      const [answer] = await rows(db, sql<{ ms: number }>`select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms`)
      const answeredMs = steadyNowMs()
      if (answeredMs - askedMs > ROUND_TRIP_MS_MAX) return false
      aheadMs = answer!.ms - (askedMs + answeredMs) / 2
      return true
    } catch {
      return false
    }
  }
  const keep = async () => {
    while (!stopping.signal.aborted) await pause((await read()) ? READ_EVERY_MS : RETRY_MS, stopping.signal)
  }
  const keeping = keep()
  return {
    now: () => new Date(steadyNowMs() + aheadMs),
    async close() {
      stopping.abort()
      await keeping
    },
  }
}

/** Of the moment of a heartbeat: no longer ago than so many seconds, nor further in the future, where it is from before the clock was set back. */
export function aroundNow(seconds: number): RawBuilder<unknown> {
  return sql`between now() - make_interval(secs => ${seconds}) and now() + make_interval(secs => ${seconds})`
}
