import { afterAll, beforeAll, expect, test } from 'vitest'
import { changesSince, endOfFeed } from '../../test/support/feed.ts'
import { createTestDatabase } from '../../test/support/postgres.ts'
import { findChallenges, presentChallenge, pruneChallenges, withdrawChallenge } from './challenges.ts'

let database: Awaited<ReturnType<typeof createTestDatabase>>
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

test('two challenges of one name stand beside each other until each is withdrawn', async () => {
  const { db } = database
  const first = { type: 'dns-01', key: 'label', value: 'one' } as const
  await presentChallenge(db, first)
  await presentChallenge(db, { ...first, value: 'two' })
  await presentChallenge(db, first)
  expect(await findChallenges(db, 'dns-01', 'label')).toMatchObject([{ value: 'one' }, { value: 'two' }])
  expect(await findChallenges(db, 'tls-alpn-01', 'label')).toEqual([])
  await withdrawChallenge(db, first)
  expect(await findChallenges(db, 'dns-01')).toMatchObject([{ key: 'label', value: 'two' }])
})

test('the edges are told of what they are to answer, and that it is over', async () => {
  const { db } = database
  const challenge = { type: 'tls-alpn-01', key: 'shop.customer.com', value: 'token.thumbprint' } as const
  const cursor = await endOfFeed(db)
  await presentChallenge(db, challenge)
  await withdrawChallenge(db, challenge)
  await withdrawChallenge(db, challenge)
  expect(await changesSince(db, cursor)).toEqual([
    { kind: 'challenge', key: 'shop.customer.com' },
    { kind: 'challenge', key: 'shop.customer.com' },
  ])
})

test('what a dead worker left is no answer after ten minutes, and is cleared away', async () => {
  const { db } = database
  const challenge = { type: 'tls-alpn-01', key: 'left.customer.com', value: 'token.thumbprint' } as const
  await presentChallenge(db, challenge)
  await db.pool.query(`update challenges set expires_at = now() - interval '1 second' where key = 'left.customer.com'`)
  expect(await findChallenges(db, 'tls-alpn-01')).toEqual([])
  const cursor = await endOfFeed(db)
  await pruneChallenges(db)
  expect(await changesSince(db, cursor)).toEqual([{ kind: 'challenge', key: 'left.customer.com' }])
})
