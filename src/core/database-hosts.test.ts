import { once } from 'node:events'
import { type AddressInfo, connect as connectTo, createServer, type Socket } from 'node:net'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type PostgresPair, startPostgresPair } from '../../test/support/postgres-pair.ts'
import { eventually } from '../../test/support/tree.ts'
import { pause } from '../lib/back-off.ts'
import { listenForChanges } from './changes.ts'
import { createDatabaseHosts, type DatabaseHosts } from './database-hosts.ts'
import { closeDatabase, connectDatabase, type Db, rows } from './db.ts'

let pair: PostgresPair
const open: Db[] = []
const connect = (url: string, hosts?: DatabaseHosts) => {
  const db = connectDatabase(url, { applicationName: 'test', poolMax: 3, ...(hosts && { hosts }) })
  open.push(db)
  return db
}
const portOf = async (db: Db) => (await rows(db, sql<{ port: number }>`select inet_server_port() as port`))[0]!.port

beforeAll(async () => {
  pair = await startPostgresPair('hosts')
  await pair.synchronize()
})
afterAll(async () => {
  await Promise.all(open.map(closeDatabase))
  await pair?.stop()
})

test('of several hosts the one that accepts writes is found, in whatever order they stand', async () => {
  const { primary, standby } = pair
  const either = [primary.port, standby.port]
  for (const ports of [either, either.toReversed()]) {
    const hosts = ports.map((port) => `localhost:${port}`).join(',')
    expect(await portOf(connect(`postgres://postgres@${hosts}/hosts?target_session_attrs=read-write`))).toBe(primary.port)
    expect(await portOf(connect(`postgres://postgres@${hosts}/hosts?target_session_attrs=primary`))).toBe(primary.port)
    expect(await portOf(connect(`postgres://postgres@${hosts}/hosts`))).toBe(primary.port)
    for (const need of ['standby', 'prefer-standby', 'read-only'])
      expect(await portOf(connect(`postgres://postgres@${hosts}/hosts?target_session_attrs=${need}`))).toBe(standby.port)
    expect(await portOf(connect(`postgres://postgres@${hosts}/hosts?target_session_attrs=any`))).toBe(ports[0])
  }
})

test('a host that answers nobody is passed over', async () => {
  expect(await portOf(connect(`postgres://postgres@127.0.0.1:1,127.0.0.1:${pair.primary.port}/hosts`))).toBe(pair.primary.port)
})

test('where no host will do, the reason of each is told, and callers get the error of a database that is away', async () => {
  const db = connect(`postgres://postgres@127.0.0.1:1,127.0.0.1:${pair.standby.port}/hosts`)
  const failure = await rows(db, sql`select 1`).catch((error: Error) => error)
  expect(failure).toMatchObject({ code: 'database_unavailable' })
  expect(((failure as Error).cause as Error).message).toMatch(
    /127\.0\.0\.1:1 cannot be used: .*ECONNREFUSED.*; 127\.0\.0\.1:\d+ is a standby/,
  )
})

test('a server that stands still is not left with a connection for each time that it is sought, and is found as soon as it goes on', async () => {
  const still = await startStill()
  const hosts = createDatabaseHosts(still.url)
  for (let i = 0; i < 2; i += 1) await expect(hosts.choose()).rejects.toThrow('timeout expired')
  expect(still.taken.length).toBe(1)
  const place = { name: 'it', host: '127.0.0.1', port: still.port, url: still.url, address: undefined }
  for (let i = 0; i < 10; i += 1) expect(await hosts.isReached(place)).toBe(true)
  await eventually(() => still.taken.length === 2)
  const found = hosts.choose()
  still.goOn()
  expect(await found).toMatchObject({ port: still.port })
  expect(still.taken.length).toBe(2)
  still.end()
})

test('what a server said when nobody sought it any more does not count for later', async () => {
  const still = await startStill()
  const hosts = createDatabaseHosts(still.url)
  await expect(hosts.choose()).rejects.toThrow('timeout expired')
  still.goOn()
  await eventually(() => still.taken[0]!.destroyed)
  await expect(hosts.choose()).rejects.toThrow('timeout expired')
  expect(still.taken.length).toBe(2)
  still.end()
})

test('nor is one that is the only host left with those of a whole pool each time', async () => {
  const still = await startStill()
  const db = connect(still.url.split('?')[0]!)
  const askTogether = () => Promise.allSettled([1, 2, 3].map(() => rows(db, sql`select 1 as answer`)))
  for (const { status } of await askTogether()) expect(status).toBe('rejected')
  const before = still.taken.length
  for (const outcome of await askTogether()) expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'database_unavailable' } })
  expect(still.taken.length).toBeLessThanOrEqual(before + 1)
  const answers = askTogether()
  still.goOn(true)
  for (const outcome of await answers) expect(outcome).toMatchObject({ value: [{ answer: 1 }] })
  still.end()
})

test('nor is it when the one that waited for it is given up', async () => {
  const still = await startStill()
  const hosts = createDatabaseHosts(still.url.split('?')[0]!)
  hosts.doubt(await hosts.choose())
  const askedUntilMs = performance.now() + 12_000 // it is kept for ten seconds
  const ask = async () => {
    while (performance.now() < askedUntilMs) await expect(hosts.choose()).rejects.toThrow('timeout expired')
  }
  await Promise.all([ask(), pause(1_000).then(ask)])
  expect(still.taken.length).toBe(2)
  still.end()
})

/** A way to the primary that takes connections and passes nothing on; `goOn` lets those through that it has taken, and for good those that come as well. */
async function startStill() {
  const taken: Socket[] = []
  let goesOn = false
  const through = (near: Socket) => near.pipe(connectTo(pair.primary.port, 'localhost').on('error', () => {})).pipe(near)
  const server = createServer((near) => {
    taken.push(near.on('error', () => {}))
    if (goesOn) through(near)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  return {
    port,
    url: `postgres://postgres@127.0.0.1:${port}/hosts?target_session_attrs=read-write`,
    taken,
    goOn(isForGood = false) {
      goesOn = isForGood
      taken.forEach(through)
    },
    end() {
      for (const near of taken) near.destroy()
      server.close()
    },
  }
}

// From here on the pair changes: each test begins where the one before ended.

test('while a server is silent, statements fail within seconds, and with its promoted standby they work again', async () => {
  const { primary, standby } = pair
  const hosts = createDatabaseHosts(pair.url('read-write'))
  const db = connect(pair.url('read-write'), hosts)
  const quiet = connect(pair.url('read-write'), hosts)
  expect(await portOf(quiet)).toBe(primary.port)
  let hints = 0
  const listener = listenForChanges(db, () => (hints += 1))
  await eventually(() => hints === 1)
  const hung = [1, 2, 3].map(() =>
    rows(db, sql`select pg_sleep(0.2), inet_server_port() as port`).then(() => rows(db, sql`select pg_sleep(20)`)),
  )
  const outcomes = Promise.allSettled(hung)
  await eventually(async () => (await activeSleeps()) === 3)
  primary.pause()
  await standby.promote()
  expect((await outcomes).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
  await eventually(async () => (await portOf(db)) === standby.port, 20_000)
  expect(await portOf(quiet)).toBe(standby.port) // with its first statement: it heard of it from the other pool
  await eventually(() => hints >= 2, 30_000)
  await listener.stop()

  async function activeSleeps() {
    const found = await rows(
      connect(primary.url),
      sql`select 1 from pg_stat_activity where query like 'select pg_sleep(20)%' and state = 'active'`,
    )
    return found.length
  }
})

test('an old primary that comes back as it was is not written to', async () => {
  const { primary, standby } = pair
  primary.resume() // both accept writes now
  expect(await portOf(connect(primary.url))).toBe(primary.port)
  for (let i = 0; i < 3; i += 1) expect(await portOf(connect(pair.url('read-write')))).toBe(standby.port)
})

test('a session whose server stops accepting writes is thrown away with its first refused write', async () => {
  const { primary, standby } = pair
  await primary.becomeStandbyOf(standby)
  const db = connect(primary.url)
  const pid = async () => (await rows(db, sql<{ pid: number }>`select pg_backend_pid() as pid`))[0]!.pid
  const before = await pid()
  await expect(rows(db, sql`create table refused (one int)`)).rejects.toMatchObject({ code: 'database_unavailable' })
  await eventually(async () => (await pid()) !== before)
})
