import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/support/postgres.ts'
import { createDatabaseClock } from './database-clock.ts'
import { closeDatabase, connectDatabase } from './db.ts'
import { createRateLimits, type RateLimits } from './rate-limits.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

async function through(limits: RateLimits, key: string, times: number): Promise<number> {
  const taken = await Promise.allSettled(Array.from({ length: times }, () => limits.take('links', key)))
  return taken.filter(({ status }) => status === 'fulfilled').length
}

test('all processes share one count, and a window ends by the clock of the database alone', async () => {
  const [one, other] = [createRateLimits(database.db), createRateLimits(database.db)]
  expect((await through(one, 'ada', 3)) + (await through(other, 'ada', 4))).toBe(5)
  await expect(other.take('links', 'ada')).rejects.toMatchObject({ code: 'rate_limited', retryAfterS: 900 })
  await database.db.pool.query('update rate_limits set expire = (extract(epoch from now()) * 1000)::bigint')
  expect(await through(createRateLimits(database.db), 'ada', 7)).toBe(5)
  expect(await through(one, 'grace', 2)).toBe(2)
})

test('whoever used up a limit under a clock that was wrong is let in once it is right', async () => {
  expect(await through(createRateLimits(database.db), 'bob', 7)).toBe(5)
  await database.db.pool.query('update rate_limits set expire = expire + 86400000')
  expect(await through(createRateLimits(database.db), 'bob', 7)).toBe(5)
})

test('while the database is away each process counts for itself', async () => {
  const away = connectDatabase('postgres://nobody@127.0.0.1:9/none', { applicationName: 'test' })
  expect(await through(createRateLimits(away), 'ada', 7)).toBe(5)
  await closeDatabase(away)
})

test("the database's clock goes on by itself, and is the machine's own while nobody answers", async () => {
  const clock = createDatabaseClock(database.db)
  const away = connectDatabase('postgres://nobody@127.0.0.1:9/none', { applicationName: 'test' })
  const lonely = createDatabaseClock(away)
  const { rows } = await database.db.pool.query<{ now: Date }>('select clock_timestamp() as now')
  for (const { now } of [clock, lonely]) expect(Math.abs(now().getTime() - rows[0]!.now.getTime())).toBeLessThan(5_000)
  await Promise.all([clock.close(), lonely.close()])
  await closeDatabase(away)
})
