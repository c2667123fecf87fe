import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { placeAfterAll } from '../../test/support/feed.ts'
import { createTestDatabase, type TestDatabase } from '../../test/support/postgres.ts'
import { type Cursor, currentCursor } from './changes.ts'
import type { Db } from './db.ts'
import { beatEdge, countEdges, type EdgeBeat, findEdgesBehind, findVisitableEdges, forgetEdge, listEdges, pruneEdges } from './edges.ts'

let database: TestDatabase
let db: Db
beforeAll(async () => {
  database = await createTestDatabase()
  db = database.db
})
afterAll(() => database.drop())
beforeEach(() => db.pool.query('delete from edges'))

async function edge(name: string, more: Partial<EdgeBeat> & { silentForS?: number } = {}): Promise<string> {
  const id = more.id ?? randomUUID()
  const place = more.place ?? (await placeAfterAll(db))
  const counted = { routes: 2, certificates: 1, connections: 3, load: 0.5 }
  await beatEdge(db, { id, name, address: undefined, version: '1.0.0', runsForMs: 1_000, behindMs: 0, place, ...counted, ...more })
  if (more.silentForS)
    await db.pool.query(`update edges set heartbeat_at = now() - make_interval(secs => $1) where id = $2`, [more.silentForS, id])
  return id
}

/** The number of a transaction that has just committed. */
async function committed(): Promise<string> {
  const { rows } = await db.pool.query<{ xid: string }>(`insert into changes (kind, key) values ('host', 'a.example') returning xid::text`)
  return rows[0]!.xid
}

const names = (found: { name: string }[]) => found.map(({ name }) => name)
const behind = async (xid: string, more: { releasedAt?: Date; leaseS?: number } = {}) =>
  names(await findEdgesBehind(db, { xid, releasedAt: null, ...more }))

test('an edge is listed as it said last, and falls silent after ten seconds without a word', async () => {
  const id = await edge('paris-1', { address: '10.0.0.7:8443', behindMs: 250 })
  await edge('paris-1', { id, connections: 7, address: '10.0.0.7:8443', behindMs: 250 })
  await edge('oslo-1', { silentForS: 11 })
  expect(await listEdges(db)).toMatchObject([
    { name: 'oslo-1', state: 'silent', address: null },
    {
      id,
      name: 'paris-1',
      state: 'fresh',
      address: '10.0.0.7:8443',
      version: '1.0.0',
      behindMs: 250,
      routes: 2,
      connections: 7,
      load: 0.5,
    },
  ])
  expect(await countEdges(db)).toEqual({ fresh: 1, silent: 1 })
  expect(names(await findVisitableEdges(db))).toEqual(['paris-1'])
})

test('a machine that was taken away is forgotten by its name; one that is heard is not', async () => {
  await edge('paris-1')
  await edge('oslo-1', { silentForS: 11 })
  expect(await forgetEdge(db, 'paris-1')).toEqual({ kind: 'fresh' })
  expect(await forgetEdge(db, 'oslo-1')).toEqual({ kind: 'forgotten' })
  expect(await forgetEdge(db, 'oslo-1')).toEqual({ kind: 'unknown' })
})

test('a heartbeat from before the database’s clock was set back says nothing of now: its edge is silent, and may not know of what came since', async () => {
  const place = await currentCursor(db)
  const xid = await committed()
  await edge('paris-1', { place, address: '10.0.0.7:8443', silentForS: -3_600 })
  expect(await listEdges(db)).toMatchObject([{ name: 'paris-1', state: 'silent' }])
  expect(await countEdges(db)).toEqual({ fresh: 0, silent: 1 })
  expect(await findVisitableEdges(db)).toEqual([])
  expect(await behind(xid)).toEqual([])
  expect(await behind(xid, { releasedAt: new Date() })).toEqual(['paris-1'])
  expect(await behind(xid, { releasedAt: new Date(Date.now() - 120_000) })).toEqual(['paris-1'])
  expect(await forgetEdge(db, 'paris-1')).toEqual({ kind: 'forgotten' })
})

test('an edge that was silent for a day is no longer listed', async () => {
  await edge('old', { silentForS: 86_401 })
  await edge('quiet', { silentForS: 86_000 })
  await pruneEdges(db)
  expect(names(await listEdges(db))).toEqual(['quiet'])
})

test('a fresh edge is behind until its place lies after the change; a silent one is not waited for', async () => {
  const before = await currentCursor(db)
  const xid = await committed()
  await edge('paris-1', { place: before })
  await edge('oslo-1', { place: before, silentForS: 11 })
  await edge('rome-1', { place: { ...before, xid, seq: '0' } })
  expect((await behind(xid)).sort()).toEqual(['paris-1', 'rome-1'])
  await edge('bern-1')
  expect((await behind(xid)).sort()).toEqual(['paris-1', 'rome-1'])
})

test('a place in another life of the database counts for nothing', async () => {
  const xid = await committed()
  await edge('paris-1', { place: { epoch: 'another', xid: '9999999', seq: '0' } satisfies Cursor })
  expect(await behind(xid)).toEqual(['paris-1'])
})

test('where another project held the hostname, a silent edge that may not know is waited for until its lease runs out', async () => {
  const before = await currentCursor(db)
  const xid = await committed()
  const releasedAt = new Date()
  await edge('oslo-1', { place: before, silentForS: 30 })
  expect(await behind(xid)).toEqual([])
  expect(await behind(xid, { releasedAt })).toEqual(['oslo-1'])
  expect(await behind(xid, { releasedAt, leaseS: 20 })).toEqual([])
  const [missing] = await findEdgesBehind(db, { xid, releasedAt })
  expect(missing!.leaseEndsAt!.getTime() - missing!.heartbeatAt.getTime()).toBe(600_000)
})

test('one that was heard well after the hostname was given up has dropped it, unless it was far behind', async () => {
  const before = await currentCursor(db)
  const xid = await committed()
  const releasedAt = new Date(Date.now() - 600_000)
  await edge('oslo-1', { place: before, silentForS: 30 })
  await edge('rome-1', { place: before, silentForS: 30, behindMs: 3_600_000 })
  expect(await behind(xid, { releasedAt })).toEqual(['rome-1'])
})
