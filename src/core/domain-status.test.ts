import type pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { createTestDatabase } from '../../test/support/postgres.ts'
import { addProject, claim, freshHostname } from '../../test/support/tenants.ts'
import { DNS_STATES } from './dns-report.ts'
import { type DomainFacts, domainStatus, findDomainNews } from './domain-status.ts'
import { removeDomain } from './domains.ts'

const NEW: DomainFacts = { verified: false, dnsState: 'unknown', certificate: 'none', certified: false, seen: false }
const VERIFIED: DomainFacts = { verified: true, dnsState: 'verified', certificate: 'none', certified: false, seen: false }
const LIVE: DomainFacts = { ...VERIFIED, certificate: 'issued', certified: true, seen: true }

test.each([
  ['a new claim', NEW, 'waiting-for-dns'],
  ['no record yet', { ...NEW, dnsState: 'absent' }, 'waiting-for-dns'],
  ['a proof that is still missing', { ...NEW, dnsState: 'proof-needed' }, 'waiting-for-dns'],
  ['servers that do not agree yet', { ...NEW, dnsState: 'servers-disagree' }, 'waiting-for-dns'],
  ['our own fault', { ...NEW, dnsState: 'edge-host-broken' }, 'waiting-for-dns'],
  ['the fault of the vendor’s own name', { ...NEW, dnsState: 'cname-target-broken' }, 'waiting-for-dns'],
  ['a record that leads elsewhere', { ...NEW, dnsState: 'wrong-target' }, 'wrong-record'],
  ['a proxy in front', { ...NEW, dnsState: 'proxied' }, 'wrong-record'],
  ['a certificate kept from before, without a record', { ...NEW, certified: true, certificate: 'issued' }, 'waiting-for-dns'],
  ['just verified', VERIFIED, 'verified'],
  ['ordered', { ...VERIFIED, certificate: 'pending' }, 'certificate-pending'],
  ['refused by the authority', { ...VERIFIED, certificate: 'failed' }, 'certificate-failed'],
  ['all there, and not seen yet', { ...LIVE, seen: false }, 'certificate-pending'],
  ['all there, and seen', LIVE, 'live'],
  ['a renewal that failed, with a certificate in hand', { ...LIVE, certificate: 'failed' }, 'live'],
  ['a certificate that has run out', { ...LIVE, certified: false }, 'certificate-pending'],
  ['live, and the last check found nothing out', { ...LIVE, dnsState: 'unknown' }, 'live'],
  ['live once, and the record was taken away', { ...LIVE, dnsState: 'absent' }, 'wrong-record'],
] satisfies [string, DomainFacts, string][])('%s: %s', (_what, facts, status) => {
  expect(domainStatus(facts)).toBe(status)
})

test('no wrong record ever shows as live', () => {
  const harmless = ['verified', 'unknown', 'servers-disagree', 'edge-host-broken']
  for (const dnsState of DNS_STATES) {
    const status = domainStatus({ ...LIVE, dnsState })
    expect(status, dnsState).toBe(harmless.includes(dnsState) ? 'live' : 'wrong-record')
  }
})

async function setUp() {
  const { db, drop } = await createTestDatabase({ poolMax: 1 })
  onTestFinished(drop)
  return { db, mine: await addProject(db), other: await addProject(db) }
}

test('the news of a hostname are those of who holds it, and of who gave it up', async () => {
  const { db, mine, other } = await setUp()
  const [held, given, back] = [await claim(db, mine), await claim(db, mine), await claim(db, mine)]
  for (const hostname of [given, back]) await removeDomain(db, mine, hostname)
  await claim(db, other, given)
  await claim(db, mine, back)
  const news = async (...ids: string[]) => {
    const found = await findDomainNews(db, ids, [held, given, back, freshHostname()])
    return found.map(({ projectId, hostname, removed }) => `${hostname} ${removed ? 'gone from' : 'at'} ${projectId}`).sort()
  }
  const ofMine = [`${held} at ${mine.id}`, `${given} gone from ${mine.id}`, `${back} at ${mine.id}`]
  expect(await news(mine.id)).toEqual(ofMine.sort())
  expect(await news(mine.id, other.id)).toEqual([...ofMine, `${given} at ${other.id}`].sort())
})

test('they are found without a look at all hostnames, or at all that became of one', async () => {
  const { db, mine, other } = await setUp()
  const [held, churned] = [await claim(db, mine), await claim(db, other)]
  await db.pool.query('alter table domains disable trigger user')
  await db.pool.query(
    "insert into domains (project_id, hostname, metadata) select $1, 'h-' || n || '.test', '{}' from generate_series(1, 20000) n",
    [mine.id],
  )
  await db.pool.query(
    `insert into domains (project_id, hostname, metadata, created_at, deleted_at)
      select $1, $2, '{}', now() - interval '2 hours', now() - interval '1 hour' from generate_series(1, 20000) n`,
    [mine.id, churned],
  )
  await db.pool.query('alter table domains enable trigger user; analyze domains')
  const asked: [string, unknown[]][] = []
  const client = (await db.pool.connect()) as pg.PoolClient
  const query = client.query.bind(client) as (text: string, values: unknown[]) => Promise<pg.QueryResult>
  client.query = ((text: string, values: unknown[]) => {
    asked.push([text, values])
    return query(text, values)
  }) as typeof client.query
  client.release()
  expect(await findDomainNews(db, [mine.id], [held, churned])).toMatchObject([
    { hostname: held, removed: false },
    { hostname: churned, removed: true },
  ])
  expect(asked).toHaveLength(2)
  for (const [text, values] of asked) {
    const { rows } = await query(`explain (analyze, buffers, format json) ${text}`, values)
    const plan = rows[0]['QUERY PLAN'][0].Plan
    expect(plan['Shared Hit Blocks'] + plan['Shared Read Blocks']).toBeLessThan(60)
  }
})
