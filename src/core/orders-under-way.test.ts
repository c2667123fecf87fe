import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/support/postgres.ts'
import { addProject, claim } from '../../test/support/tenants.ts'
import type { Hostname } from '../hostname.ts'
import { beginIssuance, recordCertificate, recordIssuanceFailure } from './certificates.ts'
import { findOrderUnderWay, forgetOrderUnderWay, keepOrderUnderWay, pruneOrdersUnderWay } from './orders-under-way.ts'

const FIRST = 'https://first.example.com/directory'
const SECOND = 'https://second.example.com/directory'
const ISSUED = {
  ...{ chainPem: 'chain', sealedKey: Buffer.from('key'), issuer: 'CN=Test', serial: '01' },
  ...{ notBefore: new Date(), notAfter: new Date(Date.now() + 9e9), renewAt: new Date(Date.now() + 6e9) },
}

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

async function open(directory = FIRST, expires?: Date) {
  const { id: projectId } = await addProject(database.db)
  const hostname = await claim(database.db, { id: projectId } as never)
  const orderUrl = `${directory}/order/1`
  const order = { directory, orderUrl, sealedKey: Buffer.from('sealed'), orderId: '7' }
  await keepOrderUnderWay(database.db, hostname, { ...order, projectId, expires })
  return { hostname, projectId, order }
}
const find = (hostname: Hostname, projectId: string | null, directories = [FIRST, SECOND]) =>
  findOrderUnderWay(database.db, hostname, { projectId, directories })

test('an open order is found by its own project, at the directories that are asked', async () => {
  const { hostname, projectId, order } = await open(SECOND)
  expect(await find(hostname, projectId)).toEqual(order)
  expect(await find(hostname, projectId, [FIRST])).toBeUndefined()
  expect(await find(hostname, (await addProject(database.db)).id)).toBeUndefined()
})

test('a new order takes the place of the one before it, and forgetting that one leaves it', async () => {
  const { hostname, projectId, order } = await open()
  await keepOrderUnderWay(database.db, hostname, { ...order, orderUrl: 'new', projectId, expires: undefined })
  await forgetOrderUnderWay(database.db, hostname, order.orderUrl)
  expect(await find(hostname, projectId)).toMatchObject({ orderUrl: 'new' })
  await forgetOrderUnderWay(database.db, hostname, 'new')
  expect(await find(hostname, projectId)).toBeUndefined()
})

test('an order that is over is not resumed, and its key is deleted', async () => {
  const { hostname, projectId } = await open(FIRST, new Date(Date.now() - 1_000))
  expect(await find(hostname, projectId)).toBeUndefined()
  await pruneOrdersUnderWay(database.db)
  const left = await database.db.pool.query('select from orders_under_way where hostname = $1', [hostname])
  expect(left.rowCount).toBe(0)
})

test('the attempt after a crash takes no new room within the limits, and ends with the order forgotten', async () => {
  const { hostname, projectId } = await open()
  const before = (await database.db.pool.query('select from issuance_orders')).rowCount
  expect(await beginIssuance(database.db, hostname, { directories: [SECOND, FIRST] })).toMatchObject({ directory: FIRST, orderId: '7' })
  expect((await database.db.pool.query('select from issuance_orders')).rowCount).toBe(before)
  await recordIssuanceFailure(database.db, hostname, { problem: {}, sentence: 'An outage.' })
  expect(await find(hostname, projectId)).toBeDefined()
  await recordCertificate(database.db, hostname, ISSUED)
  expect(await find(hostname, projectId)).toBeUndefined()
})

test("an authority's outage costs an attempt nothing: the next comes when it may be back, however often that happens", async () => {
  const { hostname } = await open()
  for (let attempt = 0; attempt < 12; attempt++) {
    await beginIssuance(database.db, hostname, { directories: [FIRST] })
    await recordIssuanceFailure(database.db, hostname, { problem: {}, sentence: 'An outage.', retryAfterS: 90, outage: true })
    await database.db.pool.query('update certificates set last_problem = null where hostname = $1', [hostname])
  }
  const read = async () =>
    (
      await database.db.pool.query<{ attempts: number; wait: number }>(
        'select attempts, extract(epoch from next_attempt_at - now())::float8 as wait from certificates where hostname = $1',
        [hostname],
      )
    ).rows[0]!
  expect((await read()).attempts).toBe(0)
  expect(Math.abs((await read()).wait - 90)).toBeLessThan(5)
})
