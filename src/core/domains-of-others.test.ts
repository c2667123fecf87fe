import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/support/postgres.ts'
import { rowsRead } from '../../test/support/rows-read.ts'
import { addProject, claim, freshHostname } from '../../test/support/tenants.ts'
import { type Hostname, parseHostname } from '../hostname.ts'
import type { Db } from './db.ts'
import { removeDomain } from './domains.ts'
import { DOMAINS_OF_OTHERS } from './domains-of-others.ts'
import { claimDueProbes, findClaimBesideOthers, findProbeTarget } from './probes.ts'
import type { Project } from './projects.ts'

let database: TestDatabase
let db: Db
beforeAll(async () => {
  database = await createTestDatabase()
  db = database.db
})
afterAll(() => database.drop())

const set = (hostname: Hostname, column: 'verified_at' | 'deleted_at', by = '0 days') =>
  db.pool.query(`update domains set ${column} = now() - $2::interval where hostname = $1`, [hostname, by])

test('a domain above a name is shared while another project has a verified name in it, or had one within 30 days', async () => {
  const [vendor, stranger] = [await addProject(db), await addProject(db)]
  const domain = freshHostname()
  const [shop, login] = [parseHostname(`shop.${domain}`), parseHostname(`login.${domain}`)]
  await claim(db, vendor, shop)
  await claim(db, stranger, login)
  const shared = async () => (await findProbeTarget(db, stranger, login)).sharedDomains
  expect(await shared()).toEqual([])
  expect(await findClaimBesideOthers(db, login)).toBeUndefined()
  await set(shop, 'verified_at')
  expect(await shared()).toEqual([domain])
  expect(await findClaimBesideOthers(db, login)).toMatchObject({ hostname: login, sharedDomains: [domain] })
  const due = await claimDueProbes(db, { line: 'answered', limit: 100, leaseS: 60 })
  expect(due.find(({ hostname }) => hostname === login)).toMatchObject({ sharedDomains: [domain] })
  expect(due.find(({ hostname }) => hostname === shop)).toMatchObject({ sharedDomains: [] })
  await removeDomain(db, vendor, shop)
  expect(await shared()).toEqual([domain])
  await set(shop, 'deleted_at', '31 days')
  expect(await shared()).toEqual([])
})

test("a project's own names share nothing, nor does a verified name; of a name several labels deep each domain above counts", async () => {
  const [vendor, stranger] = [await addProject(db), await addProject(db)]
  const domain = freshHostname()
  const [shop, deep, own] = [parseHostname(`shop.${domain}`), parseHostname(`a.b.${domain}`), parseHostname(`c.b.${domain}`)]
  for (const hostname of [shop, own]) {
    await claim(db, vendor, hostname)
    await set(hostname, 'verified_at')
  }
  await claim(db, stranger, deep)
  const sorted = (domains: string[]) => domains.toSorted()
  expect(sorted((await findProbeTarget(db, stranger, deep)).sharedDomains)).toEqual([`b.${domain}`, domain].toSorted())
  expect((await findProbeTarget(db, vendor, shop)).sharedDomains).toEqual([])
  await set(deep, 'verified_at')
  expect((await findProbeTarget(db, stranger, deep)).sharedDomains).toEqual([])
})

test('so is a domain that another project has verified itself, or had until lately', async () => {
  const [vendor, stranger] = [await addProject(db), await addProject(db)]
  const domain = await claim(db, vendor, freshHostname('test'))
  const [login, deep] = [parseHostname(`login.${domain}`), parseHostname(`a.b.${domain}`)]
  for (const hostname of [login, deep]) await claim(db, stranger, hostname)
  const shared = async () =>
    Promise.all([login, deep].map(async (hostname) => (await findProbeTarget(db, stranger, hostname)).sharedDomains))
  expect(await shared()).toEqual([[], []])
  await set(domain, 'verified_at')
  expect(await shared()).toEqual([[domain], [domain]])
  await removeDomain(db, vendor, domain)
  expect(await shared()).toEqual([[domain], [domain]])
  await set(domain, 'deleted_at', '31 days')
  await claim(db, vendor, domain)
  expect(await shared()).toEqual([[], []])
  await removeDomain(db, vendor, domain)
  expect(await shared()).toEqual([[], []])
})

test('a domain that the project has verified itself is shared with nobody', async () => {
  const project = await addProject(db)
  const domain = await claim(db, project, freshHostname('test'))
  const login = await claim(db, project, parseHostname(`login.${domain}`))
  const shared = async () => (await findProbeTarget(db, project, login)).sharedDomains
  await set(domain, 'verified_at')
  expect(await shared()).toEqual([])
  await removeDomain(db, project, domain)
  expect(await shared()).toEqual([])
})

test.each(['before', 'after'])(
  'however much others have verified, or claimed and given up, few rows are read of it (statistics of %s)',
  async (when) => {
    const { db, drop } = await createTestDatabase()
    try {
      const [first, second, third] = [await addProject(db), await addProject(db), await addProject(db)]
      const domain = freshHostname()
      const login = await claim(db, second, parseHostname(`login.${domain}`))
      const give = (project: Project, verified: boolean) =>
        db.pool.query(
          `insert into domains (project_id, hostname, metadata, created_at, verified_at, deleted_at)
         select $1, $2, '{}', now() - interval '2 hours', case when $3 then now() end, now() - interval '1 hour' from generate_series(1, 5000)`,
          [project.id, domain, verified],
        )
      await db.pool.query('alter table domains disable trigger user')
      await db.pool.query(
        `insert into domains (project_id, hostname, metadata, verified_at) select $1, 'shop.h-' || n || '.test', '{}', now() from generate_series(1, 5000) n`,
        [first.id],
      )
      for (const project of [first, third]) await give(project, false)
      await give(second, true)
      await db.pool.query(`alter table domains enable trigger user${when === 'after' ? '; analyze domains' : ''}`)
      const reading = sql`select ${DOMAINS_OF_OTHERS} from domains d where d.hostname = ${login} and d.deleted_at is null`
      expect(await rowsRead(db, reading)).toBeLessThan(20)
    } finally {
      await drop()
    }
  },
)
