import { closeSync, openSync, readdirSync, rmSync, symlinkSync, truncateSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync, type SQLOutputValue } from 'node:sqlite'
import { setTimeout as wait } from 'node:timers/promises'
import { pino } from 'pino'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Hostname, parseHostname, wildcardOver } from '../hostname.ts'
import { certificateOf, cursorAt, foundRoute, projectOf, routeOf, shop, temporaryFolder } from './copy.fixture.ts'
import { currentGeneration } from './copy-files.ts'
import { type CopyReader, openCopyReader } from './copy-reader.ts'
import type { Change, CopySource } from './copy-source.ts'
import { type CopyWriter, openCopyWriter } from './copy-writer.ts'
import { createFollower, type Follower } from './follower.ts'
import type { CertificateRow, ChallengeRow, ChangedKeys, RouteRow } from './rows.ts'

/** What the database would say, held in memory: rows, a feed, and ways to break it. */
function createSource() {
  const routes = new Map<Hostname, RouteRow>()
  const projects = new Map([['7', projectOf()]])
  const certificates = new Map<Hostname, CertificateRow>()
  const settings = new Map<string, Buffer>()
  const challenges: ChallengeRow[] = []
  const feed: Change[] = []
  const fail = { with: undefined as Error | undefined }
  const calls = { snapshots: 0, reads: 0, loads: [] as Hostname[][], certificates: [] as number[] }
  const during = { page: () => {}, load: async () => {} }
  const place = { epoch: 'one', prunedTo: 0, server: 1 }
  let hint = () => {}

  const ready = async (): Promise<void> => {
    if (fail.with) throw fail.with
  }
  async function* pagesOf<T extends { hostname: Hostname }>(rows: Map<Hostname, T>, size: number): AsyncIterable<T[]> {
    const all = [...rows.values()].sort((one, other) => (one.hostname < other.hostname ? -1 : 1))
    for (let from = 0; from < all.length; from += size) {
      await ready()
      yield all.slice(from, from + size)
      during.page()
    }
  }
  const source: CopySource = {
    server: () => place.server,
    async currentCursor() {
      await ready()
      calls.snapshots += 1
      return cursorAt(feed.length, place.epoch)
    },
    async readChanges(cursor, limit) {
      await ready()
      calls.reads += 1
      const seq = Number(cursor.seq)
      if (cursor.epoch !== place.epoch || seq < place.prunedTo) return { kind: 'snapshot-needed' }
      const changes = feed.slice(seq, seq + limit)
      return { changes, cursor: cursorAt(seq + changes.length, place.epoch) }
    },
    async loadRoutes(hostnames) {
      await ready()
      calls.loads.push(hostnames)
      const found = hostnames.flatMap((hostname) => routes.get(hostname) ?? [])
      await during.load()
      return found
    },
    async loadCertificates(hostnames) {
      await ready()
      calls.certificates.push(hostnames.length)
      return hostnames.flatMap((hostname) => certificates.get(hostname) ?? [])
    },
    async findRoutes(hostnames) {
      return (await source.loadRoutes(hostnames)).map((row) => foundRoute(row, projects.get(row.projectId)))
    },
    findCertificates: (hostnames) => source.loadCertificates(hostnames),
    async loadProjects(ids) {
      await ready()
      return ids.flatMap((id) => projects.get(id) ?? [])
    },
    async *eachProjectPage() {
      yield [...projects.values()]
    },
    eachRoutePage: (size) => pagesOf(routes, size),
    eachCertificatePage: (size) => pagesOf(certificates, size),
    async loadChallenges() {
      await ready()
      return challenges
    },
    async readSetting(name) {
      await ready()
      return settings.get(name)
    },
    listen(onHint) {
      hint = onHint
      return { stop: () => {} }
    },
  }
  const put = (row: RouteRow) => routes.set(row.hostname, row)
  const change = (...changes: Change[]) => {
    feed.push(...changes)
    hint()
  }
  return {
    source,
    routes,
    projects,
    certificates,
    settings,
    challenges,
    fail,
    calls,
    during,
    place,
    put,
    change,
    feedLength: () => feed.length,
  }
}

const everyShop = wildcardOver(shop(0))

let place: ReturnType<typeof temporaryFolder>
let database: ReturnType<typeof createSource>
let writer: CopyWriter
let reader: CopyReader
let follower: Follower
let clock: number
let heard: { changed: ChangedKeys[]; resets: number }

beforeEach(() => {
  place = temporaryFolder()
  database = createSource()
  writer = openCopyWriter(place.path)
  reader = openCopyReader(place.path)
  clock = 1_000_000
  heard = { changed: [], resets: 0 }
  follow()
})
afterEach(async () => {
  await follower.stop()
  reader.close()
  writer.close()
  place.remove()
})

function follow(log = pino({ level: 'silent' })): void {
  follower = createFollower({
    source: database.source,
    writer,
    settingNames: ['thumbprint'],
    log,
    now: () => clock,
  })
}

function start(): void {
  const own = heard // what a follower says with its last breath, the next test does not hear
  follower.start({ changed: (keys) => own.changed.push(keys), reset: () => (own.resets += 1), heartbeat: () => {} })
}

async function startAndFill(): Promise<void> {
  start()
  await expect.poll(() => follower.status()).toEqual({ lagMs: 0, complete: true, asOfMs: clock })
  await expect.poll(() => heard.resets).toBe(1)
}

const routesHeard = () => heard.changed.flatMap(({ routes }) => routes)
const host = (hostname: Hostname): Change => ({ kind: 'host', key: hostname })

test('an empty machine fills its copy with everything, and tells its processes', async () => {
  for (let number = 0; number < 2_500; number += 1) database.put(routeOf(shop(number)))
  database.certificates.set(shop(3), certificateOf(shop(3)))
  database.settings.set('thumbprint', Buffer.from('abc'))
  database.settings.set('acme-account', Buffer.from('not for edges'))
  await startAndFill()
  for (let number = 0; number < 2_500; number += 1) expect(reader.findRoute(shop(number))).toBeDefined()
  expect(reader.findCertificate(shop(3))).toEqual(certificateOf(shop(3)))
  expect(reader.findSetting('thumbprint')).toEqual(Buffer.from('abc'))
  expect(reader.findSetting('acme-account')).toBeUndefined()
})

test('a full disk is said at once, and is not filled up again with each of many tries', async () => {
  const said: string[] = []
  follow(pino({}, { write: (line) => said.push(JSON.parse(line).reason) }))
  database.put(routeOf(shop(1)))
  database.during.page = () => {
    throw Object.assign(new Error('database or disk is full'), { errcode: 13 })
  }
  start()
  await expect.poll(() => said).toEqual(['there is no room for a new copy: database or disk is full'])
  await wait(1_000) // in which it would try some four times
  expect(database.calls.snapshots).toBe(1)
})

test('a copy that there was no room to open is followed as soon as there is, and not built anew', async () => {
  database.put(routeOf(shop(1)))
  await startAndFill()
  await follower.stop()
  writer.close()
  reader.close()
  const beside = `${currentGeneration(place.path)}-shm`
  symlinkSync('/dev/full', beside)
  writer = openCopyWriter(place.path)
  expect(writer.state()).toMatchObject({ cursor: undefined, unfit: expect.stringContaining('it cannot be opened') })
  database.during.page = () => {
    throw new Error('there is room for the files beside a copy, and for no second one')
  }
  database.put(routeOf(shop(2)))
  database.change(host(shop(2)))
  follow()
  start()
  await expect.poll(() => follower.report().trouble).toContain('no second one')
  rmSync(beside)
  await expect.poll(() => writer.findRoute(shop(2))).toBeDefined()
  expect(follower.report()).toMatchObject({ lagMs: 0, complete: true, snapshots: 0 })
})

test('a change is in the copy before anybody is told', async () => {
  await startAndFill()
  database.put(routeOf(shop(1)))
  database.certificates.set(shop(2), certificateOf(shop(2)))
  database.settings.set('thumbprint', Buffer.from('new'))
  database.change(
    host(shop(1)),
    host(shop(1)),
    { kind: 'certificate', key: shop(2) },
    { kind: 'token', key: '8' },
    { kind: 'setting', key: 'thumbprint' },
  )
  await expect
    .poll(() => heard.changed)
    .toEqual([{ routes: [shop(1)], certificates: [shop(2)], projects: [], tokens: ['8'], settings: ['thumbprint'], challenges: [] }])
  expect(reader.findRoute(shop(1))).toBeDefined()
  expect(reader.findCertificate(shop(2))).toBeDefined()
  expect(reader.findSetting('thumbprint')).toEqual(Buffer.from('new'))
  database.routes.delete(shop(1))
  database.certificates.delete(shop(2))
  database.change(host(shop(1)), { kind: 'certificate', key: shop(2) })
  await expect.poll(() => reader.findRoute(shop(1))).toBeUndefined()
  expect(reader.findCertificate(shop(2))).toBeUndefined()
})

test('certificates, which may be large, are read some at a time, and all arrive before anybody is told', async () => {
  await startAndFill()
  const names = Array.from({ length: 990 }, (_, number) => shop(number))
  for (const hostname of names) database.certificates.set(hostname, certificateOf(hostname))
  database.change(...names.map((key) => ({ kind: 'certificate' as const, key })), host(shop(1)))
  await expect.poll(() => heard.changed.map(({ certificates }) => certificates.length)).toEqual([990])
  expect(names.every((hostname) => reader.findCertificate(hostname) !== undefined)).toBe(true)
  expect(database.calls.certificates).toEqual([200, 200, 200, 200, 190])
  for (const hostname of names) database.certificates.delete(hostname)
  database.change(...names.map((key) => ({ kind: 'certificate' as const, key })))
  await expect.poll(() => names.some((hostname) => reader.findCertificate(hostname) !== undefined)).toBe(false)
})

test('pending challenges are in the copy from the first snapshot, change with the feed, and outlive a restart', async () => {
  const challengeOf = (hostname: Hostname, keyAuthorization: string, expiresAtMs: number) => ({ hostname, keyAuthorization, expiresAtMs })
  const change = { kind: 'challenge', key: shop(1) } as const
  database.challenges.push(
    challengeOf(shop(1), 'newer', 2_000.5),
    challengeOf(shop(1), 'older', 1_000),
    challengeOf(shop(2), 'other', 1_500),
  )
  await startAndFill()
  expect(reader.readChallenges()?.map(({ keyAuthorization }) => keyAuthorization)).toEqual(['older', 'other', 'newer'])
  database.challenges.splice(0, 2)
  database.change(change)
  await expect.poll(() => heard.changed.at(-1)).toMatchObject({ challenges: [shop(1)] })
  expect(reader.readChallenges()).toEqual([challengeOf(shop(2), 'other', 1_500)])
  await follower.stop()
  database.challenges.push(challengeOf(shop(1), 'while nobody followed', 3_000))
  database.change(change, change)
  follow()
  expect(reader.readChallenges()).toHaveLength(1)
  follower.start()
  await expect.poll(() => reader.readChallenges()?.at(-1)?.keyAuthorization).toBe('while nobody followed')
})

test('a changed project reaches all its hostnames, and is one row to load and to tell', async () => {
  for (const id of ['1', '2']) database.projects.set(id, projectOf(id, { upstreamUrl: `https://${id}` }))
  for (let number = 0; number < 2_200; number += 1) database.put(routeOf(shop(number), { projectId: number % 11 === 0 ? '2' : '1' }))
  await startAndFill()
  expect(reader.findRoute(shop(1))?.upstreamUrl).toBe('https://1')
  database.projects.set('1', projectOf('1', { upstreamUrl: 'https://new', version: 2 }))
  database.change({ kind: 'project', key: '1' })
  await expect.poll(() => heard.changed).toEqual([expect.objectContaining({ projects: ['1'], routes: [] })])
  for (const { hostname, projectId } of database.routes.values())
    expect(reader.findRoute(hostname)?.upstreamUrl).toBe(projectId === '1' ? 'https://new' : 'https://2')
  expect(database.calls.loads).toEqual([])
})

test('a project that is made while the copy is followed is in it before the routes of its hostnames', async () => {
  await startAndFill()
  database.projects.set('9', projectOf('9', { upstreamUrl: 'https://9' }))
  database.put(routeOf(shop(1), { projectId: '9' }))
  database.change(host(shop(1)), { kind: 'project', key: '9' })
  await expect.poll(routesHeard).toEqual([shop(1)])
  expect(reader.findRoute(shop(1))?.upstreamUrl).toBe('https://9')
  expect(heard.changed.map(({ projects }) => projects)).toEqual([['9'], []])
})

test('what changes while a snapshot is read is not lost', async () => {
  for (let number = 0; number < 3_000; number += 1) database.put(routeOf(shop(number)))
  const first = [...database.routes.keys()].sort()[0]!
  database.during.page = () => {
    database.during.page = () => {}
    database.put(routeOf(first, { version: 2, metadataJson: '"new"' })) // its page was read already
    database.put(routeOf(shop(900_000)))
    database.change(host(first), host(shop(900_000)))
  }
  await startAndFill()
  expect(reader.findRoute(first)?.metadataJson).toBe('"new"')
  expect(reader.findRoute(shop(900_000))).toBeDefined()
})

test('what another server answers than the one that the feed was read of is not taken: it may be behind', async () => {
  for (let number = 0; number < 3_000; number += 1) database.put(routeOf(shop(number)))
  const first = [...database.routes.keys()].sort()[0]!
  database.during.page = () => {
    database.during.page = () => {}
    database.put(routeOf(first, { version: 2, metadataJson: '"of before the cursor"' })) // the server of the first page had not come so far
    database.place.server += 1
  }
  await startAndFill()
  expect(reader.findRoute(first)?.metadataJson).toBe('"of before the cursor"')
  database.during.load = async () => {
    database.during.load = async () => {}
    database.put(routeOf(first, { version: 3, metadataJson: '"of the change"' }))
    database.place.server += 1
  }
  database.change(host(first))
  await expect.poll(() => reader.findRoute(first)?.metadataJson).toBe('"of the change"')
  expect(follower.report().trouble).toBeUndefined()
})

test('more changes than one read holds all arrive', async () => {
  await startAndFill()
  const hostnames = Array.from({ length: 3_500 }, (_, number) => shop(number))
  for (const hostname of hostnames) database.put(routeOf(hostname))
  database.change(...hostnames.map(host))
  await expect.poll(() => routesHeard().length).toBe(3_500)
  for (const hostname of hostnames) expect(reader.findRoute(hostname)).toBeDefined()
})

test('a restarted follower goes on from its cursor, without a second snapshot', async () => {
  database.put(routeOf(shop(1)))
  await startAndFill()
  await follower.stop()
  writer.close()
  database.put(routeOf(shop(2)))
  database.change(host(shop(2)))
  writer = openCopyWriter(place.path)
  follow()
  start()
  await expect.poll(() => reader.findRoute(shop(2))).toBeDefined()
  expect(database.calls.snapshots).toBe(1)
  expect(follower.report().snapshots).toBe(0)
})

for (const [what, change] of [
  ['a restored database (another epoch)', { epoch: 'two' }],
  ['a feed that was pruned beyond the cursor', { prunedTo: 1 }],
] as const) {
  test(`${what} leads to a new snapshot, and everybody forgets`, async () => {
    database.put(routeOf(shop(1), { version: 9 }))
    await startAndFill()
    database.routes.clear()
    database.put(routeOf(shop(2)))
    Object.assign(database.place, change)
    database.change(host(shop(7)))
    await expect.poll(() => heard.resets).toBe(2)
    expect(reader.findRoute(shop(1))).toBeUndefined()
    expect(reader.findRoute(shop(2))).toBeDefined()
  })
}

test('while the database is away the copy serves, its lag grows, and it catches up by itself', async () => {
  database.put(routeOf(shop(1)))
  await startAndFill()
  database.fail.with = new Error('connection refused')
  database.put(routeOf(shop(2)))
  database.change(host(shop(2)))
  await expect.poll(() => follower.report().trouble).toBe('connection refused')
  clock += 60_000
  expect(follower.status()).toMatchObject({ lagMs: 60_000, complete: true })
  expect(await follower.findRoute(shop(1))).toMatchObject({ kind: 'route' })
  expect(await follower.findRoute(shop(2))).toEqual({ kind: 'unavailable' })
  database.fail.with = undefined
  await expect.poll(() => follower.status().lagMs).toBe(0)
  expect(reader.findRoute(shop(2))).toBeDefined()
  expect(follower.report().trouble).toBeUndefined()
})

test('a miss in a fresh and complete copy is final and asks nobody', async () => {
  await startAndFill()
  const before = database.calls.loads.length
  for (let number = 0; number < 1_000; number += 1) expect(await follower.findRoute(shop(number))).toEqual({ kind: 'unknown' })
  expect(database.calls.loads).toHaveLength(before)
})

test('before the first snapshot misses are asked of the database: once a hostname, fifty at most, the rest unavailable', async () => {
  database.put(routeOf(shop(0)))
  const same = await Promise.all(Array.from({ length: 100 }, () => follower.findRoute(shop(0))))
  expect(same.every((answer) => answer.kind === 'route')).toBe(true)
  expect(database.calls.loads).toEqual([[shop(0), everyShop]])
  const others = await Promise.all(Array.from({ length: 1_000 }, (_, number) => follower.findRoute(shop(number + 1))))
  expect(others.filter(({ kind }) => kind === 'unknown')).toHaveLength(49)
  expect(others.filter(({ kind }) => kind === 'unavailable')).toHaveLength(951)
  clock += 100
  const later = await Promise.all(Array.from({ length: 10 }, (_, number) => follower.findRoute(shop(number + 5_000))))
  expect(later.filter(({ kind }) => kind === 'unknown')).toHaveLength(5)
})

test('an answer of the database that a change has overtaken is not given', async () => {
  await startAndFill()
  clock += 6_000 // the copy is behind: misses are asked of the database
  const held = Promise.withResolvers<void>()
  database.during.load = () => held.promise
  const asked = follower.findRoute(shop(1))
  database.during.load = async () => {}
  database.put(routeOf(shop(1)))
  database.change(host(shop(1)))
  await expect.poll(routesHeard).toEqual([shop(1)])
  held.resolve()
  expect(await asked).toMatchObject({ kind: 'route' })
})

test('a damaged file is found at the start, replaced by a snapshot, and everybody forgets', async () => {
  for (let number = 0; number < 5_000; number += 1) database.put(routeOf(shop(number)))
  await startAndFill()
  await follower.stop()
  writer.close()
  const file = openSync(currentGeneration(place.path)!, 'r+')
  for (let page = 60; page < 90; page += 1) writeSync(file, Buffer.alloc(300, 0xab), 0, 300, page * 4096)
  closeSync(file)
  writer = openCopyWriter(place.path)
  follow()
  start()
  await expect.poll(() => follower.report().snapshots).toBe(1)
  await expect.poll(() => heard.resets).toBe(2)
  for (let number = 0; number < 5_000; number += 1) expect(reader.findRoute(shop(number))).toBeDefined()
  expect(reader.state().complete).toBe(true)
})

test.each<[string, (folder: string, file: string) => void]>([
  ['is emptied', (_folder, file) => truncateSync(file, 0)],
  ['is removed', (_folder, file) => rmSync(file)],
  [
    'is removed with all that lies beside it',
    (folder) => {
      for (const name of readdirSync(folder)) rmSync(join(folder, name))
    },
  ],
])('a copy that %s while it is followed is built anew within seconds', async (_what, spoil) => {
  database.put(routeOf(shop(1)))
  await startAndFill()
  spoil(place.folder, currentGeneration(place.path)!)
  await expect.poll(() => follower.report()).toMatchObject({ snapshots: 2, damages: 1, complete: true })
  database.put(routeOf(shop(2)))
  database.change(host(shop(2)))
  await expect.poll(() => reader.findRoute(shop(2))).toBeDefined()
  const later = openCopyReader(place.path)
  expect(later.findRoute(shop(1))).toBeDefined()
  later.close()
})

test('a database that does not know its own cursor is asked again with growing pauses, not in a loop', async () => {
  database.place.prunedTo = 1
  start()
  await expect.poll(() => follower.report().trouble).toContain('does not know the cursor')
  expect(database.calls.snapshots).toBeLessThan(10)
  database.place.prunedTo = 0
  await expect.poll(() => follower.report().trouble).toBeUndefined()
})

test('a reader that reports damage which is none changes nothing', async () => {
  database.put(routeOf(shop(1)))
  await startAndFill()
  follower.copyDamaged('as a test says')
  expect(await writer.check()).toEqual({ kind: 'sound' })
  expect(follower.report()).toMatchObject({ complete: true, snapshots: 1 })
})

test('a certificate that is not where its index has it is found out when it is asked for, and a snapshot brings it back', async () => {
  for (let number = 0; number < 20; number += 1) database.certificates.set(shop(number), certificateOf(shop(number)))
  await startAndFill()
  displaceCertificate(currentGeneration(place.path)!, shop(5))
  expect(await writer.check()).toEqual({ kind: 'sound' })
  const asked = openCopyReader(place.path, { onDamaged: follower.copyDamaged })
  try {
    expect(asked.findCertificate(shop(5))).toBeUndefined()
    await expect.poll(() => asked.findCertificate(shop(5))).toEqual(certificateOf(shop(5)))
    await expect.poll(() => follower.report()).toMatchObject({ complete: true, snapshots: 2, damages: 1 }) // it counts once its processes know
  } finally {
    asked.close()
  }
})

/** As after a crash that one page of the index outlived and one of the table did not: changes the row while the file says that there is no index. */
function displaceCertificate(file: string, hostname: Hostname): void {
  const withSchema = (change: (db: DatabaseSync) => void) => {
    const db = new DatabaseSync(file, { defensive: false })
    db.exec('pragma writable_schema = on')
    change(db)
    const { schema_version: version } = db.prepare('pragma schema_version').get() as { schema_version: number }
    db.exec(`pragma schema_version = ${version + 1}`)
    db.close()
  }
  const indexName = 'sqlite_autoindex_certificates_1'
  let index: Record<string, SQLOutputValue> = {}
  withSchema((db) => {
    index = db.prepare('select rowid, * from sqlite_schema where name = ?').get(indexName)!
    db.prepare('delete from sqlite_schema where name = ?').run(indexName)
    db.exec(`update sqlite_schema set sql = replace(sql, 'text primary key', 'text') where name = 'certificates'`)
  })
  withSchema((db) => {
    db.prepare('update certificates set rowid = rowid + 1000 where hostname = ?').run(hostname)
    db.exec(`update sqlite_schema set sql = replace(sql, 'hostname text', 'hostname text primary key') where name = 'certificates'`)
    db.prepare(
      'insert into sqlite_schema (rowid, type, name, tbl_name, rootpage, sql) values (:rowid, :type, :name, :tbl_name, :rootpage, :sql)',
    ).run(index)
  })
}

test('a wildcard leads where no name of its own does, and a name wins as soon as the copy has it', async () => {
  database.put(routeOf(everyShop))
  await startAndFill()
  expect(reader.findRoute(shop(1))?.hostname).toBe(everyShop)
  expect(await follower.findRoute(shop(1))).toMatchObject({ kind: 'route', route: { hostname: everyShop } })
  for (const name of ['a.shop1.customer.com', 'customer.com']) expect(reader.findRoute(parseHostname(name))).toBeUndefined()
  database.put(routeOf(shop(1)))
  database.change(host(shop(1)))
  await expect.poll(routesHeard).toEqual([shop(1)])
  expect(reader.findRoute(shop(1))?.hostname).toBe(shop(1))
  database.routes.delete(shop(1))
  database.change(host(shop(1)))
  await expect.poll(() => reader.findRoute(shop(1))?.hostname).toBe(everyShop)
})

test("a wildcard's change reaches everybody under its own name", async () => {
  database.put(routeOf(everyShop))
  await startAndFill()
  database.routes.delete(everyShop)
  database.change(host(everyShop))
  await expect.poll(routesHeard).toEqual([everyShop])
  expect(await follower.findRoute(shop(1))).toEqual({ kind: 'unknown' })
})

test("an answer of the database that a wildcard's change has overtaken is not given", async () => {
  database.put(routeOf(everyShop))
  await startAndFill()
  database.routes.delete(everyShop)
  database.change(host(everyShop))
  await expect.poll(routesHeard).toEqual([everyShop])
  clock += 6_000 // the copy is behind: misses are asked of the database
  const held = Promise.withResolvers<void>()
  database.during.load = () => held.promise
  const asked = follower.findRoute(shop(1))
  database.during.load = async () => {}
  database.put(routeOf(everyShop, { version: 2 }))
  database.change(host(everyShop))
  await expect.poll(routesHeard).toEqual([everyShop, everyShop])
  held.resolve()
  expect(await asked).toMatchObject({ kind: 'route', route: { hostname: everyShop } })
})
