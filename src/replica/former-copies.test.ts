import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Hostname, wildcardOver } from '../hostname.ts'
import { certificateOf, foundRoute, pagesOf, routeOf, shop, snapshotOf, temporaryFolder } from './copy.fixture.ts'
import { currentGeneration } from './copy-files.ts'
import { openCopyReader } from './copy-reader.ts'
import { openCopyWriter } from './copy-writer.ts'

/** What a release of that version left besides its routes. */
const TABLES = new Map([
  [
    3,
    `create table state (one integer primary key, epoch text, xid text, seq text, complete integer not null, as_of_ms integer not null);
     insert into state values (1, 'one', '10', '1', 1, 5)`,
  ],
  [
    4,
    `create table projects (id text primary key, name text, color text, error_page text, version integer) strict, without rowid;
     insert into projects values ('7', 'Acme', '#1a56c4', '<p>Back soon</p>', 1), ('8', 'Two', null, null, 1);
     create table names (hostname text primary key, used_at_ms integer not null) strict, without rowid;
     create table totals (one integer primary key, routes integer, certificates integer, names integer);
     create table state (
       one integer primary key, epoch text, xid text, seq text, mark text, complete integer not null, metadata integer not null, as_of_ms integer not null
     ) strict;
     insert into state values (1, 'one', '10', '1', null, 1, 1, 5)`,
  ],
])

const ROUTES = `
  create table routes (
    hostname text primary key, project_id text not null, project_slug text not null, upstream_url text not null, upstream_protocol text not null,
    metadata_json text not null, verified integer not null, proof_needed integer not null, created_at_ms integer not null, version integer not null
  ) strict, without rowid`

let undo: (() => void)[]
beforeEach(() => {
  undo = []
})
afterEach(() => {
  for (const action of undo.reverse()) action()
})

for (const [version, tables] of TABLES) {
  test(`the copy of a former release (version ${version}) is read until a new one stands, with what that release still writes to it`, async () => {
    const { path, remove } = temporaryFolder()
    undo.push(remove)
    const { put } = await layFormerCopy(path, version, tables)
    put(shop(1), '7', 'acme', 'https://app.acme.com', 1)
    put(shop(2), '8', 'two', 'https://two', 1)
    put(wildcardOver(shop(1)), '7', 'acme', 'https://app.acme.com', 1)
    const reader = openCopyReader(path, { metadata: true })
    undo.push(reader.close)
    expect(reader.state()).toEqual({ usable: true, complete: true, asOfMs: 5 })
    expect(reader.findRoute(shop(1))).toEqual(foundRoute(routeOf(shop(1))))
    expect(reader.findRoute(shop(2))).toMatchObject({ projectId: '8', projectSlug: 'two', upstreamUrl: 'https://two' })
    expect(reader.findRoute(shop(3))).toMatchObject({ hostname: wildcardOver(shop(1)), upstreamUrl: 'https://app.acme.com' })
    expect(reader.findBrand('7')).toEqual(version === 3 ? undefined : { name: 'Acme', color: '#1a56c4', errorPage: '<p>Back soon</p>' })
    put(shop(1), '7', 'acme', 'https://new', 2)
    expect(reader.findRoute(shop(1))?.upstreamUrl).toBe('https://new')

    const writer = openCopyWriter(path)
    undo.push(writer.close)
    expect(writer.state()).toMatchObject({ cursor: undefined, unfit: expect.stringContaining(`version ${version}`) })
    expect(reader.findRoute(shop(1))?.upstreamUrl).toBe('https://new')
    await writer.replaceAll(snapshotOf([routeOf(shop(3))]))
    reader.lookAgain()
    expect(reader.findRoute(shop(3))).toEqual(foundRoute(routeOf(shop(3))))
  })
}

test('certificates of the copy of a former release, whose table had no rowid, are read until a new one stands', async () => {
  const { path, remove } = temporaryFolder()
  undo.push(remove)
  const first = openCopyWriter(path)
  await first.replaceAll(snapshotOf([routeOf(shop(1))], { certificates: pagesOf([certificateOf(shop(1))]) }))
  first.close()
  const db = new DatabaseSync(currentGeneration(path)!)
  const { sql } = db.prepare(`select sql from sqlite_schema where name = 'certificates'`).get() as { sql: string }
  db.exec(`alter table certificates rename to ours; ${sql}, without rowid; insert into certificates select * from ours; drop table ours`)
  db.exec('pragma user_version = 5')
  db.close()
  const reader = openCopyReader(path, {})
  undo.push(reader.close)
  expect(reader.findCertificate(shop(1))).toEqual(certificateOf(shop(1)))
  const writer = openCopyWriter(path)
  undo.push(writer.close)
  expect(writer.state().unfit).toContain('version 5')
  await writer.replaceAll(snapshotOf([routeOf(shop(1))], { certificates: pagesOf([certificateOf(shop(1))]) }))
  reader.lookAgain()
  expect(reader.state()).toMatchObject({ usable: true, complete: true })
  expect(reader.findCertificate(shop(1))).toEqual(certificateOf(shop(1)))
})

/** In the place of one of today's, and as the former release's follower goes on writing it. */
async function layFormerCopy(path: string, version: number, tables: string) {
  const writer = openCopyWriter(path)
  await writer.replaceAll(snapshotOf([]))
  writer.close()
  const db = new DatabaseSync(currentGeneration(path)!)
  undo.push(() => db.close())
  const ours = ['routes', 'projects', 'names', 'totals', 'state'].map((table) => `drop table ${table};`)
  db.exec(`drop view whole_routes; ${ours.join(' ')} ${tables}; ${ROUTES}; pragma user_version = ${version}`)
  const insert = db.prepare(`insert or replace into routes values (?, ?, ?, ?, 'http1', '{"b":1,"a":"ü"}', 1, 0, 1700000000000, ?)`)
  return {
    put(...values: [hostname: Hostname, projectId: string, slug: string, upstreamUrl: string, version: number]) {
      insert.run(...values)
    },
  }
}
