import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/support/postgres.ts'
import { addProject, CLAIM_RULES, EDGE_HOST, freshHostname } from '../../test/support/tenants.ts'
import { type Hostname, parseClaimName, withoutStar } from '../hostname.ts'
import type { Db } from './db.ts'
import { findDomain, listDomains, registerDomain, removeDomain } from './domains.ts'
import { findProbeTarget } from './probes.ts'
import type { Project } from './projects.ts'
import { findRoute } from './routes.ts'

const RULES = { ...CLAIM_RULES, wildcards: true }

let database: TestDatabase
let db: Db
beforeAll(async () => {
  database = await createTestDatabase()
  db = database.db
})
afterAll(() => database.drop())

const register = (project: Project, hostname: Hostname) => registerDomain(db, project, { hostname, metadataJson: '{}' }, RULES)
const verify = (hostname: Hostname) => db.pool.query('update domains set verified_at = now() where hostname = $1', [hostname])
const age = (hostname: Hostname, interval: string) =>
  db.pool.query(`update domains set created_at = created_at - $2::interval where hostname = $1 and deleted_at is null`, [
    hostname,
    interval,
  ])
const owesProof = async (project: Project, hostname: Hostname) => (await findProbeTarget(db, project, hostname)).proofNeeded

/** A domain of its own with its wildcard and two names under it. */
function family() {
  const domain = freshHostname()
  const [wildcard, shop, blog] = ['*', 'shop', 'blog'].map((label) => parseClaimName(`${label}.${domain}`)) as [
    Hostname,
    Hostname,
    Hostname,
  ]
  return { domain, wildcard, shop: withoutStar(shop), blog: withoutStar(blog) }
}

test('a wildcard is claimed as one domain, listed, shown and removed by its name', async () => {
  const project = await addProject(db)
  const { wildcard, domain } = family()
  expect(await register(project, wildcard)).toMatchObject({ hostname: wildcard, verified: false })
  expect((await listDomains(db, project, { search: `*.${domain}` })).domains).toMatchObject([{ hostname: wildcard }])
  const { dns } = await findDomain(db, project, wildcard, CLAIM_RULES)
  expect(dns.expected).toEqual([{ name: wildcard, type: 'CNAME', value: EDGE_HOST }])
  await removeDomain(db, project, wildcard)
  await expect(findDomain(db, project, wildcard, CLAIM_RULES)).rejects.toMatchObject({ code: 'domain_not_found' })
})

test('without a zone of our own a wildcard cannot be claimed', async () => {
  const claim = registerDomain(db, await addProject(db), { hostname: family().wildcard, metadataJson: '{}' }, CLAIM_RULES)
  await expect(claim).rejects.toMatchObject({ code: 'wildcards_not_enabled' })
})

test("wildcards over the service's own names, below them, and of public suffixes cannot be claimed", async () => {
  const project = await addProject(db)
  const refused = {
    hostname_reserved: ['*.namesake.test', `*.${EDGE_HOST}`, `*.a.${EDGE_HOST}`, '*.api.namesake.test'],
    hostname_invalid: ['*.co.uk', '*.com.au', '*.kawasaki.jp'],
  }
  for (const [code, names] of Object.entries(refused)) {
    for (const name of names) await expect(register(project, parseClaimName(name)), name).rejects.toMatchObject({ code })
  }
  for (const name of ['*.shop.co.uk', '*.github.io', '*.other.namesake.test']) await register(project, parseClaimName(name))
})

test('one project holds a wildcard and names under it', async () => {
  const project = await addProject(db)
  const { wildcard, shop, blog } = family()
  for (const hostname of [shop, wildcard, blog, wildcard, shop]) expect(await register(project, hostname)).toMatchObject({ hostname })
})

test("a name under another project's wildcard is claimed already, and so is a wildcard over another project's name", async () => {
  const [holder, other] = [await addProject(db), await addProject(db)]
  const { wildcard, shop } = family()
  await register(holder, wildcard)
  const taken = {
    code: 'hostname_claimed',
    message: `${shop} is already claimed: another project holds the wildcard ${wildcard}, which covers it`,
  }
  await expect(register(other, shop)).rejects.toMatchObject(taken)
  await expect(register(other, wildcard)).rejects.toMatchObject({ code: 'hostname_claimed' })
  await register(other, parseClaimName(`deep.${shop}`))
  await register(other, withoutStar(wildcard))
  await removeDomain(db, holder, wildcard)
  await register(other, shop)
  const over = `${wildcard} is already claimed: another project holds ${shop} under it: claim each hostname on its own`
  await expect(register(holder, wildcard)).rejects.toMatchObject({ code: 'hostname_claimed', message: over })
})

test("another project's wildcard is told before a full plan, and counts as one domain", async () => {
  const [holder, full] = [await addProject(db), await addProject(db, 'free')]
  const { wildcard, shop } = family()
  await register(holder, wildcard)
  for (let i = 0; i < 3; i += 1) await register(full, family().wildcard)
  await expect(register(full, shop)).rejects.toMatchObject({ code: 'hostname_claimed' })
  await expect(register(full, family().shop)).rejects.toMatchObject({ code: 'plan_limit' })
})

test('a wildcard that stays unverified for a day keeps others only from the same wildcard, until it is verified', async () => {
  const [squatter, owner] = [await addProject(db), await addProject(db)]
  const { wildcard, shop, blog } = family()
  await register(squatter, wildcard)
  await age(wildcard, '25 hours')
  await register(owner, shop)
  await expect(register(owner, wildcard)).rejects.toMatchObject({ code: 'hostname_claimed' })
  await verify(wildcard)
  await expect(register(owner, blog)).rejects.toMatchObject({ code: 'hostname_claimed' })
  expect(await register(owner, shop)).toMatchObject({ hostname: shop })
})

test('a name that stays unverified for a day keeps no other project from the wildcard', async () => {
  const [squatter, owner] = [await addProject(db), await addProject(db)]
  const { wildcard, shop } = family()
  await register(squatter, shop)
  await expect(register(owner, wildcard)).rejects.toMatchObject({ code: 'hostname_claimed' })
  await age(shop, '25 hours')
  expect(await register(owner, wildcard)).toMatchObject({ hostname: wildcard })
})

test('claiming and removing in turn does not keep others out any longer', async () => {
  const [squatter, owner] = [await addProject(db), await addProject(db)]
  const { wildcard, shop } = family()
  await register(squatter, wildcard)
  await removeDomain(db, squatter, wildcard)
  await register(squatter, wildcard)
  await register(owner, shop)
})

test('a wildcard after another project released a name under it owes its proof, and so does a name after a wildcard', async () => {
  const [leaver, heir] = [await addProject(db), await addProject(db)]
  const [one, two] = [family(), family()]
  await register(leaver, one.shop)
  await removeDomain(db, leaver, one.shop)
  await register(heir, one.wildcard)
  expect(await owesProof(heir, one.wildcard)).toBe(true)
  const { dns } = await findDomain(db, heir, one.wildcard, CLAIM_RULES)
  expect(dns.expected[1]).toMatchObject({ name: `_namesake.${one.domain}`, type: 'TXT' })
  await register(leaver, two.wildcard)
  await removeDomain(db, leaver, two.wildcard)
  await register(heir, two.shop)
  expect(await owesProof(heir, two.shop)).toBe(true)
  await register(leaver, two.blog)
  expect(await owesProof(leaver, two.blog)).toBe(false)
})

test('a hostname takes its own route, else that of the wildcard over it, which leads nowhere before it is verified', async () => {
  const project = await addProject(db)
  const { wildcard, shop, blog, domain } = family()
  await register(project, wildcard)
  expect(await findRoute(db, shop)).toMatchObject({ hostname: wildcard, proofNeeded: true })
  await verify(wildcard)
  await register(project, shop)
  expect(await findRoute(db, shop)).toMatchObject({ hostname: shop, proofNeeded: false })
  expect(await findRoute(db, blog)).toMatchObject({ hostname: wildcard, proofNeeded: false })
  for (const name of [domain, parseClaimName(`deep.${shop}`)]) expect(await findRoute(db, withoutStar(name))).toBeUndefined()
  await removeDomain(db, project, shop)
  expect(await findRoute(db, shop)).toMatchObject({ hostname: wildcard })
})
