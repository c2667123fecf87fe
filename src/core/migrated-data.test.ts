import { expect, onTestFinished, test } from 'vitest'
import { createEmptyDatabase } from '../../test/support/postgres.ts'
import { CLAIM_RULES, claim, EDGE_HOST } from '../../test/support/tenants.ts'
import { type Hostname, parseHostname } from '../hostname.ts'
import { listCertificates } from './certificate-inventory.ts'
import { beginIssuance, claimDueRenewals, recordCertificate, recordIssuanceFailure, requestIssuance } from './certificates.ts'
import type { Db } from './db.ts'
import { findDomain, registerDomain, removeDomain } from './domains.ts'
import { migrate, readMigrations } from './migrations.ts'
import { claimDueProbes, recordProbes } from './probes.ts'
import { findProject } from './projects.ts'
import { claimDueRenewalInfo, findHeldCertificate } from './renewals.ts'
import { loadCertificates } from './routes.ts'

const FOLDER = new URL('../../sql/', import.meta.url)
const DIRECTORY = 'https://acme.example.com/directory'
const RULES = { plans: new Map([['unlimited', 0]]), edgeHost: EDGE_HOST, edgeIps: [], reserved: new Set<string>(), wildcards: true }
const name = (label: string): Hostname => parseHostname(`${label}.customer.test`)
const [due, fresh, lost, failed, waiting, released] = [
  ...([name('due'), name('fresh'), name('lost')] as const),
  ...([name('failed'), name('waiting'), name('released')] as const),
] as const

/** What an earlier release left: names in every state that a certificate could be in then. */
const FILL = `
  insert into projects (name, slug, upstream_url, plan, proof) values ('Shop', 'shop', 'https://app.vendor.test', 'unlimited', 'proof');
  insert into members (project_id, email, role) values (1, 'a@vendor.test', 'owner');
  insert into domains (project_id, hostname, verified_at, created_at)
    select 1, label || '.customer.test', case when label <> 'waiting' then now() end, now() - interval '70 days'
    from unnest('{due,fresh,lost,failed,waiting,released}'::text[]) as label;
  insert into probes (domain_id, state, next_probe_at) select id, 'verified', now() + interval '7 days' from domains;
  update domains set deleted_at = now() - interval '20 days' where hostname = 'released.customer.test';
  insert into certificates (hostname, project_id, state, chain_pem, sealed_key, issuer, serial, not_before, not_after, renew_at, next_attempt_at)
    select label || '.customer.test', 1, 'issued', 'chain of ' || label, 'key', 'CN=Old', '0a', now() - interval '61 days', now() + interval '29 days',
      case when label = 'fresh' then now() + interval '20 days' else now() - interval '1 hour' end,
      case label when 'fresh' then now() + interval '20 days' when 'lost' then null else now() - interval '1 hour' end
    from unnest('{due,fresh,lost,released}'::text[]) as label;
  insert into certificates (hostname, project_id, state, attempts, last_attempt_at, last_problem, last_sentence, next_attempt_at)
    values ('failed.customer.test', 1, 'failed', 3, now() - interval '5 minutes', '{"type":"urn:namesake:error:dns"}', 'It leads elsewhere.',
      now() + interval '3 minutes');
  insert into certificates (hostname, state, chain_pem, sealed_key, issuer, serial, not_before, not_after, renew_at, next_attempt_at)
    values ('${EDGE_HOST}', 'issued', 'chain of the edge', 'key', 'CN=Old', '0b', now() - interval '61 days', now() + interval '29 days',
      now() - interval '1 hour', now() - interval '1 hour');`

test.for(['0005', '0009'])(
  'what was there at migration %s is served, renewed, retried and kept as before',
  { timeout: 60_000 },
  async (last) => {
    const { db, drop } = await createEmptyDatabase()
    onTestFinished(drop)
    const migrations = await readMigrations(FOLDER)
    await migrate(
      db,
      migrations.filter(({ name }) => name < `${last}_z`),
    )
    await db.pool.query(FILL)
    await migrate(db, migrations)
    const project = await findProject(db, 'shop')

    const served = await loadCertificates(db, [due, fresh, lost, EDGE_HOST, released])
    expect(served.map(({ chainPem }) => chainPem).sort()).toEqual(['chain of due', 'chain of fresh', 'chain of lost', 'chain of the edge'])
    expect((await listCertificates(db, { limit: 100 })).total).toBe(5)
    expect((await findDomain(db, project, fresh, CLAIM_RULES)).certificate).toMatchObject({
      origin: 'ordered',
      renewal: { plan: 'lifetime' },
    })
    const asked = await claimDueRenewalInfo(db, 100, 60)
    expect(asked.map(({ hostname, directory }) => [hostname, directory]).sort()).toEqual(
      [due, EDGE_HOST, fresh, lost].map((hostname) => [hostname, null]).sort(),
    )

    expect(await claimDueRenewals(db, 100)).toEqual([due, EDGE_HOST, lost].sort())
    for (const hostname of [due, lost, EDGE_HOST]) await renew(db, hostname)
    expect((await findDomain(db, project, due, CLAIM_RULES)).certificate).toMatchObject({ state: 'issued', serial: '0c', attempts: 0 })

    expect((await findDomain(db, project, failed, CLAIM_RULES)).certificate).toMatchObject({ state: 'failed', attempts: 3 })
    await db.pool.query('update probes set next_probe_at = now()')
    const probes = await claimDueProbes(db, { line: 'answered', limit: 100, leaseS: 60 })
    const report = { state: 'verified' as const, sentence: '', expected: [], found: [], warnings: [], checkedAt: new Date(0).toISOString() }
    await recordProbes(
      db,
      probes.map((probe) => ({ probe, report, nextProbeInS: 300 })),
    )
    expect(await claimDueRenewals(db, 100)).toContain(failed)
    expect(await requestIssuance(db, waiting)).toEqual({ kind: 'requested' })

    await claim(db, project, released)
    expect(await loadCertificates(db, [released])).toMatchObject([{ chainPem: 'chain of released' }])
    await removeDomain(db, project, waiting)
    expect(await registerDomain(db, project, { hostname: '*.customer.test' as Hostname, metadataJson: '{}' }, RULES)).toMatchObject({
      verified: false,
    })
  },
)

async function renew(db: Db, hostname: Hostname): Promise<void> {
  const permission = await beginIssuance(db, hostname, { directories: [DIRECTORY] })
  expect(permission).toMatchObject({ kind: 'go', attempt: 1, renewing: true, directory: DIRECTORY, asked: false })
  await recordIssuanceFailure(db, hostname, { problem: { type: 'x' }, sentence: 'No.' })
  expect(await findHeldCertificate(db, hostname)).toMatchObject({ serial: expect.stringMatching(/^0[ab]$/) })
  await db.pool.query('update certificates set next_attempt_at = now() where hostname = $1', [hostname])
  expect(await beginIssuance(db, hostname, { directories: [DIRECTORY] })).toMatchObject({ kind: 'go', attempt: 2 })
  const issued = { chainPem: 'new chain', sealedKey: Buffer.from('key'), issuer: 'CN=New', serial: '0c', directory: DIRECTORY }
  const inDays = (days: number) => new Date(Date.now() + days * 86_400_000)
  await recordCertificate(db, hostname, { ...issued, notBefore: inDays(-1), notAfter: inDays(89), renewAt: inDays(59) })
}
