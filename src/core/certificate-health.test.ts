import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/support/postgres.ts'
import { addProject, claim } from '../../test/support/tenants.ts'
import { readCertificateHealth } from './certificate-health.ts'
import { removeDomain } from './domains.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

test('what ends soon, what is overdue and what is not renewed any more are told apart; a released hostname is none of them', async () => {
  const { db } = database
  expect(await readCertificateHealth(db)).toMatchObject({ overdue: 0, stopped: 0, soonest: [] })
  const project = await addProject(db)
  const add = async (notAfter: string, renewAt: string, { origin = 'ordered', stopped = false } = {}) => {
    const hostname = await claim(db, project)
    await db.pool.query(
      `insert into certificates (hostname, project_id, state, chain_pem, sealed_key, not_after, renew_at, origin, renewal_stopped_at)
      values ($1, $2, 'issued', 'x', '', now() + $3::interval, now() + $4::interval, $5, case when $6 then now() end)`,
      [hostname, project.id, notAfter, renewAt, origin, stopped],
    )
    return hostname
  }
  await add('60 days', '30 days')
  await add('25 days', '-5 days') // a sixth of its time to be renewed is used up
  await add('5 days', '-25 days')
  await add('12 hours', '-36 hours') // of six days
  await add('10 days', '10 days', { origin: 'imported' })
  await add('-40 days', '-70 days', { stopped: true })
  await removeDomain(db, project, await add('1 hour', '-1 day'))
  expect(await readCertificateHealth(db)).toEqual({
    expiring: [
      { withinDays: 1, count: 1 },
      { withinDays: 7, count: 2 },
      { withinDays: 14, count: 3 },
    ],
    ...{ overdue: 2, stopped: 1 },
    soonest: [
      { origin: 'ordered', endsInS: expect.closeTo(43_200, -2) },
      { origin: 'imported', endsInS: expect.closeTo(864_000, -2) },
    ],
  })
})
