import { expect, test } from 'vitest'
import type { Hostname } from '../hostname.ts'
import { foundRoute, projectOf, routeOf, shop } from './copy.fixture.ts'
import { createDatabaseLookups, LOOKUPS_RUNNING_MAX } from './database-lookups.ts'
import type { Route } from './rows.ts'

/** A database that answers each look-up when the test says so. */
function createSlowDatabase() {
  const asked: { hostname: Hostname; answer(): void }[] = []
  const findRoutes = ([hostname]: Hostname[]) =>
    new Promise<Route[]>((resolve) =>
      asked.push({ hostname: hostname!, answer: () => resolve([foundRoute(routeOf(hostname!), projectOf())]) }),
    )
  return { asked, findRoutes, names: () => asked.map(({ hostname }) => hostname) }
}

test('of more visitors than a slow database can answer the newest are answered, and nothing is asked for those who have gone', async () => {
  const database = createSlowDatabase()
  const lookups = createDatabaseLookups({ findRoutes: database.findRoutes, now: () => 0 })
  const names = Array.from({ length: 20 }, (_, number) => shop(number))
  const answers = names.map((hostname) => lookups.find(hostname))
  await expect.poll(database.names).toEqual(names.slice(0, LOOKUPS_RUNNING_MAX))
  database.asked[0]!.answer()
  expect(await answers[0]).toMatchObject({ kind: 'route' })
  await expect.poll(database.names).toEqual([...names.slice(0, LOOKUPS_RUNNING_MAX), names.at(-1)])
  for (const answer of answers.slice(1)) expect(await answer).toEqual({ kind: 'unavailable' })
  for (const { answer } of database.asked) answer()
  const late = lookups.find(shop(100))
  await expect.poll(() => database.names().at(-1)).toBe(shop(100))
  database.asked.at(-1)!.answer()
  expect(await late).toMatchObject({ kind: 'route' })
  expect(database.asked).toHaveLength(LOOKUPS_RUNNING_MAX + 2)
})
