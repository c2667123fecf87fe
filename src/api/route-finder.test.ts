import { afterAll, beforeAll, expect, test } from 'vitest'
import { drawLine } from '../../test/support/cut-line.ts'
import { createTestDatabase, type TestDatabase } from '../../test/support/postgres.ts'
import { addProject, claim, freshHostname } from '../../test/support/tenants.ts'
import { closeDatabase, connectDatabase } from '../core/db.ts'
import { removeDomain } from '../core/domains.ts'
import type { Project } from '../core/projects.ts'
import { loadRoutes } from '../core/routes.ts'
import type { Hostname } from '../hostname.ts'
import { createRouteFinder, type RouteAnswer } from './route-finder.ts'

let database: TestDatabase
let project: Project
beforeAll(async () => {
  database = await createTestDatabase()
  project = await addProject(database.db)
})
afterAll(() => database.drop())

/** A machine's copy that holds what is put into it and nothing newer. */
function startFinder(parts: { isFresh?: boolean; db?: TestDatabase['db']; now?(): Date; mustAsk?: boolean } = {}) {
  const copy = new Map<Hostname, RouteAnswer>()
  const finder = createRouteFinder({
    db: parts.db ?? database.db,
    isFresh: () => parts.isFresh ?? true,
    resolve(hostname) {
      const answer = copy.get(hostname) ?? { kind: 'unknown' }
      return parts.mustAsk ? Promise.resolve(answer) : answer
    },
    now: parts.now ?? (() => new Date()),
  })
  const remember = async (hostname: Hostname) => {
    const [route] = await loadRoutes(database.db, [hostname])
    copy.set(hostname, { kind: 'route', route: route! })
  }
  return { finder, copy, remember }
}

test('a fresh copy answers at once for what it holds', async () => {
  const { finder, remember } = startFinder()
  const hostname = await claim(database.db, project)
  await remember(hostname)
  expect(finder.find(hostname, project.id)).toMatchObject({ hostname })
})

test('a hostname that was claimed elsewhere a moment ago is found, though the copy does not hold it yet', async () => {
  const { finder } = startFinder()
  const hostname = await claim(database.db, project)
  expect(await finder.find(hostname, project.id)).toMatchObject({ hostname })
  expect(await finder.findInCopy(hostname)).toMatchObject({ hostname })
  expect(await finder.find(freshHostname(), project.id)).toBeUndefined()
})

test('who wrote here reads what was written, though the copy is behind', async () => {
  const { finder, remember } = startFinder()
  const hostname = await claim(database.db, project)
  await remember(hostname)
  await claim(database.db, project, hostname, '{"new":true}')
  finder.wrote(hostname)
  expect(await finder.find(hostname, project.id)).toMatchObject({ metadataJson: '{"new":true}' })
  await removeDomain(database.db, project, hostname)
  finder.wrote(hostname)
  expect(await finder.find(hostname, project.id)).toBeUndefined()
  expect(await finder.findInCopy(hostname)).toBeUndefined()
})

test('after six seconds the copy is believed again', async () => {
  let nowMs = Date.now()
  const { finder, remember } = startFinder({ now: () => new Date(nowMs) })
  const hostname = await claim(database.db, project)
  await remember(hostname)
  finder.wrote(hostname)
  expect(finder.find(hostname, project.id)).toBeInstanceOf(Promise)
  nowMs += 6_000
  expect(finder.find(hostname, project.id)).toMatchObject({ hostname })
})

test('a copy that is more than five seconds behind is not believed: the database is asked', async () => {
  const { finder, remember } = startFinder({ isFresh: false })
  const hostname = await claim(database.db, project)
  await remember(hostname)
  await removeDomain(database.db, project, hostname)
  expect(await finder.find(hostname, project.id)).toBeUndefined()
})

test('during an outage the copy stands in, and what it does not hold is unavailable', async () => {
  const line = await drawLine(database.url)
  const db = connectDatabase(line.url, { applicationName: 'test' })
  const { finder, remember } = startFinder({ isFresh: false, db })
  const hostname = await claim(database.db, project)
  await remember(hostname)
  await line.cut()
  expect(await finder.find(hostname, project.id)).toMatchObject({ hostname })
  await expect(finder.find(freshHostname(), project.id)).rejects.toMatchObject({ code: 'database_unavailable' })
  await closeDatabase(db)
})

test('a hostname of another project costs the same look-up as one that nobody holds, so that no time tells which it is', async () => {
  const { finder, remember } = startFinder()
  const hostname = await claim(database.db, await addProject(database.db))
  await remember(hostname)
  let lookUps = 0
  const count = () => void lookUps++
  database.db.pool.on('acquire', count)
  for (const name of [hostname, freshHostname()]) expect(await finder.find(name, project.id)).toBeUndefined()
  database.db.pool.off('acquire', count)
  expect(lookUps).toBe(2)
})

test('nor does an outage tell them apart', async () => {
  const line = await drawLine(database.url)
  const db = connectDatabase(line.url, { applicationName: 'test' })
  const hostname = await claim(database.db, await addProject(database.db))
  await line.cut()
  for (const isFresh of [true, false]) {
    const { finder, remember } = startFinder({ isFresh, db })
    await remember(hostname)
    for (const name of [hostname, freshHostname()]) {
      await expect(finder.find(name, project.id)).rejects.toMatchObject({ code: 'database_unavailable' })
    }
  }
  await closeDatabase(db)
})

test('of the names that a project does not hold at most 50 a second become queries, and of those of all at most 200', async () => {
  const { finder } = startFinder({ now: () => new Date(0) })
  const owners = await Promise.all(Array.from({ length: 5 }, () => addProject(database.db)))
  const hostnames = await Promise.all(owners.map((owner) => claim(database.db, owner)))
  const found = async (n: number) => (await finder.find(hostnames[n]!, owners[n]!.id)) !== undefined
  const guess = async ({ id }: Project, times: number) => {
    await Promise.all(Array.from({ length: times }, () => finder.find(freshHostname(), id)))
  }
  await guess(owners[0]!, 200)
  expect([await found(0), await found(1)]).toEqual([false, true])
  for (const owner of owners.slice(1, 4)) await guess(owner, 50)
  expect(await found(4)).toBe(false)
})

test('a copy that must ask for its answer is believed as well, whoever has guessed before', async () => {
  const { finder, remember } = startFinder({ now: () => new Date(0), mustAsk: true })
  const hostname = await claim(database.db, project)
  await remember(hostname)
  await Promise.all(Array.from({ length: 200 }, () => finder.find(freshHostname(), project.id)))
  expect(await finder.find(hostname, project.id)).toMatchObject({ hostname })
})

test('where the copy cannot say the database does, and while that is away too, nobody', async () => {
  const line = await drawLine(database.url)
  const db = connectDatabase(line.url, { applicationName: 'test' })
  const { finder, copy } = startFinder({ db, now: () => new Date(0) })
  const hostname = await claim(database.db, project)
  copy.set(hostname, { kind: 'unavailable' })
  await Promise.all(Array.from({ length: 200 }, () => finder.find(freshHostname(), project.id)))
  expect(await finder.find(hostname, project.id)).toMatchObject({ hostname })
  await line.cut()
  await expect(finder.find(hostname, project.id)).rejects.toMatchObject({ code: 'database_unavailable' })
  await closeDatabase(db)
})
