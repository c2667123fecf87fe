import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type DnsServer, freePort, startDnsServer } from './support/dns.ts'
import { type Pebble, startPebble } from './support/pebble.ts'
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
}, 90_000)
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
  await eventually(async () => (await show(hostname)).certificate.state === 'issued', 30_000)
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
