import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { createTestDatabase } from '../../test/support/postgres.ts'
import { addProject, CLAIM_RULES, PROJECT_RULES } from '../../test/support/tenants.ts'
import type { Db } from '../core/db.ts'
import { registerDomain, removeDomain } from '../core/domains.ts'
import { type Project, updateProject } from '../core/projects.ts'
import { parseClaimName } from '../hostname.ts'
import { databaseSource } from '../roles/database-source.ts'
import { temporaryFolder } from './copy.fixture.ts'
import { type CopyReader, openCopyReader } from './copy-reader.ts'
import type { CopySource } from './copy-source.ts'
import { type CopyWriter, openCopyWriter } from './copy-writer.ts'
import { createFollower, type Follower } from './follower.ts'

const BOUND = 100
const HOSTNAMES = 1_000
const PINNED = parseClaimName('edge.namesake.test')
const PINNED_LATER = parseClaimName('portal.namesake.test')

let database: Awaited<ReturnType<typeof createTestDatabase>>
let db: Db
let project: Project
let place: ReturnType<typeof temporaryFolder>
let writer: CopyWriter
let reader: CopyReader
let follower: Follower
let away: boolean
let isFeedBehind: boolean
let nowMs: number

beforeAll(async () => {
  database = await createTestDatabase()
  db = database.db
  project = await addProject(db)
  const names = Array.from({ length: HOSTNAMES }, (_, number) => named(number))
  await db.pool.query('insert into domains (hostname, project_id, verified_at) select name, $2, now() from unnest($1::text[]) as name', [
    [...names, named('*')],
    project.id,
  ])
  await db.pool.query(
    `insert into certificates (hostname, project_id, state, chain_pem, sealed_key, not_after)
     select name, nullif($2, 0), 'issued', 'chain of ' || name, '\\x00', now() + interval '90 days' from unnest($1::text[]) as name`,
    [names, project.id],
  )
  await db.pool.query(
    `insert into certificates (hostname, state, chain_pem, sealed_key, not_after) values ($1, 'issued', 'own', '\\x00', now())`,
    [PINNED],
  )
})
afterAll(() => database.drop())

beforeEach(async () => {
  place = temporaryFolder()
  away = false
  isFeedBehind = false
  nowMs = 1_000
  reader = openCopyReader(place.path)
  await follow()
})
afterEach(async () => {
  await stop()
  reader.close()
  place.remove()
})

const named = (name: number | '*') =>
  parseClaimName(name === '*' ? '*.wild.bounded.test' : `shop${String(name).padStart(4, '0')}.bounded.test`)
const held = (number: number) => reader.findRoute(named(number)) !== undefined
const countHeld = () => Array.from({ length: HOSTNAMES }, (_, number) => held(number)).filter(Boolean).length

/** Whoever is away rejects, as the database's connections do. */
function source(): CopySource {
  const whole = databaseSource(db)
  const reached =
    <Asked extends unknown[], T>(read: (...asked: Asked) => Promise<T>) =>
    (...asked: Asked): Promise<T> =>
      away ? Promise.reject(new Error('away')) : read(...asked)
  return {
    ...whole,
    currentCursor: reached(whole.currentCursor),
    readChanges: reached(whole.readChanges),
    loadRoutes: reached(whole.loadRoutes),
    findRoutes: reached(whole.findRoutes),
    loadCertificates: reached(async (hostnames) => (isFeedBehind ? [] : await whole.loadCertificates(hostnames))),
    findCertificates: reached(whole.findCertificates),
    loadProjects: reached(whole.loadProjects),
    loadChallenges: reached(whole.loadChallenges),
    readSetting: reached(whole.readSetting),
  }
}

async function follow(hostnamesMax = BOUND, pinned = [PINNED]): Promise<void> {
  writer = openCopyWriter(place.path, { metadata: true, hostnamesMax })
  follower = createFollower({
    source: source(),
    writer,
    settingNames: [],
    pinned,
    log: pino({ level: 'silent' }),
    now: () => nowMs++,
  })
  follower.start()
  await expect.poll(() => writer.state().cursor).toBeDefined()
  await caughtUp()
}

async function stop(): Promise<void> {
  await follower.stop()
  writer.close()
}

async function caughtUp(): Promise<void> {
  const before = follower.status().asOfMs
  await expect.poll(() => follower.status().asOfMs).toBeGreaterThan(before)
}

const ask = async (number: number) => (await follower.findRoute(named(number))).kind

test("a copy bounded to 100 of 1,000 hostnames holds as many, each with its certificate, and the service's own", () => {
  expect(countHeld()).toBe(BOUND - 2) // the wildcard and the edge host have the other places
  for (let number = 0; number < HOSTNAMES; number += 1)
    expect(reader.findCertificate(named(number))?.chainPem).toBe(held(number) ? `chain of ${named(number)}` : undefined)
  expect(reader.findCertificate(PINNED)).toMatchObject({ chainPem: 'own' })
  expect(reader.state()).toMatchObject({ usable: true, complete: false })
  expect(writer.totals(0)).toEqual({ routes: BOUND - 1, certificates: BOUND - 1, ending: 0 })
})

test('names that were used by a clock that was set back since leave for those that are used now', async () => {
  nowMs = 1_000_000_000
  follower.hostnamesUsed(Array.from({ length: HOSTNAMES }, (_, number) => named(number)))
  await stop()
  nowMs = 10_000
  await follow()
  expect(follower.report().snapshots).toBe(0)
  const visited = [500, 501, 502, 503, 504]
  for (const number of visited) expect(await ask(number)).toBe('route')
  expect(visited.filter(held)).toEqual(visited)
})

test("a host that became the service's own since the copy was made has its certificate in it, now and renewed, and never leaves", async () => {
  const renew = (chain: string) =>
    db.pool.query(
      `insert into certificates (hostname, state, chain_pem, sealed_key, not_after) values ($1, 'issued', $2, '\\x00', now())
       on conflict (hostname) do update set chain_pem = excluded.chain_pem`,
      [PINNED_LATER, chain],
    )
  await renew('portal')
  expect(reader.findCertificate(PINNED_LATER)).toBeUndefined()
  await stop()
  await follow(BOUND, [PINNED, PINNED_LATER])
  expect(follower.report().snapshots).toBe(0)
  expect(reader.findCertificate(PINNED_LATER)).toMatchObject({ chainPem: 'portal' })
  await renew('portal, renewed')
  await db.pool.query(`insert into changes (kind, key) values ('certificate', $1)`, [PINNED_LATER])
  await expect.poll(() => reader.findCertificate(PINNED_LATER)?.chainPem).toBe('portal, renewed')
  for (let number = 0; number < 2 * BOUND; number += 1) {
    nowMs += 1_000 // within the look-ups of a second
    await ask(number)
  }
  expect(reader.findCertificate(PINNED_LATER)).toMatchObject({ chainPem: 'portal, renewed' })
  await db.pool.query('delete from certificates where hostname = $1', [PINNED_LATER])
})

test('what is visited comes in by a look-up, with its certificate, and the least recently used leaves for it', async () => {
  expect(held(900)).toBe(false)
  const before = Array.from({ length: HOSTNAMES }, (_, number) => number).filter(held)
  follower.hostnamesUsed(before.slice(0, 50).map(named))
  for (let number = 900; number < 940; number += 1) expect(await ask(number)).toBe('route')
  expect(countHeld()).toBeLessThanOrEqual(BOUND - 1)
  for (const number of [...before.slice(0, 50), 900, 939]) expect(held(number), named(number)).toBe(true)
  expect(reader.findCertificate(named(939))).toMatchObject({ chainPem: `chain of ${named(939)}` })
  const left = before.find((number) => !held(number))!
  expect(reader.findCertificate(named(left))).toBeUndefined()
  expect(await ask(left)).toBe('route')
  expect(held(left)).toBe(true)
})

test('a look-up has the newest certificate, also where the feed comes of a standby that is behind', async () => {
  isFeedBehind = true
  expect(await ask(945)).toBe('route')
  expect(reader.findCertificate(named(945))).toMatchObject({ chainPem: `chain of ${named(945)}` })
})

test('news of a hostname that the copy does not hold does not bring it in, and news of one that it holds does', async () => {
  await db.pool.query(`insert into changes (kind, key) values ('host', $1), ('certificate', $1)`, [named(950)])
  const stranger = parseClaimName('aaaa.bounded.test')
  await registerDomain(db, project, { hostname: stranger, metadataJson: '{}' }, CLAIM_RULES)
  await updateProject(db, project.slug, { upstreamUrl: 'https://two.vendor.test' }, PROJECT_RULES)
  await caughtUp()
  await caughtUp()
  expect(reader.findRoute(named(0))?.upstreamUrl).toBe('https://two.vendor.test')
  expect(held(950)).toBe(false)
  expect(reader.findCertificate(named(950))).toBeUndefined()
  expect(reader.findRoute(stranger)).toBeUndefined()
  expect(countHeld()).toBe(BOUND - 2)
  expect((await follower.findRoute(stranger)).kind).toBe('route')
  await removeDomain(db, project, stranger)
  await expect.poll(() => reader.findRoute(stranger)).toBeUndefined()
  expect(await follower.findRoute(stranger)).toEqual({ kind: 'unknown' })
})

test('a name under a wildcard is answered from the copy once the database has said that nobody claimed it for itself', async () => {
  const under = parseClaimName('any.wild.bounded.test')
  expect(reader.findRoute(named('*'))).toBeDefined()
  expect(reader.findRoute(under)).toBeUndefined()
  expect(await follower.findRoute(under)).toMatchObject({ kind: 'route', route: { hostname: named('*') } })
  expect(reader.findRoute(under)).toMatchObject({ hostname: named('*') })
})

test('while the database is away what the copy holds is served, and of nothing else is it said that nobody claimed it', async () => {
  away = true
  expect(await ask(0)).toBe('route')
  expect(await ask(990)).toBe('unavailable')
  expect(await follower.findRoute(parseClaimName('nobodys.bounded.test'))).toEqual({ kind: 'unavailable' })
  away = false
  await expect.poll(() => ask(990)).toBe('route')
  expect(await follower.findRoute(parseClaimName('nobodys.bounded.test'))).toEqual({ kind: 'unknown' })
})

test('what was used stays through a restart and a new snapshot, and another bound holds from the next start', async () => {
  await ask(990)
  await stop()
  await follow(BOUND * 2)
  expect(held(990)).toBe(true)
  await ask(991)
  expect(held(991)).toBe(true)
  await db.pool.query(`update feed set life = gen_random_uuid()`) // as after a restored backup
  await expect.poll(() => follower.report().snapshots).toBe(1)
  expect([held(990), held(991)]).toEqual([true, true])
  expect(countHeld()).toBe(2 * BOUND - 2)
  await stop()
  await follow(0)
  expect(countHeld()).toBe(HOSTNAMES)
  expect(reader.state()).toMatchObject({ complete: true })
})
