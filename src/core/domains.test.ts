import { afterAll, beforeAll, expect, test } from 'vitest'
import { changesSince, endOfFeed } from '../../test/support/feed.ts'
import { createTestDatabase, type TestDatabase } from '../../test/support/postgres.ts'
import { addProject, CLAIM_RULES, claim, EDGE_HOST, freshHostname } from '../../test/support/tenants.ts'
import { parseClaimName, parseHostname } from '../hostname.ts'
import type { Db } from './db.ts'
import { findDomain, forgetReleasedClaims, listDomains, registerDomain, removeDomain } from './domains.ts'
import { findProbeTarget } from './probes.ts'

let database: TestDatabase
let db: Db
beforeAll(async () => {
  database = await createTestDatabase()
  db = database.db
})
afterAll(() => database.drop())

test('a claim begins unverified, with the metadata that came with it', async () => {
  const project = await addProject(db)
  const hostname = freshHostname()
  const record = await registerDomain(db, project, { hostname, metadataJson: '{"b":1,"a":2}' }, CLAIM_RULES)
  expect(record).toEqual({
    hostname,
    projectSlug: project.slug,
    verified: false,
    verifiedAt: null,
    createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    metadataJson: '{"b":1,"a":2}',
  })
  expect((await listDomains(db, project, {})).domains).toEqual([record])
})

test.each(['unlimited', 'ten'])('registering again merges metadata and changes nothing else (plan %s)', async (plan) => {
  const project = await addProject(db, plan)
  const hostname = freshHostname()
  const first = await registerDomain(db, project, { hostname, metadataJson: '{"a":1,"b":2}' }, CLAIM_RULES)
  const cursor = await endOfFeed(db)
  const again = await registerDomain(db, project, { hostname, metadataJson: '{"b":3,"c":4}' }, CLAIM_RULES)
  expect(again).toEqual({ ...first, metadataJson: '{"a":1,"b":3,"c":4}' })
  expect(await registerDomain(db, project, { hostname, metadataJson: '{}' }, CLAIM_RULES)).toEqual(again)
  expect(await changesSince(db, cursor)).toMatchObject([{ kind: 'host', key: hostname }])
  expect((await listDomains(db, project, {})).domains).toEqual([again])
})

test.each(['unlimited', 'ten'])('a hostname that another project holds is refused (plan %s)', async (plan) => {
  const hostname = await claim(db, await addProject(db))
  const refused = registerDomain(db, await addProject(db, plan), { hostname, metadataJson: '{}' }, CLAIM_RULES)
  await expect(refused).rejects.toMatchObject({ code: 'hostname_claimed', message: `${hostname} is already claimed by another project` })
})

test('at the plan limit a new claim is refused, a known hostname still merges, and 409 comes before 402', async () => {
  const project = await addProject(db, 'free')
  const [first] = [await claim(db, project), await claim(db, project), await claim(db, project)]
  const attempt = (hostname = freshHostname()) => registerDomain(db, project, { hostname, metadataJson: '{"x":1}' }, CLAIM_RULES)
  await expect(attempt()).rejects.toMatchObject({ code: 'plan_limit' })
  expect(await attempt(first)).toMatchObject({ hostname: first, metadataJson: '{"x":1}' })
  await expect(attempt(await claim(db, await addProject(db)))).rejects.toMatchObject({ code: 'hostname_claimed' })
  await removeDomain(db, project, first)
  expect(await attempt()).toMatchObject({ verified: false })
})

test('a plan that is no longer offered has no room for new claims and keeps the old', async () => {
  const project = await addProject(db)
  const hostname = await claim(db, project)
  const rules = { ...CLAIM_RULES, plans: new Map([['free', 3]]) }
  expect(await registerDomain(db, project, { hostname, metadataJson: '{}' }, rules)).toMatchObject({ hostname })
  await expect(registerDomain(db, project, { hostname: freshHostname(), metadataJson: '{}' }, rules)).rejects.toMatchObject({
    code: 'plan_limit',
    message: 'the plan unlimited is no longer offered (NAMESAKE_PLANS), and has room for no further domain',
  })
})

test("the service's own names and public suffixes cannot be claimed", async () => {
  const project = await addProject(db)
  const refused = {
    hostname_reserved: [EDGE_HOST, `a.b.${EDGE_HOST}`, 'api.namesake.test', 'portal.namesake.test'],
    hostname_invalid: ['co.uk', 'com.au', 'kawasaki.jp'],
  }
  for (const [code, names] of Object.entries(refused)) {
    for (const name of names) await expect(claim(db, project, parseHostname(name)), name).rejects.toMatchObject({ code })
  }
  for (const name of ['shop.co.uk', 'github.io', 'x.github.io', 'my-edge.namesake.test', 'below.api.namesake.test'])
    await claim(db, project, parseHostname(name))
})

test('the zone of the name server and what lies in or over it cannot be claimed', async () => {
  const project = await addProject(db)
  const rules = { ...CLAIM_RULES, wildcards: true, dnsZone: parseHostname('acme.operator.test') }
  const register = (name: string) => registerDomain(db, project, { hostname: parseClaimName(name), metadataJson: '{}' }, rules)
  const zone = rules.dnsZone
  for (const name of [zone, `ns1.${zone}`, `a.b.${zone}`, `*.${zone}`, `*.a.${zone}`, '*.operator.test'])
    await expect(register(name), name).rejects.toMatchObject({ code: 'hostname_reserved' })
  for (const name of ['my-acme.operator.test', 'operator.test', 'acme.operator.test.customer.test']) await register(name)
})

test('metadata that cannot be kept claims nothing', async () => {
  const project = await addProject(db)
  await expect(claim(db, project, freshHostname(), '{"a":"\\u0000"}')).rejects.toMatchObject({ code: 'metadata_invalid' })
  expect((await listDomains(db, project, {})).domains).toEqual([])
})

test('a removed hostname is gone at once, and starts anew when it comes back', async () => {
  const project = await addProject(db)
  const hostname = await claim(db, project, freshHostname(), '{"old":true}')
  await db.pool.query('update domains set verified_at = now() where hostname = $1', [hostname])
  const cursor = await endOfFeed(db)
  await removeDomain(db, project, hostname)
  expect(await changesSince(db, cursor)).toMatchObject([{ kind: 'host', key: hostname }])
  await expect(removeDomain(db, project, hostname)).rejects.toMatchObject({ code: 'domain_not_found' })
  await expect(findDomain(db, project, hostname, CLAIM_RULES)).rejects.toMatchObject({ code: 'domain_not_found' })
  const other = await addProject(db)
  for (const claimant of [project, other]) {
    const record = await registerDomain(db, claimant, { hostname, metadataJson: '{}' }, CLAIM_RULES)
    expect(record).toMatchObject({ verified: false, verifiedAt: null, metadataJson: '{}', projectSlug: claimant.slug })
    await removeDomain(db, claimant, hostname)
  }
})

test('what was given up is forgotten after sixty days, and asks the next claimant for a proof until it means nothing', async () => {
  const [former, next] = [await addProject(db), await addProject(db)]
  const given = await Promise.all([29, 59, 61].map(async (days) => ({ days, hostname: await claim(db, former) })))
  for (const { days, hostname } of given) {
    await removeDomain(db, former, hostname)
    await db.pool.query('update domains set deleted_at = now() - make_interval(days => $2) where hostname = $1', [hostname, days])
  }
  await db.pool.query(
    `insert into domains (project_id, hostname, deleted_at) select $1, 'old.customer.test', now() - interval '1 year' from generate_series(1, 25000)`,
    [former.id],
  )
  const kept = await claim(db, former)
  await forgetReleasedClaims(db)
  const { rows: left } = await db.pool.query<{ hostname: string }>('select hostname from domains where project_id = $1', [former.id])
  expect(left.map(({ hostname }) => hostname).sort()).toEqual([given[0]!.hostname, given[1]!.hostname, kept].sort())
  for (const { days, hostname } of given) {
    await claim(db, next, hostname)
    expect((await findProbeTarget(db, next, hostname)).proofNeeded).toBe(days === 29)
  }
})

test("another project's hostname cannot be removed or looked at", async () => {
  const [project, other] = [await addProject(db), await addProject(db)]
  const hostname = await claim(db, project)
  await expect(removeDomain(db, other, hostname)).rejects.toMatchObject({ code: 'domain_not_found' })
  await expect(findDomain(db, other, hostname, CLAIM_RULES)).rejects.toMatchObject({ code: 'domain_not_found' })
  expect((await listDomains(db, other, {})).domains).toEqual([])
  expect((await listDomains(db, project, {})).domains).toHaveLength(1)
})

test('the list goes by time of registration, then by hostname, in pages of any size', async () => {
  const project = await addProject(db)
  const names = ['c', 'a', 'd', 'b', 'e'].map((label) => parseHostname(`${label}-${freshHostname()}`))
  for (const name of names) await claim(db, project, name)
  const [oldest, ...sameTime] = names
  await db.pool.query(`update domains set created_at = '2030-01-01T00:00:00Z' where hostname = any($1)`, [sameTime])
  const expected = [oldest, ...sameTime.sort()]
  expect((await listDomains(db, project, {})).domains.map(({ hostname }) => hostname)).toEqual(expected)
  for (const limit of [1, 2, 5, 1_000]) {
    const pages = []
    for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
      const page = await listDomains(db, project, { limit, cursor })
      pages.push(page.domains.map(({ hostname }) => hostname))
      cursor = page.nextCursor
    }
    expect(pages.flat()).toEqual(expected)
    expect(pages).toHaveLength(Math.ceil(5 / limit))
  }
})

test('the newest come first where that is asked for, page by page, wildcards too', async () => {
  const project = await addProject(db)
  const names = ['a', 'b', 'c'].map(() => freshHostname())
  for (const name of names) await claim(db, project, name)
  await db.pool.query(`update domains set hostname = '*.' || hostname where hostname = any($1)`, [names])
  const seen: string[] = []
  for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
    const page = await listDomains(db, project, { limit: 1, cursor, order: 'newest' })
    seen.push(...page.domains.map(({ hostname }) => hostname))
    cursor = page.nextCursor
  }
  const { domains } = await listDomains(db, project, {})
  expect(seen).toEqual(domains.map(({ hostname }) => hostname).reverse())
})

test('the list can be narrowed to what is verified, and to a part of the hostname, taken literally', async () => {
  const project = await addProject(db)
  const [one, two] = [await claim(db, project, parseHostname(`shop-one.${freshHostname()}`)), await claim(db, project)]
  await db.pool.query('update domains set verified_at = now() where hostname = $1', [one])
  const listed = async (query: object) => (await listDomains(db, project, query)).domains.map(({ hostname }) => hostname)
  expect(await listed({ verified: true })).toEqual([one])
  expect(await listed({ verified: false })).toEqual([two])
  expect(await listed({ search: 'SHOP-ONE.' })).toEqual([one])
  for (const search of ['%', '_', '\\', "'", 'shop_one', 'shopxone']) expect(await listed({ search }), search).toEqual([])
  expect((await listed({ search: '' })).sort()).toEqual([one, two].sort())
})

test('a part of a hostname is found as its owner spells it, too, in whatever letters and form of them', async () => {
  const project = await addProject(db)
  const place = freshHostname()
  const names = ['bücher', 'münchner-bücher.shop', '例子', 'straße'].map((label) => parseClaimName(`${label}.${place}`))
  const [books, munich, example, street] = names
  const taken = await claim(db, project, parseHostname(`bcher.${place}`))
  for (const name of names) await claim(db, project, name)
  await db.pool.query(`update domains set hostname = '*.' || hostname where hostname = $1`, [street])
  await claim(db, await addProject(db), parseHostname(`büchse.${place}`))
  const listed = async (search: string, query: object = {}) => {
    const { domains } = await listDomains(db, project, { ...query, search })
    return domains.map(({ hostname }) => hostname).sort()
  }
  for (const [search, ...found] of [
    ['büch', books!, munich!],
    ['BÜCH', books!, munich!],
    ['bu\u0308ch', books!, munich!],
    ['ü', books!, munich!],
    ['r-büch', munich!],
    ['bücher.s', munich!],
    ['例', example!],
    ['子。', example!],
    ['*.straß', `*.${street}`],
    [`ücher.${place}`, books!],
    ['bcher', books!, munich!, taken],
    ['xn--bcher-kva.', books!],
    ['büchse'],
    ['büch\\'],
    ['ü%'],
  ] as const)
    expect(await listed(search), search).toEqual(found.toSorted())
  expect(await listed('büch', { verified: true })).toEqual([])
  const first = await listDomains(db, project, { search: 'büch', limit: 1 })
  const second = await listDomains(db, project, { search: 'büch', limit: 1, cursor: first.nextCursor })
  expect([...first.domains, ...second.domains].map(({ hostname }) => hostname)).toEqual([books, munich])
})

test('among ten thousand names in other letters and more, what is spelt as its owner does finds whole labels alone', async () => {
  const project = await addProject(db)
  await claim(db, project, parseHostname(`bücher.${freshHostname()}`))
  await db.pool.query(
    `insert into domains (project_id, hostname) select $1, 'xn--bcher-kva.' || n || '.' || $2 from generate_series(1, 10000) n`,
    [project.id, freshHostname()],
  )
  const count = async (search: string) => (await listDomains(db, project, { search })).domains.length
  expect([await count('büch'), await count('bücher'), await count('bücher.1')]).toEqual([0, 10_001, 1_112])
})

test('a page that cannot be is refused', async () => {
  const project = await addProject(db)
  for (const query of [
    { limit: 0 },
    { limit: 1_001 },
    { limit: 1.5 },
    { cursor: '' },
    { cursor: 'x' },
    { cursor: btoa('2026-99-01T00:00:00.000Z a.b') },
    { cursor: btoa('2026-02-30T00:00:00.000Z a.b') },
    { cursor: btoa('0000-01-01T00:00:00.000Z a.b') },
  ]) {
    await expect(listDomains(db, project, query), JSON.stringify(query)).rejects.toMatchObject({ code: 'query_invalid' })
  }
})

test.each([
  ['our addresses', ['192.0.2.10', '::ffff:192.0.2.10', '2001:db8::10'], { A: '192.0.2.10', AAAA: '2001:db8::10' }],
  ['an ALIAS where we have set none', [], { ALIAS: EDGE_HOST }],
])('before the first check a domain itself is told %s, as by the check, and never a CNAME', async (_, edgeIps, records) => {
  const project = await addProject(db)
  const hostname = await claim(db, project, parseHostname(`${freshHostname().split('.')[0]}.com`))
  const { expected } = (await findDomain(db, project, hostname, { ...CLAIM_RULES, edgeIps })).dns
  expect(expected).toEqual(Object.entries(records).map(([type, value]) => ({ name: hostname, type, value })))
})

test('before the first check the details name the record to add', async () => {
  const project = await addProject(db)
  const hostname = await claim(db, project)
  const details = await findDomain(db, project, hostname, CLAIM_RULES)
  expect(details).toMatchObject({
    hostname,
    verified: false,
    dns: {
      state: 'unknown',
      sentence: expect.stringContaining('within seconds'),
      expected: [{ name: hostname, type: 'CNAME', value: EDGE_HOST }],
      found: [],
      warnings: [],
      checkedAt: null,
      nextCheckAt: expect.stringMatching(/Z$/),
    },
  })
  expect(details.certificate).toEqual({
    ...{ state: 'none', origin: null, issuer: null, serial: null, notBefore: null, notAfter: null, renewAt: null },
    ...{
      attempts: 0,
      lastAttemptAt: null,
      lastError: null,
      nextAttemptAt: null,
      nextIssuanceAt: null,
      nextIssuanceReason: null,
      renewal: null,
    },
  })
})
