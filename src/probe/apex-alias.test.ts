import { afterEach, beforeEach, expect, test } from 'vitest'
import { type DnsServer, startAuthorities, startDnsServer } from '../../test/support/dns.ts'
import { parseHostname } from '../hostname.ts'
import { createProbe } from './probe.ts'

const EDGE = 'edge.namesake.test'

let resolver: DnsServer
let registry: DnsServer
let authority: DnsServer
beforeEach(async () => {
  resolver = await startDnsServer({ role: 'resolver', zones: ['test', 'namesake.test', 'customer.test', 'br.com', 'customer.br.com'] })
  const [first, second] = await startAuthorities([
    ['test', 'br.com'],
    ['customer.test', 'customer.br.com'],
  ])
  registry = first!
  authority = second!
  resolver.set(EDGE, 'A', '127.0.0.10')
  for (const suffix of ['test', 'br.com']) resolver.set(suffix, 'NS', 'ns.test')
  resolver.set('ns.test', 'A', registry.address)
  for (const domain of ['customer.test', 'customer.br.com']) registry.set(domain, 'NS', 'ns1.customer.test')
  registry.set('ns1.customer.test', 'A', authority.address)
})
afterEach(() => Promise.all([resolver, registry, authority].map((server) => server.stop())))

async function check(hostname: string, edgeIps = ['127.0.0.10']) {
  const authoritativePort = registry.port
  const settings = {
    edgeHost: parseHostname(EDGE),
    edgeIps,
    portalHosts: [],
    servers: [resolver.endpoint],
    caaIssuers: [],
    authoritativePort,
  }
  const probe = createProbe(settings)
  try {
    return await probe.check(parseHostname(hostname), { proof: '', proofNeeded: false })
  } finally {
    probe.close()
  }
}

function alias(name: string): void {
  for (const server of [resolver, authority]) server.set(name, 'CNAME', EDGE)
}

test('a CNAME at a domain itself verifies, and is warned of with the mail servers that it puts out of action', async () => {
  alias('customer.test')
  authority.set('customer.test', 'MX', '10 mx1.mail.example', '20 mx2.mail.example')
  expect(await check('customer.test')).toMatchObject({
    state: 'verified',
    zone: 'customer.test',
    nameServers: ['ns1.customer.test'],
    warnings: [
      {
        kind: 'cname-at-apex',
        sentence: `The CNAME record named "@" in the DNS of customer.test stands beside its MX records (mx1.mail.example and mx2.mail.example), which DNS does not allow, and mail to customer.test can get lost by it: replace it by an ALIAS, ANAME or flattened CNAME record with the value "${EDGE}", or by an A record with 127.0.0.10.`,
      },
    ],
  })
})

test('so is one whose servers answer with the CNAME whatever they are asked for, where we have no addresses to enter', async () => {
  alias('customer.test')
  const { warnings } = await check('customer.test', [])
  expect(warnings).toEqual([
    {
      kind: 'cname-at-apex',
      sentence: `The CNAME record named "@" in the DNS of customer.test stands beside the other records that every domain has, which DNS does not allow, and mail to customer.test can get lost by it: replace it by an ALIAS, ANAME or flattened CNAME record with the value "${EDGE}".`,
    },
  ])
})

test('so is one at a domain that was registered below br.com, where a name may be a record of its host’s as well', async () => {
  alias('customer.br.com')
  expect((await check('customer.br.com')).warnings).toMatchObject([{ kind: 'cname-at-apex' }])
  for (const server of [resolver, registry]) server.set('hosted.br.com', 'CNAME', EDGE)
  expect(await check('hosted.br.com')).toMatchObject({ state: 'verified', warnings: [] })
})

test('a name below a domain, a domain whose provider flattens, and a name that its registry keeps in its own zone are right as they are', async () => {
  alias('shop.customer.test')
  expect((await check('shop.customer.test')).warnings).toEqual([])
  for (const server of [resolver, authority]) server.set('customer.test', 'A', '127.0.0.10')
  expect((await check('customer.test')).warnings).toEqual([])
  for (const server of [resolver, registry]) server.set('kept.test', 'CNAME', EDGE)
  expect(await check('kept.test')).toMatchObject({ state: 'verified', warnings: [] })
})

test('a domain whose servers do not answer, or have another record by now, is not warned of', async () => {
  alias('customer.test')
  authority.behave('customer.test', { drop: true })
  expect(await check('customer.test')).toMatchObject({ state: 'verified', warnings: [] })
  authority.behave('customer.test', {})
  authority.unset('customer.test', 'CNAME')
  authority.set('customer.test', 'A', '127.0.0.10')
  expect(await check('customer.test')).toMatchObject({ state: 'verified', warnings: [] })
})
