import { execFile } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { registerDomain } from '../src/core/domains.ts'
import { parseClaimName } from '../src/hostname.ts'
import { type DnsServer, startDnsServer } from './support/dns.ts'
import { type Pebble, startPebble } from './support/pebble.ts'
import { freePort } from './support/ports.ts'
import { createTestDatabase } from './support/postgres.ts'
import { addProject, CLAIM_RULES } from './support/tenants.ts'
import { addVendor, eventually, processesOf, startTree, type Tree, type Vendor } from './support/tree.ts'

const ZONE = 'acme.example.com'

type Details = {
  verified: boolean
  dns: { state: string; delegation: { name: string; type: string; value: string; state: string; sentence: string } | null }
  certificate: { state: string; issuer: string; lastError: unknown }
}

let dns: DnsServer
let pebble: Pebble
let tree: Tree
let vendor: Vendor
let dnsPort: number
beforeAll(async () => {
  dns = await startDnsServer()
  dnsPort = await freePort()
  dns.forward(ZONE, dnsPort)
  pebble = await startPebble({ dnsServer: dns.endpoint })
  tree = await startTree({
    args: ['--roles', 'api,worker,dns'],
    env: {
      NAMESAKE_DNS_ZONE: ZONE,
      NAMESAKE_DNS_ADDR: `127.0.0.1:${dnsPort}`,
      NAMESAKE_DNS_SERVERS: dns.endpoint,
      NAMESAKE_ACME_DIRECTORY: pebble.directoryUrl,
      NAMESAKE_ACME_CA_FILE: pebble.caFile,
    },
  })
  vendor = await addVendor(tree, 'shop', 'http://127.0.0.1:9')
})
afterAll(async () => {
  await tree?.stop()
  await pebble?.stop()
  await dns?.stop()
})

async function show(hostname: string): Promise<Details> {
  return (await vendor.call(`/v1/edge/domains/${hostname}`)).json() as Promise<Details>
}

test('a customer who delegates the challenge has the certificate before the hostname leads to the edge', async () => {
  const hostname = 'shop.customer.example'
  await vendor.claim(hostname)
  const { delegation } = (await show(hostname)).dns
  expect(delegation).toMatchObject({
    name: `_acme-challenge.${hostname}`,
    type: 'CNAME',
    value: expect.stringMatching(/^[0-9a-f]{40}\.acme/),
  })
  await eventually(async () => (await show(hostname)).dns.delegation!.state === 'absent')

  dns.set(delegation!.name, 'CNAME', delegation!.value)
  await vendor.call(`/v1/edge/domains/${hostname}/check`, { method: 'POST' })
  await eventually(async () => (await show(hostname)).certificate.state === 'issued', 60_000)
  const { verified, dns: state, certificate } = await show(hostname)
  expect({ verified, state: state.state, delegation: state.delegation!.state }).toEqual({
    verified: false,
    state: 'absent',
    delegation: 'present',
  })
  expect(certificate).toMatchObject({ lastError: null, issuer: expect.stringContaining('Pebble') })
})

test('the role answers dig for its zone, and says so on the internal address', async () => {
  const { stdout } = await promisify(execFile)('dig', ['@127.0.0.1', '-p', String(dnsPort), '+short', 'NS', ZONE])
  expect(stdout).toBe(`ns1.${ZONE}.\n`)
  expect(await processesOf(tree, 'dns')).toMatchObject([{ ready: true, zone: ZONE, challenges: 'good' }])
  const metrics = await (await fetch(`${tree.internalUrl}/metrics`)).text()
  expect(metrics).toMatch(/namesake_dns_queries_total\{outcome="noerror"\} [1-9]/)
})

test("another project's delegation of the same name is of no use to who claims it", async () => {
  const other = await addVendor(tree, 'other', 'http://127.0.0.1:9')
  await vendor.claim('one.customer.example')
  await other.claim('two.customer.example')
  const theirs = (await (await other.call('/v1/edge/domains/two.customer.example')).json()) as Details
  const ours = (await show('one.customer.example')).dns.delegation!
  dns.set(ours.name, 'CNAME', theirs.dns.delegation!.value)
  await vendor.call('/v1/edge/domains/one.customer.example/check', { method: 'POST' })
  await eventually(async () => (await show('one.customer.example')).dns.delegation!.state === 'elsewhere')
  expect((await show('one.customer.example')).dns.delegation!.sentence).toContain(ours.value)
  expect((await show('one.customer.example')).certificate.state).toBe('none')
})

test('a wildcard has its certificate once its challenges are delegated, and until then no order is sent', async () => {
  const wildcard = '*.wild.example'
  dns.set('edge.localhost', 'A', '127.0.0.1')
  dns.set(wildcard, 'CNAME', 'edge.localhost')
  await vendor.claim(wildcard)
  await vendor.call(`/v1/edge/domains/${wildcard}/check`, { method: 'POST' })
  await eventually(async () => (await show(wildcard)).certificate.lastError !== null, 60_000)
  expect((await show(wildcard)).certificate.lastError).toMatchObject({ sentence: expect.stringContaining('_acme-challenge.wild.example') })

  const { delegation } = (await show(wildcard)).dns
  expect(delegation!.name).toBe('_acme-challenge.wild.example')
  dns.set(delegation!.name, 'CNAME', delegation!.value)
  await vendor.call(`/v1/edge/domains/${wildcard}/check`, { method: 'POST' })
  await eventually(async () => (await show(wildcard)).certificate.state === 'issued', 60_000)
  const { chainPem } = await tree.command<{ chainPem: string }>('certificates', 'export', wildcard)
  expect(new X509Certificate(chainPem).subjectAltName).toBe(`DNS:${wildcard}`)
})

test('a machine that runs nothing but the role permits certificates for the names under a wildcard as well', async () => {
  const { db, url, drop } = await createTestDatabase()
  onTestFinished(drop)
  const wanted = { hostname: parseClaimName('*.under.example'), metadataJson: '{}' }
  await registerDomain(db, await addProject(db), wanted, { ...CLAIM_RULES, wildcards: true })
  await db.pool.query('update domains set verified_at = now()')
  const alone = await startTree({
    args: ['--roles', 'dns'],
    env: {
      ...{ NAMESAKE_DATABASE_URL: url, NAMESAKE_SECRET: 'a secret of the test that is long enough' },
      ...{ NAMESAKE_DNS_ZONE: ZONE, NAMESAKE_DNS_ADDR: `127.0.0.1:${await freePort()}` },
    },
  })
  onTestFinished(async () => void (await alone.stop()))
  const answer = async (domain: string) => (await fetch(`${alone.internalUrl}/internal/certificate-check?domain=${domain}`)).status
  expect([await answer('shop.under.example'), await answer('deep.shop.under.example')]).toEqual([200, 404])
})
