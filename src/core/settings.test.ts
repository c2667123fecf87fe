import { afterAll, beforeAll, expect, test } from 'vitest'
import { changesSince, endOfFeed } from '../../test/support/feed.ts'
import { createTestDatabase, type TestDatabase } from '../../test/support/postgres.ts'
import { readSetting, renewSetting, writeSetting, writeSettingOnce } from './settings.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

test('of many machines that write a value for the first time one wins, and all get the same', async () => {
  const cursor = await endOfFeed(database.db)
  const written = await Promise.all(Array.from({ length: 10 }, (_, i) => writeSettingOnce(database.db, 'once', Buffer.from([0, i, 255]))))
  expect(new Set(written.map((value) => value.toString('hex'))).size).toBe(1)
  expect(await readSetting(database.db, 'once')).toEqual(written[0])
  expect(await changesSince(database.db, cursor)).toMatchObject([{ kind: 'setting', key: 'once' }])
})

test('a value is renewed once it is old enough, by one of many machines, and all are told', async () => {
  const renew = (value: string, olderThanS: number) => renewSetting(database.db, 'renewed', Buffer.from(value), olderThanS)
  expect(await renew('first', 60)).toBe(true)
  expect(await renew('second', 60)).toBe(false)
  await database.db.pool.query(`update settings set updated_at = now() - interval '61 seconds' where name = 'renewed'`)
  const cursor = await endOfFeed(database.db)
  const renewed = await Promise.all(['a', 'b', 'c'].map((value) => renew(value, 60)))
  expect(renewed.filter(Boolean)).toHaveLength(1)
  expect(await changesSince(database.db, cursor)).toMatchObject([{ kind: 'setting', key: 'renewed' }])
})

test('a value that was written by a clock that was ahead, and was set back since, is renewed by one of many machines', async () => {
  const renew = (value: string) => renewSetting(database.db, 'ahead', Buffer.from(value), 86_400)
  await renew('first')
  await database.db.pool.query(`update settings set updated_at = now() + interval '1 year' where name = 'ahead'`)
  const renewed = await Promise.all(['a', 'b', 'c'].map(renew))
  expect(renewed.filter(Boolean)).toHaveLength(1)
})

test('a value can be replaced, and what nobody wrote is undefined', async () => {
  expect(await readSetting(database.db, 'replaced')).toBeUndefined()
  await writeSetting(database.db, 'replaced', Buffer.from('a'))
  await writeSetting(database.db, 'replaced', Buffer.from('b'))
  expect(await readSetting(database.db, 'replaced')).toEqual(Buffer.from('b'))
})
