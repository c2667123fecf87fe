import { createServer, type Socket } from 'node:net'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/support/postgres.ts'
import { closeDatabase, connectDatabase, databaseIsReachable, preparedRows, rows, transaction } from './db.ts'
import { listProjects } from './projects.ts'
import { readSetting, writeSetting } from './settings.ts'
import { findTokenOwner } from './tokens.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

test('while the database is away every verb says so, and works again when it is back', async () => {
  const away = connectDatabase('postgres://postgres@127.0.0.1:1/none', { applicationName: 'test' })
  await expect(listProjects(away)).rejects.toMatchObject({ code: 'database_unavailable' })
  await expect(findTokenOwner(away, `svc_${'0'.repeat(64)}`)).rejects.toMatchObject({ code: 'database_unavailable' })
  await expect(writeSetting(away, 'a', Buffer.of())).rejects.toMatchObject({ code: 'database_unavailable' })
  expect(await databaseIsReachable(away)).toBe(false)
  await closeDatabase(away)
  expect(await databaseIsReachable(database.db)).toBe(true)
})

test('a session that the server ends in the middle costs one answer, not the process', async () => {
  const cut = transaction(database.db, async (tx) => {
    const [row] = await rows(tx, sql<{ pid: number }>`select pg_backend_pid() as pid`)
    await database.db.pool.query('select pg_terminate_backend($1, 5000)', [row!.pid])
    await rows(tx, sql`select 1`)
  })
  await expect(cut).rejects.toMatchObject({ code: 'database_unavailable' })
  expect(await listProjects(database.db)).toEqual([])
})

test('a server that accepts and never answers is found unreachable within its deadline', async () => {
  const sockets = new Set<Socket>()
  const silent = createServer((socket) => sockets.add(socket.on('error', () => {})))
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
  const { port } = silent.address() as { port: number }
  const db = connectDatabase(`postgres://postgres@127.0.0.1:${port}/none`, { applicationName: 'test' })
  expect(await databaseIsReachable(db)).toBe(false)
  for (const socket of sockets) socket.destroy()
  silent.close()
  await closeDatabase(db)
})

test('a server that goes away in the moment in which it has let us in costs one answer, not the process', async () => {
  const welcome = Buffer.from('R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I', 'latin1') // AuthenticationOk, ReadyForQuery
  const leaving = createServer((socket) =>
    socket
      .on('error', () => {})
      .once('data', () => {
        socket.write(welcome)
        socket.once('data', () => socket.destroy())
      }),
  )
  await new Promise<void>((resolve) => leaving.listen(0, '127.0.0.1', resolve))
  const { port } = leaving.address() as { port: number }
  const db = connectDatabase(`postgres://postgres@127.0.0.1:${port}/none`, { applicationName: 'test' })
  const uncaught: Error[] = []
  const onUncaught = (error: Error) => uncaught.push(error)
  process.on('uncaughtExceptionMonitor', onUncaught)
  await expect(listProjects(db)).rejects.toMatchObject({ code: 'database_unavailable' })
  expect(uncaught).toEqual([])
  process.off('uncaughtExceptionMonitor', onUncaught)
  leaving.close()
  await closeDatabase(db)
})

test('a transaction that throws leaves nothing', async () => {
  const failed = transaction(database.db, async (tx) => {
    await rows(tx, sql`insert into settings (name, value) values ('half', '')`)
    throw new Error('on purpose')
  })
  await expect(failed).rejects.toThrow('on purpose')
  expect(await readSetting(database.db, 'half')).toBeUndefined()
})

test('a connection in steady use is made anew when its time is over, and cuts nothing off that is under way', async () => {
  const one = connectDatabase(database.url, { applicationName: 'test', poolMax: 1, lifetimeS: 3 })
  const pid = async () => (await rows(one, sql<{ pid: number }>`select pg_backend_pid() as pid`))[0]!.pid
  const first = await pid()
  const [long] = await rows(one, sql<{ pid: number }>`select pg_backend_pid() as pid, pg_sleep(3.5)`)
  expect(long!.pid).toBe(first)
  expect(await pid()).not.toBe(first)
  await closeDatabase(one)
})

test('what a constraint refuses costs no connection, any other error does', async () => {
  const one = connectDatabase(database.url, { applicationName: 'test', poolMax: 1 })
  const pid = async () => (await rows(one, sql<{ pid: number }>`select pg_backend_pid() as pid`))[0]!.pid
  const first = await pid()
  const twice = `insert into settings (name, value) values ('twice', ''), ('twice', '')`
  await expect(preparedRows(one, 'twice', twice, [])).rejects.toMatchObject({ code: '23505' })
  expect(await pid()).toBe(first)
  await expect(preparedRows(one, 'unknown', 'select nothing_such', [])).rejects.toMatchObject({ code: '42703' })
  expect(await pid()).not.toBe(first)
  await closeDatabase(one)
})

test('what is acknowledged is on disk even where the server would rather not wait', async () => {
  const lazy = await createTestDatabase()
  try {
    const [row] = await rows(lazy.db, sql<{ name: string }>`select current_database() as name`)
    await lazy.db.pool.query(`alter database ${row!.name} set synchronous_commit = off`)
    const db = connectDatabase(lazy.url, { applicationName: 'test' })
    const asked = await Promise.all([db.pool.query('show synchronous_commit'), rows(db, sql`show synchronous_commit`)])
    expect([asked[0].rows, asked[1]]).toEqual([[{ synchronous_commit: 'on' }], [{ synchronous_commit: 'on' }]])
    await closeDatabase(db)
  } finally {
    await lazy.drop()
  }
})
