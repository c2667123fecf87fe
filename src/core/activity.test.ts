import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/support/postgres.ts'
import { addProject } from '../../test/support/tenants.ts'
import { listActivity, pruneActivity } from './activity.ts'
import type { Project } from './projects.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

test('of a project that changes all day the last entries stay, and who made it', async () => {
  const { db } = database
  const [busy, quiet] = [await addProject(db), await addProject(db)]
  const change = (project: Project, times: number) =>
    db.pool.query(
      `insert into activity (project_id, actor, action, subject) select $1, '{"kind":"operator"}', 'domain.metadata-changed', 'n' || n from generate_series(1, $2::int) n`,
      [project.id, times],
    )
  await Promise.all([change(busy, 25_000), change(quiet, 100)])
  await pruneActivity(db, 150)
  const { entries } = await listActivity(db, busy, { limit: 200 })
  expect(entries).toHaveLength(151)
  expect(entries.slice(0, 150).map(({ subject }) => subject)).toEqual(Array.from({ length: 150 }, (_, i) => `n${25_000 - i}`))
  expect(entries.at(-1)).toMatchObject({ action: 'project.created', subject: busy.slug })
  expect((await listActivity(db, quiet, { limit: 200 })).entries).toHaveLength(101)
})
