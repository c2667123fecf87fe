import { once } from 'node:events'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { createTestDatabase } from '../../test/support/postgres.ts'
import { pause } from '../lib/back-off.ts'
import { listenForChanges } from './changes.ts'
import { HostedClient } from './database-client.ts'
import { createDatabaseHosts } from './database-hosts.ts'
import { closeDatabase, connectDatabase, rows } from './db.ts'

const SOCKET = '.s.PGSQL.5432'
const SILENCE_MS = 6_000
const STOPPED_WITHIN_MS = 5_000
const AWAY_MS = 6_000
const LONG_S = 7

test('a listener stops soon when the way to the database swallows everything, as a network does that drops packets', async () => {
  const database = await createTestDatabase()
  const folder = await mkdtemp(join(tmpdir(), 'namesake-silent-'))
  await chmod(folder, 0o755)
  const url = new URL(database.url)
  const network = await startNetwork(url, (server) => server.listen(join(folder, SOCKET)))
  url.searchParams.set('host', folder)

  const stands = Promise.withResolvers<void>()
  const listening = listenForChanges(connectDatabase(url.href, { applicationName: 'test' }), stands.resolve)
  await stands.promise
  network.swallow()
  const late = new Promise((resolve) => setTimeout(resolve, STOPPED_WITHIN_MS, 'late').unref())
  expect(await Promise.race([listening.stop().then(() => 'stopped'), late])).toBe('stopped')

  network.end()
  await rm(folder, { recursive: true, force: true })
  await database.drop()
})

test('a connection that only listens outlives any quiet time, while its server answers', async () => {
  const database = await createTestDatabase()
  const client = new HostedClient({ connectionString: database.url, hosts: createDatabaseHosts(database.url), silenceMaxMs: SILENCE_MS })
  await client.connect()
  await client.query('listen quiet')
  const outcome = await Promise.race([once(client, 'error'), pause(1.5 * SILENCE_MS)])
  expect(outcome).toBeUndefined()
  const heard = once(client, 'notification')
  await database.db.pool.query('notify quiet')
  await heard
  await client.end()
  await database.drop()
})

test('what a network swallowed while it was away is given up once it is back, and not when TCP sends it again', async () => {
  const database = await createTestDatabase()
  const url = new URL(database.url)
  const network = await startNetwork(url, (server) => server.listen(0, '127.0.0.1'))
  const { port } = network.server.address() as AddressInfo
  const db = connectDatabase(`postgres://${url.username}@127.0.0.1:${port}${url.pathname}`, { applicationName: 'test', poolMax: 1 })
  await rows(db, sql`select 1`)

  network.server.close()
  network.swallow()
  const asked = expect(rows(db, sql`select 1`)).rejects.toMatchObject({ code: 'database_unavailable' })
  await pause(AWAY_MS)
  network.server.listen(port, '127.0.0.1')
  await asked
  expect(await rows(db, sql`select 1 as answer`)).toEqual([{ answer: 1 }])

  await closeDatabase(db)
  network.end()
  await database.drop()
})

test('a statement that takes long at a server within reach is waited for', async () => {
  const database = await createTestDatabase()
  expect(await rows(database.db, sql`select 1 as answer from pg_sleep(${LONG_S})`)).toEqual([{ answer: 1 }])
  await database.drop()
})

/** A way to the database at `url`, which can swallow what is sent over it, as a network does that drops packets. */
async function startNetwork(url: URL, listen: (server: Server) => Server) {
  const target = join(url.searchParams.get('host')!, SOCKET)
  const sockets: Socket[] = []
  const server = createServer({ allowHalfOpen: true }, (near) => {
    const far = connect(target)
    sockets.push(
      near.on('error', () => {}),
      far.on('error', () => {}),
    )
    near.pipe(far).pipe(near)
  })
  await once(listen(server), 'listening')
  return {
    server,
    swallow() {
      for (const socket of sockets) socket.unpipe().pause()
    },
    end() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}
