import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/support/postgres.ts'
import { addProject, claim, freshHostname, PROJECT_RULES } from '../../test/support/tenants.ts'
import type { Db } from './db.ts'
import { removeDomain } from './domains.ts'
import { loadProjects } from './project-pages.ts'
import { updateProject } from './projects.ts'
import { eachRoutePage, loadRouteRows, loadRoutes, type RouteRow } from './routes.ts'

let database: TestDatabase
let db: Db
beforeAll(async () => {
  database = await createTestDatabase()
  db = database.db
})
afterAll(() => database.drop())

test('a route says where a registered hostname leads, half by its own row, half by its project; others have none', async () => {
  const project = await addProject(db)
  const { id, slug, upstreamUrl } = project
  const hostname = await claim(db, project, freshHostname(), '{"b":1,"a":2}')
  const own = {
    ...{ hostname, projectId: id, metadataJson: '{"b":1,"a":2}', verified: false, proofNeeded: false },
    ...{ createdAtMs: expect.any(Number), version: expect.any(Number) },
  }
  expect(await loadRouteRows(db, [hostname, freshHostname()])).toEqual([own])
  expect(await loadProjects(db, [id])).toMatchObject([{ id, slug, upstreamUrl, upstreamProtocol: 'http1' }])
  expect(await loadRoutes(db, [hostname, freshHostname()])).toEqual([{ ...own, projectSlug: slug, upstreamUrl, upstreamProtocol: 'http1' }])
  const { rows } = await db.pool.query<{ created_at: Date }>('select created_at from domains where hostname = $1', [hostname])
  expect((await loadRoutes(db, [hostname]))[0]!.createdAtMs).toBe(rows[0]!.created_at.getTime())
  await removeDomain(db, project, hostname)
  expect(await loadRoutes(db, [hostname])).toEqual([])
})

test('whatever changes a route gives its row or that of its project a higher version', async () => {
  const [project, other] = [await addProject(db), await addProject(db)]
  const hostname = await claim(db, project)
  const versions: number[] = []
  const look = async () => {
    const [row] = await loadRouteRows(db, [hostname])
    const [of] = await loadProjects(db, [row!.projectId])
    versions.push(Math.max(row!.version, of!.version))
  }
  await look()
  await claim(db, project, hostname, '{"a":1}')
  await look()
  await updateProject(db, project.slug, { upstreamUrl: 'https://new.vendor.test' }, PROJECT_RULES)
  await look()
  await removeDomain(db, project, hostname)
  await claim(db, other, hostname)
  await look()
  expect(versions).toEqual([...new Set(versions)].sort((a, b) => a - b))
  expect(versions).toHaveLength(4)
  await removeDomain(db, other, hostname)
})

test('all routes come in pages by hostname', async () => {
  const [project, other] = [await addProject(db), await addProject(db)]
  const hostnames = (await Promise.all(Array.from({ length: 9 }, (_, i) => claim(db, i % 3 ? project : other)))).sort()
  const pages: RouteRow[][] = []
  for await (const page of eachRoutePage(db, 4)) pages.push(page)
  expect(pages.flat().map(({ hostname }) => hostname)).toEqual((await loadRoutes(db, hostnames)).map(({ hostname }) => hostname).sort())
  expect(pages.map((page) => page.length)).toEqual([4, 4, 1])
})
