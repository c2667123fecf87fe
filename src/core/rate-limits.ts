import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import { ServiceError } from '../errors.ts'
import { Lru } from '../lib/lru.ts'
import { type Db, rows } from './db.ts'

/** What is counted: `links` an e-mail address, `invitations`, `projects` and `tokens` the user who makes them, `instructions` and `changes` a project, the others the address that a request comes from. */
export type LimitName = 'links' | 'sign-in' | 'strangers' | 'invitations' | 'projects' | 'tokens' | 'instructions' | 'changes'

export type RateLimits = {
  /** Counts one more for the key. Throws `rate_limited` with the time to wait beyond the limit. */
  take(name: LimitName, key: string): Promise<void>
}

const MINUTE_S = 60
const LIMITS: Record<LimitName, { points: number; windowS: number }> = {
  links: { points: 5, windowS: 15 * MINUTE_S },
  'sign-in': { points: 30, windowS: MINUTE_S },
  strangers: { points: 300, windowS: MINUTE_S },
  invitations: { points: 100, windowS: 60 * MINUTE_S },
  projects: { points: 100, windowS: 60 * MINUTE_S },
  tokens: { points: 100, windowS: 60 * MINUTE_S },
  instructions: { points: 50, windowS: 15 * MINUTE_S },
  changes: { points: 60, windowS: MINUTE_S },
}
const REMEMBERED_MAX = 100_000
const CLOCK_SLACK_MS = 60_000 // who waits for the row may have begun before the one whose count it is

/** So many of a window that ends at `endsAtMs`, on this process's own clock. */
type Count = { points: number; endsAtMs: number }

/**
 * Counts in PostgreSQL and on its clock, so all processes share one count; while that cannot be reached each counts for itself. What is over a
 * limit is remembered here and asks the database no more.
 */
export function createRateLimits(db: Db): RateLimits {
  const over = new Lru<string, Count>(REMEMBERED_MAX)
  const own = new Lru<string, Count>(REMEMBERED_MAX)

  const countHere = (key: string, windowS: number): Count => {
    const known = current(own, key)
    const count = known ? { ...known, points: known.points + 1 } : { points: 1, endsAtMs: performance.now() + windowS * 1_000 }
    own.set(key, count)
    return count
  }
  return {
    async take(name, given) {
      const { points, windowS } = LIMITS[name]
      const key = `${name}:${createHash('sha256').update(given).digest('base64url')}` // as long as the table's key allows
      const known = current(over, key)
      if (known) throw tooMany(known)
      const count = await countInDatabase(db, key, windowS).catch(() => countHere(key, windowS))
      if (count.points <= points) return
      over.set(key, count)
      throw tooMany(count)
    },
  }
}

/** Deletes the counts that are over. */
export async function pruneRateLimits(db: Db): Promise<void> {
  await rows(db, sql`delete from rate_limits where expire < extract(epoch from now()) * 1000`)
}

async function countInDatabase(db: Db, key: string, windowS: number): Promise<Count> {
  const nowMs = sql`(extract(epoch from now()) * 1000)::bigint`
  const endMs = sql`${nowMs} + ${windowS * 1_000}::bigint`
  const isOver = sql`r.expire <= ${nowMs} or r.expire > ${endMs} + ${CLOCK_SLACK_MS}` // the second: of a clock that was set back since
  const [count] = await rows(
    db,
    sql<{ points: number; leftMs: number }>`
      insert into rate_limits as r (key, points, expire) values (${key}, 1, ${endMs})
      on conflict (key) do update set points = case when ${isOver} then 1 else r.points + 1 end,
        expire = case when ${isOver} then ${endMs} else r.expire end
      returning points, (expire - ${nowMs})::float8 as "leftMs"`,
  )
  return { points: count!.points, endsAtMs: performance.now() + count!.leftMs }
}

function current(counts: Lru<string, Count>, key: string): Count | undefined {
  const count = counts.peek(key)
  return count && count.endsAtMs > performance.now() ? count : undefined
}

function tooMany({ endsAtMs }: Count): ServiceError {
  const retryAfterS = Math.max(1, Math.ceil((endsAtMs - performance.now()) / 1_000))
  return new ServiceError('rate_limited', `too many requests: try again in ${waitingTime(retryAfterS)}`, { retryAfterS })
}

function waitingTime(seconds: number): string {
  if (seconds < 120) return `${seconds} seconds`
  return `${Math.ceil(seconds / MINUTE_S)} minutes`
}
