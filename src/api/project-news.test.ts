import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/support/postgres.ts'
import { addProject, CLAIM_RULES } from '../../test/support/tenants.ts'
import { eventually } from '../../test/support/tree.ts'
import { OPERATOR, recordActivity } from '../core/activity.ts'
import { type Queryable, rows, transaction } from '../core/db.ts'
import { registerDomain } from '../core/domains.ts'
import { type Hostname, parseHostname } from '../hostname.ts'
import { createLog } from '../log.ts'
import { createProjectNews, type News, type ProjectNews } from './project-news.ts'

let database: TestDatabase
let news: ProjectNews
beforeAll(async () => {
  database = await createTestDatabase()
  news = createProjectNews({ db: database.db, log: createLog('test', 'fatal') })
})
afterAll(async () => {
  await news.close()
  await database.drop()
})

test('who watches a project while the feed breaks off is told that something was missed, and of all that comes after', async () => {
  const project = await addProject(database.db)
  const told: News[] = []
  const claim = (hostname: Hostname) => registerDomain(database.db, project, { hostname, metadataJson: '{}' }, CLAIM_RULES)
  const isTold = (hostname: Hostname) => told.some((one) => one.kind === 'domain' && one.domain.hostname === hostname)
  await news.watch(project.id, (one) => void told.push(one))
  const [before, after] = [parseHostname('before.example.org'), parseHostname('after.example.org')]
  await claim(before)
  await eventually(() => isTold(before))
  expect(told.some(({ kind }) => kind === 'missed')).toBe(false)

  await transaction(database.db, (tx) => rows(tx, sql`update feed set life = gen_random_uuid()`))
  await eventually(() => told.some(({ kind }) => kind === 'missed'))
  told.length = 0
  await claim(after)
  await eventually(() => isTold(after) && told.some(({ kind }) => kind === 'activity'))
  expect(told.some(({ kind }) => kind === 'missed')).toBe(false)
})

test('an entry whose transaction commits after that of a later one is told too', async () => {
  const project = await addProject(database.db)
  const told: News[] = []
  await news.watch(project.id, (one) => void (one.kind === 'activity' && told.push(one)))
  const note = (on: Queryable, subject: string) =>
    recordActivity(on, { projectId: project.id, actor: OPERATOR, action: 'project.changed', subject })
  const [begun, mayEnd] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const late = transaction(database.db, async (tx) => {
    await note(tx, 'late')
    begun.resolve()
    await mayEnd.promise
  })
  await begun.promise
  await note(database.db, 'later')
  await eventually(() => told.length === 1)
  mayEnd.resolve()
  await late
  await eventually(() => told.length === 2)
})

test('entries of a future that a restored database does not share are no news', async () => {
  const project = await addProject(database.db)
  const told: News[] = []
  await news.watch(project.id, (one) => void (one.kind === 'activity' && told.push(one)))
  const note = (subject: string) =>
    recordActivity(database.db, { projectId: project.id, actor: OPERATOR, action: 'project.changed', subject })
  await note('of the lost server')
  await eventually(() => told.length === 1)
  await database.db.pool.query(`update activity set xid = '9000000000000000000' where subject = 'of the lost server'`)
  await note('of this one')
  await eventually(() => told.length === 2)
  await new Promise((resolve) => setTimeout(resolve, 1_500)) // it would be told each time that the feed is read
  expect(told).toHaveLength(2)
})
