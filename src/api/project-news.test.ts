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
  const follow = async () => {
    const { id } = await addProject(database.db)
    const told: News[] = []
    await news.watch(id, (one) => void (one.kind === 'activity' && told.push(one)))
    const note = (subject: string) => recordActivity(database.db, { projectId: id, actor: OPERATOR, action: 'project.changed', subject })
    return { told, note }
  }
  const [restored, other] = [await follow(), await follow()]
  await restored.note('of the lost server')
  await eventually(() => restored.told.length === 1)
  await database.db.pool.query(`update activity set xid = '9000000000000000000' where subject = 'of the lost server'`)
  // Each of these is told by a reading of its own.
  for (const [n, subject] of ['one', 'two', 'three', 'four'].entries()) {
    await other.note(subject)
    await eventually(() => other.told.length === n + 1)
  }
  expect(restored.told.length).toBeLessThan(3) // the reading in which the number changed may have told it once more
})
