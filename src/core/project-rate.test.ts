import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/support/postgres.ts'
import { createLog } from '../log.ts'
import { createProjectRate, type ProjectRate, pruneProjectCalls } from './project-rate.ts'

const log = createLog('test', 'fatal')
let database: TestDatabase
const rates: ProjectRate[] = []
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(async () => {
  await Promise.all(rates.map((rate) => rate.close()))
  await database.drop()
})

function startRate(clock: { ms: number }, perSecond = 100): ProjectRate {
  const rate = createProjectRate({ db: database.db, log, perSecond, now: () => new Date(clock.ms) })
  rates.push(rate)
  return rate
}

/** So many calls at once; how many were let through. */
function callsThrough(rate: ProjectRate, projectId: string, calls: number): number {
  let through = 0
  for (let n = 0; n < calls; n++) {
    try {
      rate.take(projectId)
      through += 1
    } catch (error) {
      expect(error).toMatchObject({ code: 'rate_limited', retryAfterS: 1 })
    }
  }
  return through
}

test('a project is let through so often in a second, and again in the next; another one is not touched', () => {
  const clock = { ms: 1_000_000 }
  const rate = startRate(clock)
  expect(callsThrough(rate, '1', 250)).toBe(100)
  expect(callsThrough(rate, '2', 50)).toBe(50)
  clock.ms += 1_000
  expect(callsThrough(rate, '1', 250)).toBe(100)
})

test('what one process has let through counts in the others', async () => {
  const clock = { ms: 2_000_000 }
  const [one, other] = [startRate(clock), startRate(clock)]
  const told = async () => (await database.db.pool.query('select calls from project_calls where project_id = 3')).rows[0]?.calls
  expect(callsThrough(one, '3', 60)).toBe(60)
  await expect.poll(told).toBe(60)
  expect(callsThrough(other, '3', 10)).toBe(10)
  await expect.poll(told).toBe(70)
  await other.close() // what it was told last has arrived by now
  expect(callsThrough(other, '3', 100)).toBe(30)
})

test('seconds that are over are forgotten', async () => {
  await pruneProjectCalls(database.db)
  expect((await database.db.pool.query('select from project_calls')).rowCount).toBe(0)
})
