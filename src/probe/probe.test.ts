import type { Socket } from 'node:dgram'
import { networkInterfaces } from 'node:os'
import dnsPacket from 'dns-packet'
import { afterEach, expect, test } from 'vitest'
import { type DnsServer, startAuthorities, startChallengeTestServer, startDnsServer, startNsd } from '../../test/support/dns.ts'
import { freePort } from '../../test/support/ports.ts'
import { parseClaimName, parseHostname } from '../hostname.ts'
import { createProbe, type Probe, type ProbeSettings } from './probe.ts'

const EDGE = 'edge.namesake.test'
const SERVER_FAILURE = 2
const REFUSED = 5
const NO_PROOF = { proof: '', proofNeeded: false }

const stops: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop()
})

async function startResolver(): Promise<DnsServer> {
  const resolver = keep(await startDnsServer({ role: 'resolver', zones: ['test', 'namesake.test', 'customer.test'] }))
  resolver.set(EDGE, 'A', '127.0.0.10')
  return resolver
}

function keep<T extends { stop(): Promise<void> }>(server: T): T {
  stops.push(() => server.stop())
  return server
}

function probeAt(servers: { endpoint: string }[], settings: Partial<ProbeSettings> = {}): Probe {
  const probe = createProbe({
    edgeHost: parseHostname(EDGE),
    edgeIps: ['127.0.0.10', '2001:db8::10'],
    portalHosts: ['app.namesake.test'],
    servers: servers.map((server) => server.endpoint),
    caaIssuers: [],
    ...settings,
  })
  stops.push(() => probe.close())
  return probe
}

/** A resolver that knows of two authorities for customer.test, and a probe that asks both. */
async function startZone(count = 2): Promise<{ resolver: DnsServer; authorities: DnsServer[]; probe: Probe }> {
  const resolver = await startResolver()
  const authorities = await startAuthorities(Array.from({ length: count }, () => ['customer.test']))
  for (const authority of authorities) keep(authority)
  resolver.set('customer.test', 'NS', ...authorities.map((_, n) => `ns${n + 1}.customer.test`))
  for (const [n, authority] of authorities.entries()) resolver.set(`ns${n + 1}.customer.test`, 'A', authority.address)
  return { resolver, authorities, probe: probeAt([resolver], { authoritativePort: authorities[0]!.port }) }
}

const shop = parseHostname('shop.customer.test')

test('what only we can reach is not visited, though the zone names it beside the edge', async () => {
  const resolver = await startResolver()
  resolver.set('shop.customer.test', 'CNAME', EDGE)
  resolver.set(EDGE, 'AAAA', '::1', '::ffff:169.254.169.254', '2001:db8::10') // a zone can answer so for its name alone
  const { addresses } = (await probeAt([resolver]).leadsToEdge(shop)) as { addresses: string[] }
  expect(addresses.toSorted()).toEqual(['127.0.0.10', '2001:db8::10'])
})

test('on a private network the edge is visited at the address that it has there', async () => {
  const resolver = await startResolver()
  resolver.set('shop.customer.test', 'CNAME', EDGE)
  resolver.set(EDGE, 'A', '10.0.0.5')
  expect(await probeAt([resolver], { edgeIps: [] }).leadsToEdge(shop)).toEqual({ kind: 'yes', addresses: ['10.0.0.5'] })
})

test('a CNAME to the edge host verifies, and every hop is shown in its own case', async () => {
  const resolver = await startResolver()
  resolver.set('shop.customer.test', 'CNAME', 'Shops.Customer.test')
  resolver.set('shops.customer.test', 'CNAME', EDGE)
  const report = await probeAt([resolver]).check(shop, NO_PROOF)
  expect(report.state).toBe('verified')
  expect(report.found).toEqual([
    { name: 'shop.customer.test', type: 'CNAME', value: 'Shops.Customer.test' },
    { name: 'shops.customer.test', type: 'CNAME', value: EDGE },
    { name: EDGE, type: 'A', value: '127.0.0.10' },
  ])
  expect(report.expected).toEqual([{ name: 'shop.customer.test', type: 'CNAME', value: EDGE }])
  expect(report.checkedAt).toMatch(/^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{3}Z$/)
})

type Setting = [string, string, Parameters<DnsServer['set']>[], string]
const STATES: Setting[] = [
  ['absent', 'shop.customer.test', [], 'Add a CNAME record named "shop" in the DNS of customer.test with the value "edge.namesake.test".'],
  ['absent', 'shop.nobody.test', [], 'The domain nobody.test does not exist in the DNS'],
  ['wrong-target', 'shop.customer.test', [['shop.customer.test', 'CNAME', 'old.example']], 'from "old.example" to "edge.namesake.test".'],
  ['wrong-target', 'shop.customer.test', [['shop.customer.test', 'A', '192.0.2.1']], 'points to 192.0.2.1, which is not ours'],
  ['wrong-case', 'shop.customer.test', [['shop.customer.test', 'CNAME', 'Edge.Namesake.Test']], 'in lower-case letters'],
  ['typo-in-target', 'shop.customer.test', [['shop.customer.test', 'CNAME', 'egde.namesake.test']], 'typing mistake'],
  [
    'doubled-host',
    'shop.customer.test',
    [['shop.customer.test.customer.test', 'CNAME', EDGE]],
    'name it "shop" in the DNS of customer.test',
  ],
  [
    'missing-final-dot',
    'shop.customer.test',
    [['shop.customer.test', 'CNAME', `${EDGE}.customer.test`]],
    '"edge.namesake.test." with a dot',
  ],
  ['value-in-txt', 'shop.customer.test', [['shop.customer.test', 'TXT', EDGE]], 'instead of the TXT record'],
  ['proxied', 'shop.customer.test', [['shop.customer.test', 'A', '104.21.5.5', '172.67.1.1']], '"DNS only" (the grey cloud)'],
  ['apex-not-pointing', 'customer.test', [['customer.test', 'A', '192.0.2.1']], 'ALIAS or ANAME record named "@"'],
  ['mixed-addresses', 'customer.test', [['customer.test', 'A', '127.0.0.10', '192.0.2.1']], 'Remove the address record 192.0.2.1'],
  [
    'stale-aaaa',
    'customer.test',
    [
      ['customer.test', 'A', '127.0.0.10'],
      ['customer.test', 'AAAA', '2001:db8::bad'],
    ],
    'Remove the AAAA record 2001:db8::bad',
  ],
  [
    'verified',
    'customer.test',
    [
      ['customer.test', 'A', '127.0.0.10'],
      ['customer.test', 'AAAA', '2001:DB8::10'],
    ],
    'is right',
  ],
  ['target-is-portal', 'shop.customer.test', [['shop.customer.test', 'CNAME', 'app.namesake.test']], 'is our website'],
  [
    'loop',
    'shop.customer.test',
    [
      ['shop.customer.test', 'CNAME', 'a.customer.test'],
      ['a.customer.test', 'CNAME', 'shop.customer.test'],
    ],
    'lead in a circle (shop.customer.test → a.customer.test → shop.customer.test)',
  ],
]

test.each(STATES)('%s is what is said of %s with %o', async (state, hostname, records, sentence) => {
  const resolver = await startResolver()
  for (const record of records) resolver.set(...record)
  const report = await probeAt([resolver]).check(parseHostname(hostname), NO_PROOF)
  expect([report.state, report.sentence]).toEqual([state, expect.stringContaining(sentence)])
})

test('an edge host that does not resolve is our fault and said to be, and says nothing of where a hostname leads', async () => {
  const resolver = await startResolver()
  resolver.unset(EDGE, 'A')
  resolver.set('shop.customer.test', 'CNAME', EDGE)
  const probe = probeAt([resolver])
  expect((await probe.check(shop, NO_PROOF)).state).toBe('edge-host-broken')
  expect((await probe.leadsToEdge(shop)).kind).toBe('unknown')
})

test('a top-level domain that was mistyped is a domain that does not exist, and no place for a record', async () => {
  const resolver = keep(await startDnsServer({ role: 'resolver', zones: [''] }))
  const { state, sentence } = await probeAt([resolver]).check(parseHostname('shop.customer.cmo'), NO_PROOF)
  expect([state, sentence]).toEqual([
    'absent',
    `The domain customer.cmo does not exist in the DNS: check its spelling, and that it is registered and has not expired, then add a CNAME record named "shop" in the DNS of customer.cmo with the value "${EDGE}".`,
  ])
})

test('what strangers have in their DNS, however long, makes no long report', async () => {
  const resolver = await startResolver()
  const probe = probeAt([resolver], { caaIssuers: ['letsencrypt.org'] })
  const lengthOf = async () => JSON.stringify(await probe.check(shop, NO_PROOF)).length
  resolver.set('customer.test', 'CAA', `0 issue "${'x'.repeat(20_000)}"`)
  resolver.set('shop.customer.test', 'TXT', `${EDGE} ${'x'.repeat(20_000)}`)
  expect(await lengthOf()).toBeLessThan(5_000)
  resolver.set('customer.test', 'CAA', `128 tbs "${'x'.repeat(20_000)}"`)
  expect(await lengthOf()).toBeLessThan(5_000)
})

test.each([
  ['www.niemand.br.com', 'niemand.br.com', '"www.niemand" in the DNS of br.com'],
  ['*.niemand.br.com', 'niemand.br.com', '"*.niemand" in the DNS of br.com'],
  ['niemand.is-a.dev', 'niemand.is-a.dev', '"niemand" in the DNS of is-a.dev'],
])('of %s, which may be in a domain or a record of its host’s, both are told', async (hostname, domain, place) => {
  const resolver = keep(await startDnsServer({ role: 'resolver', zones: ['test', 'br.com', 'is-a.dev'] }))
  expect(await probeAt([resolver]).check(parseClaimName(hostname), NO_PROOF)).toMatchObject({
    state: 'absent',
    sentence: `${domain} is not in the DNS as a domain of its own: if it is meant to be one, check its spelling, and that it is registered and has not expired, else add a CNAME record named ${place} with the value "${EDGE}".`,
    expected: [{ name: hostname, type: 'CNAME', value: EDGE }],
  })
})

test('an apex is told the addresses to enter', async () => {
  const resolver = await startResolver()
  resolver.set('customer.test', 'A', '192.0.2.1')
  const report = await probeAt([resolver]).check(parseHostname('customer.test'), NO_PROOF)
  expect(report.expected).toEqual([
    { name: 'customer.test', type: 'A', value: '127.0.0.10' },
    { name: 'customer.test', type: 'AAAA', value: '2001:db8::10' },
  ])
})

test('without addresses of ours an apex is told an alias, in the sentence and as the record to add', async () => {
  const resolver = await startResolver()
  const { sentence, expected } = await probeAt([resolver], { edgeIps: [] }).check(parseHostname('customer.test'), NO_PROOF)
  expect(sentence).toContain(`Add an ALIAS or ANAME record named "@" in the DNS of customer.test with the value "${EDGE}"`)
  expect(expected).toEqual([{ name: 'customer.test', type: 'ALIAS', value: EDGE }])
})

test('without addresses of ours an apex is right with the alias that it was told, which leads to those of the edge host', async () => {
  const resolver = await startResolver()
  resolver.set(EDGE, 'AAAA', '2001:db8::10')
  resolver.set('customer.test', 'A', '127.0.0.10')
  const probe = probeAt([resolver], { edgeIps: [] })
  const check = () => probe.check(parseHostname('customer.test'), NO_PROOF)
  expect(await check()).toMatchObject({ state: 'verified', expected: [{ type: 'ALIAS', value: EDGE }] })
  resolver.set('customer.test', 'AAAA', '2001:db8::10')
  expect((await check()).state).toBe('verified')
  expect(resolver.queries.filter(({ name, type }) => name === EDGE && type === 'AAAA')).toHaveLength(1) // remembered
  resolver.set('customer.test', 'A', '192.0.2.1')
  expect(await check()).toMatchObject({
    state: 'mixed-addresses',
    sentence: `customer.test points to 192.0.2.1, which is not ours: remove this record, then add an ALIAS or ANAME record named "@" in the DNS of customer.test with the value "${EDGE}".`,
  })
})

test('who is behind a proxy that takes a CNAME at an apex is told that, in the sentence and as the record to add', async () => {
  const resolver = await startResolver()
  resolver.set('customer.test', 'A', '104.21.5.5', '172.67.1.1')
  const { sentence, expected } = await probeAt([resolver]).check(parseHostname('customer.test'), NO_PROOF)
  expect(sentence).toContain(`as a CNAME with the value "${EDGE}"`)
  expect(expected).toEqual([{ name: 'customer.test', type: 'CNAME', value: EDGE }])
})

test.each<[string, (resolver: DnsServer) => void]>([
  ['old.example', () => {}],
  ['egde.namesake.test', () => {}],
  ['Edge.Namesake.Test', () => {}],
  ['www.customer.test', (resolver) => resolver.set('www.customer.test', 'CNAME', 'customer.test')],
  [
    'old.dead-saas.test',
    (resolver) => {
      resolver.behave('old.dead-saas.test', { rcode: SERVER_FAILURE })
      resolver.behave('customer.test', { rcode: SERVER_FAILURE, only: ['A', 'AAAA'] })
    },
  ],
])('a CNAME at an apex (%s) is to be removed, not changed, whatever is wrong with it', async (target, prepare) => {
  const resolver = await startResolver()
  resolver.set('customer.test', 'CNAME', target)
  prepare(resolver)
  const { sentence, expected } = await probeAt([resolver], { edgeIps: ['127.0.0.10'] }).check(parseHostname('customer.test'), NO_PROOF)
  expect(sentence).toBe(
    `Remove the CNAME record named "@" in the DNS of customer.test, which leads to "${target}" and may not stand at a domain itself, then add an ALIAS or ANAME record named "@" in the DNS of customer.test with the value "${EDGE}", or an A record with 127.0.0.10 if your DNS provider has no such record.`,
  )
  expect(expected).toEqual([{ name: 'customer.test', type: 'A', value: '127.0.0.10' }])
})

test('a chain of eight CNAMEs is followed to its end, also when the resolver gives one hop at a time', async () => {
  const resolver = await startResolver()
  const names = ['shop', 'a', 'b', 'c', 'd', 'e', 'f', 'g'].map((label) => `${label}.customer.test`)
  for (const [n, name] of names.entries()) resolver.set(name, 'CNAME', names[n + 1] ?? EDGE)
  const whole = await probeAt([resolver]).check(shop, NO_PROOF)
  expect([whole.state, whole.found.length]).toEqual(['verified', 9])

  const stingy = keep(await startDnsServer({ role: 'resolver', zones: ['test'] }))
  stingy.set(EDGE, 'A', '127.0.0.10')
  for (const name of names) stingy.behave(name, { rcode: SERVER_FAILURE, only: ['A', 'AAAA'] })
  for (const [n, name] of names.entries()) stingy.set(name, 'CNAME', names[n + 1] ?? EDGE)
  const stepwise = await probeAt([stingy]).check(shop, NO_PROOF)
  expect([stepwise.state, stepwise.found]).toEqual(['verified', whole.found])
})

test('a circle is found also behind a resolver that fails on circles', async () => {
  const resolver = await startResolver()
  resolver.behave('shop.customer.test', { rcode: SERVER_FAILURE, only: ['A', 'AAAA'] })
  resolver.behave('a.customer.test', { rcode: SERVER_FAILURE, only: ['A', 'AAAA'] })
  resolver.set('shop.customer.test', 'CNAME', 'a.customer.test')
  resolver.set('a.customer.test', 'CNAME', 'shop.customer.test')
  expect((await probeAt([resolver]).check(shop, NO_PROOF)).state).toBe('loop')
})

test('a chain without end costs a bounded number of queries', async () => {
  const resolver = await startResolver()
  for (let n = 0; n < 200; n++) {
    resolver.behave(`h${n}.customer.test`, { rcode: SERVER_FAILURE, only: ['A', 'AAAA'] })
    resolver.set(`h${n}.customer.test`, 'CNAME', `h${n + 1}.customer.test`)
  }
  expect((await probeAt([resolver]).check(parseHostname('h0.customer.test'), NO_PROOF)).state).toBe('loop')
  expect(resolver.queries.length).toBeLessThanOrEqual(64)
})

test.each([
  ['before its records', true],
  ['within one', 'within a record'],
] as const)('an answer too long for a datagram, which is cut %s, is fetched over TCP', async (_, truncate) => {
  const resolver = await startResolver()
  resolver.set('shop.customer.test', 'CNAME', EDGE)
  resolver.behave('*', { truncate })
  expect((await probeAt([resolver]).check(shop, NO_PROOF)).state).toBe('verified')
  expect(resolver.queries.map((query) => query.transport)).toContain('tcp')
})

test('a server that stumbles over EDNS is asked without', async () => {
  const resolver = await startResolver()
  resolver.set('shop.customer.test', 'CNAME', EDGE)
  resolver.behave('*', { noEdns: true })
  expect((await probeAt([resolver]).check(shop, NO_PROOF)).state).toBe('verified')
})

const hasIpv6 = Object.values(networkInterfaces()).some((ones) => ones?.some((one) => one.address === '::1'))
test.skipIf(!hasIpv6)('a resolver with an IPv6 address, however it is written, is asked', async () => {
  const resolver = keep(await startDnsServer({ address: '::1', zones: ['test'] }))
  resolver.set('shop.customer.test', 'CNAME', EDGE)
  resolver.set(EDGE, 'A', '127.0.0.10')
  const report = await probeAt([{ endpoint: `[0:0:0:0:0:0:0:1]:${resolver.port}` }]).check(shop, NO_PROOF)
  expect(report.state).toBe('verified')
})

test('silence is unknown, and no look-up lasts for ever', async () => {
  const resolver = await startResolver()
  resolver.behave('shop.customer.test', { drop: true })
  const probe = probeAt([resolver])
  const [report, destination] = await Promise.all([probe.check(shop, NO_PROOF), probe.leadsToEdge(shop)])
  expect([report.state, destination.kind]).toEqual(['unknown', 'unknown'])
  expect(report.sentence).toContain('did not answer in time')
})

test.each([
  ['is silent', { drop: true as const }],
  ['refuses us', { rcode: REFUSED }],
])('where our own resolver %s, nobody is told to ask a DNS provider', async (_, behaviour) => {
  const resolver = await startResolver()
  resolver.set('shop.customer.test', 'CNAME', EDGE)
  resolver.behave('*', behaviour)
  const probe = probeAt([resolver])
  const [report, destination] = await Promise.all([probe.check(shop, NO_PROOF), probe.leadsToEdge(shop)])
  const sentence =
    'We cannot see at present where shop.customer.test leads, as we get no answer for edge.namesake.test, which is ours to mend: nothing is to be done now, and we look again soon.'
  expect([report, destination]).toMatchObject([
    { state: 'unknown', sentence, evidence: { reason: 'resolver' } },
    { kind: 'unknown', sentence },
  ])
})

test('errors from every server are unknown', async () => {
  const resolver = await startResolver()
  resolver.behave('*', { rcode: SERVER_FAILURE })
  const report = await probeAt([resolver]).check(shop, NO_PROOF)
  expect([report.state, report.sentence]).toEqual(['unknown', expect.stringContaining('answered with an error')])
})

test.each([
  ['silent', { drop: true as const }],
  ['failing', { rcode: SERVER_FAILURE }],
  ['slow', { latencyMs: 1_500 }],
])('when the first resolver is %s the second one is asked', async (_, behaviour) => {
  const [first, second] = [await startResolver(), await startResolver()]
  first.behave('*', behaviour)
  second.set('shop.customer.test', 'CNAME', EDGE)
  expect((await probeAt([first, second]).check(shop, NO_PROOF)).state).toBe('verified')
})

test('signatures that are wrong are told from a server that fails', async () => {
  const resolver = await startResolver()
  resolver.set('shop.customer.test', 'CNAME', EDGE)
  resolver.set('customer.test', 'DS', 'key')
  resolver.behave('shop.customer.test', { bogus: true })
  resolver.behave('customer.test', { bogus: true })
  const probe = probeAt([resolver])
  expect((await probe.check(shop, NO_PROOF)).state).toBe('dnssec-bogus')
  expect((await probe.leadsToEdge(shop)).kind).toBe('unknown') // nobody saw it lead elsewhere
})

test('a resolver that fails for a moment and then answers is not taken for one that finds wrong signatures', async () => {
  const resolver = await startResolver()
  resolver.set('shop.customer.test', 'CNAME', EDGE)
  resolver.behave('shop.customer.test', { rcode: SERVER_FAILURE })
  let asked = 0
  resolver.onQuery = (query) => {
    if (query.questions![0]!.name === 'shop.customer.test' && ++asked === 3) resolver.behave('shop.customer.test', {})
  }
  expect((await probeAt([resolver]).check(shop, NO_PROOF)).state).toBe('verified')
})

test('a resolver that remembers a failure, but not for what is asked unchecked, says nothing of signatures where the domain has none', async () => {
  const { resolver, authorities, probe } = await startZone()
  for (const server of [resolver, ...authorities]) server.set('shop.customer.test', 'CNAME', EDGE)
  resolver.behave('shop.customer.test', { bogus: true }) // as BIND does for a second after its own question was refused
  expect((await probe.check(shop, NO_PROOF)).state).toBe('verified')
  const alone = await probeAt([resolver]).check(shop, NO_PROOF)
  expect([alone.state, alone.sentence]).toEqual(['unknown', expect.stringContaining('answered with an error')])
})

test.each([
  ['fails', { rcode: SERVER_FAILURE }, { rcode: SERVER_FAILURE }],
  ['is silent', { drop: true as const }, { drop: true as const }],
  ['is silent behind a resolver that says so', { rcode: SERVER_FAILURE }, { drop: true as const }],
])('a CNAME to a name that %s is named, and its own zone is not blamed', async (_, chain, target) => {
  const { resolver, authorities, probe } = await startZone()
  for (const server of [resolver, ...authorities]) server.set('shop.customer.test', 'CNAME', 'old.dead-saas.test')
  resolver.set('old.dead-saas.test', 'A', '192.0.2.9')
  resolver.behave('shop.customer.test', { ...chain, only: ['A', 'AAAA'] })
  resolver.behave('old.dead-saas.test', target)
  const [report, destination] = await Promise.all([probe.check(shop, NO_PROOF), probe.leadsToEdge(shop)])
  expect([report.state, destination.kind]).toEqual(['unknown', 'unknown'])
  expect(report.sentence).toBe(
    `The CNAME record named "shop" in the DNS of customer.test leads to "old.dead-saas.test", which does not resolve at present: change it to "${EDGE}".`,
  )
})

test('a CNAME to a name with wrong signatures is named and is to be changed, and its own zone is not blamed', async () => {
  const { resolver, authorities, probe } = await startZone()
  for (const server of [resolver, ...authorities]) server.set('shop.customer.test', 'CNAME', 'old.dead-saas.test')
  resolver.set('old.dead-saas.test', 'A', '192.0.2.9')
  resolver.set('dead-saas.test', 'DS', 'key')
  resolver.behave('shop.customer.test', { bogus: true, only: ['A', 'AAAA'] })
  resolver.behave('old.dead-saas.test', { bogus: true })
  const [report, destination] = await Promise.all([probe.check(shop, NO_PROOF), probe.leadsToEdge(shop)])
  expect([report.state, destination.kind]).toEqual(['dnssec-bogus', 'unknown'])
  expect(report.sentence).toMatch(
    /CNAME record named "shop" in the DNS of customer\.test leads to "old\.dead-saas\.test", .*: change it to "edge/,
  )
})

test.each([
  ['customer.test', 'shop.customer.test', 'at your domain registrar'],
  ['eu.customer.test', 'shop.eu.customer.test', 'in the DNS of customer.test'],
])('signatures that %s does not have, though its parent says so, are told from wrong ones', async (zone, hostname, where) => {
  const resolver = keep(await startDnsServer({ role: 'resolver', zones: ['test', zone] }))
  resolver.set(hostname, 'CNAME', EDGE)
  resolver.set(zone, 'DS', 'key')
  for (const name of [hostname, zone]) resolver.behave(name, { bogus: true })
  const check = async () =>
    (await probeAt([resolver]).check(parseHostname(hostname), NO_PROOF)) as { state: string; sentence: string; zone: string }
  expect(await check()).toMatchObject({ state: 'dnssec-bogus', zone })
  expect((await check()).sentence).toContain(`is on for ${zone} ${where}, but its DNS provider does not sign`)
  resolver.set(zone, 'DNSKEY', 'key')
  expect((await check()).sentence).toContain(`The signatures of the DNS answers of ${zone} (DNSSEC) are not valid`)
})

test('a CNAME that was changed since the resolver saw it verifies, though its old target is dead', async () => {
  const { resolver, authorities, probe } = await startZone()
  resolver.set('shop.customer.test', 'CNAME', 'old.dead-saas.test')
  for (const name of ['shop.customer.test', 'old.dead-saas.test']) resolver.behave(name, { bogus: true, only: ['A', 'AAAA'] })
  for (const authority of authorities) authority.set('shop.customer.test', 'CNAME', EDGE)
  expect((await probe.check(shop, NO_PROOF)).state).toBe('verified')
})

test('answers with a wrong id, question or source are not believed', async () => {
  const [resolver, stranger] = [await startResolver(), await startResolver()]
  const forge = (id: number, name: string, asked = name) =>
    dnsPacket.encode({
      type: 'response',
      id,
      questions: [{ name: asked, type: 'A' }],
      answers: [{ name, type: 'CNAME', ttl: 30, data: EDGE }],
    })
  let strangersSocket: Socket | undefined
  stranger.onQuery = (_query, _asker, socket) => {
    strangersSocket = socket
  }
  await probeAt([stranger]).check(shop, NO_PROOF)
  let forged = 0
  resolver.onQuery = (query, asker, socket) => {
    const { name } = query.questions![0]!
    socket.send(forge((query.id! + 1) % 65_536, name), asker.port, asker.address)
    socket.send(forge(query.id!, name, 'other.customer.test'), asker.port, asker.address)
    strangersSocket!.send(forge(query.id!, name), asker.port, asker.address)
    forged++
  }
  resolver.behave('*', { latencyMs: 100 })
  const report = await probeAt([resolver]).check(shop, NO_PROOF)
  expect([report.state, forged > 0]).toEqual(['absent', true])
})

test('a record that the resolver has not seen yet verifies when the authoritative servers have it', async () => {
  const { authorities, probe } = await startZone()
  for (const authority of authorities) authority.set('shop.customer.test', 'CNAME', EDGE)
  const report = await probe.check(shop, NO_PROOF)
  expect(report.state).toBe('verified')
  expect(report.found.at(-1)).toEqual({ name: EDGE, type: 'A', value: '127.0.0.10' })
  expect(await probe.leadsToEdge(shop)).toEqual({ kind: 'yes', addresses: ['127.0.0.10'] })
})

test('servers that disagree are named', async () => {
  const { authorities, probe } = await startZone()
  authorities[0]!.set('shop.customer.test', 'CNAME', EDGE)
  const report = await probe.check(shop, NO_PROOF)
  expect([report.state, report.sentence]).toEqual([
    'servers-disagree',
    expect.stringContaining('ns2.customer.test does not yet have the record'),
  ])
})

test('authoritative servers that nobody reaches leave the verdict to the resolver', async () => {
  const { authorities, probe } = await startZone()
  for (const authority of authorities) authority.behave('*', { drop: true })
  expect((await probe.check(shop, NO_PROOF)).state).toBe('absent')
})

test('what is absent is absent at the authoritative servers, and a record under the doubled name is found there', async () => {
  const { authorities, probe } = await startZone()
  for (const authority of authorities) authority.set('shop.customer.test.customer.test', 'CNAME', EDGE)
  const report = await probe.check(shop, NO_PROOF)
  expect([report.state, report.found[0]]).toEqual([
    'doubled-host',
    { name: 'shop.customer.test.customer.test', type: 'CNAME', value: EDGE },
  ])
})

test.each([
  ['a name whose challenge is delegated', 'shop.customer.test', 'Add a CNAME record named "shop"'],
  ['the apex', 'customer.test', 'Add an ALIAS or ANAME record named "@"'],
])('beside a wildcard record that leads to the edge %s is absent, not created with the domain twice', async (_, hostname, sentence) => {
  const { resolver, authorities, probe } = await startZone()
  for (const server of [resolver, ...authorities]) {
    server.set('*.customer.test', 'CNAME', EDGE)
    server.set('_acme-challenge.shop.customer.test', 'CNAME', 'label.acme.namesake.test') // so the wildcard record does not cover shop
  }
  const report = await probe.check(parseHostname(hostname), NO_PROOF)
  expect([report.state, report.sentence]).toEqual(['absent', expect.stringContaining(sentence)])
})

const ADD_BESIDE_WILDCARD = `Add a CNAME record named "shop" in the DNS of customer.test with the value "${EDGE}"`
const COUNT = '; the DNS of customer.test is what ns1.customer.test and ns2.customer.test say, and a record elsewhere has no effect'
const ANSWERS_AND_STAYS = 'the wildcard record ("*") answers for shop.customer.test'

test.each<[string, Parameters<DnsServer['set']>, string]>([
  ['wrong-target', ['*.customer.test', 'A', '192.0.2.1', '192.0.2.2'], `: at present ${ANSWERS_AND_STAYS}, and it may stay${COUNT}.`],
  ['wrong-target', ['*.customer.test', 'AAAA', '2001:db8::bad'], `: at present ${ANSWERS_AND_STAYS}, and it may stay${COUNT}.`],
  ['wrong-target', ['*.customer.test', 'CNAME', 'Old.example'], `: at present ${ANSWERS_AND_STAYS}, and it may stay${COUNT}.`],
  [
    'proxied',
    ['*.customer.test', 'A', '104.21.5.5'],
    `, set to "DNS only" (the grey cloud): at present ${ANSWERS_AND_STAYS} through Cloudflare's proxy, and it may stay${COUNT}.`,
  ],
  ['mixed-addresses', ['*.customer.test', 'A', '127.0.0.10', '192.0.2.1'], `: at present ${ANSWERS_AND_STAYS}, and it may stay${COUNT}.`],
  ['loop', ['*.customer.test', 'CNAME', 'shop.customer.test'], `: at present ${ANSWERS_AND_STAYS}, and it may stay${COUNT}.`],
])('where a wildcard record alone makes it %s (%j), a record of its own is to be added', async (state, record, rest) => {
  const { resolver, authorities, probe } = await startZone()
  for (const server of [resolver, ...authorities]) server.set(...record)
  const report = await probe.check(shop, NO_PROOF)
  expect(report).toMatchObject({ state, sentence: `${ADD_BESIDE_WILDCARD}${rest}`, evidence: { byWildcard: '*.customer.test' } })
  const [name, type, value] = record
  expect(report.expected).toEqual([{ name: shop, type: 'CNAME', value: EDGE }])
  expect(report.found[0]).toEqual({ name, type, value }) // as its owner finds it in the zone
  const unasked = await probeAt([resolver]).check(shop, NO_PROOF)
  expect([unasked.state, unasked.sentence]).toEqual([state, report.sentence])
})

test('a CNAME of a wildcard record to what cannot be resolved may stay, too', async () => {
  const { resolver, authorities, probe } = await startZone()
  for (const server of [resolver, ...authorities]) server.set('*.customer.test', 'CNAME', 'old.dead-saas.test')
  resolver.behave('old.dead-saas.test', { rcode: SERVER_FAILURE })
  resolver.behave('shop.customer.test', { rcode: SERVER_FAILURE, only: ['A', 'AAAA'] })
  const report = await probe.check(shop, NO_PROOF)
  expect([report.state, report.sentence]).toEqual([
    'unknown',
    `${ADD_BESIDE_WILDCARD}: at present ${ANSWERS_AND_STAYS}, and it may stay${COUNT}.`,
  ])
})

test.each<[string, Parameters<DnsServer['set']>[]]>([
  [
    'the same as the wildcard record',
    [
      ['*.customer.test', 'A', '192.0.2.1'],
      ['shop.customer.test', 'A', '192.0.2.1'],
    ],
  ],
  [
    'another than the wildcard record',
    [
      ['*.customer.test', 'A', '192.0.2.2'],
      ['shop.customer.test', 'A', '192.0.2.1'],
    ],
  ],
  [
    'the same as the wildcard record below it',
    [
      ['*.shop.customer.test', 'A', '192.0.2.1'],
      ['shop.customer.test', 'A', '192.0.2.1'],
    ],
  ],
])('a record of its own that says %s is to be removed', async (_, records) => {
  const { authorities, probe } = await startZone()
  for (const authority of authorities) for (const record of records) authority.set(...record)
  const report = await probe.check(shop, NO_PROOF)
  expect(report.sentence).toContain('points to 192.0.2.1, which is not ours: remove this record, then add')
})

test('addresses of an apex are compared at the authoritative servers too', async () => {
  const { resolver, authorities, probe } = await startZone()
  resolver.set('customer.test', 'A', '192.0.2.1')
  for (const authority of authorities) authority.set('customer.test', 'A', '127.0.0.10')
  expect((await probe.check(parseHostname('customer.test'), NO_PROOF)).state).toBe('verified')
})

test.each([
  ['IPv4', '127.0.0.14', '::1'],
  ['IPv6', '::1', '127.0.0.14'],
] as const)('a name server that answers over %s alone is heard, whatever stands first', async (_family, alive, dead) => {
  const resolver = await startResolver()
  const [parent] = (await startAuthorities([['test']])) as [DnsServer]
  keep(parent)
  const child = keep(await startDnsServer({ role: 'authority', zones: ['customer.test'], address: alive, port: parent.port }))
  child.set('shop.customer.test', 'CNAME', EDGE)
  resolver.set('test', 'NS', 'ns.test')
  resolver.set('ns.test', 'A', parent.address)
  parent.set('customer.test', 'NS', 'ns1.customer.test')
  for (const address of [alive, dead]) parent.set('ns1.customer.test', address.includes(':') ? 'AAAA' : 'A', address)
  for (const name of ['shop.customer.test', 'customer.test']) resolver.behave(name, { rcode: SERVER_FAILURE })
  const report = await probeAt([resolver], { authoritativePort: parent.port }).check(shop, NO_PROOF)
  const server = { name: 'ns1.customer.test', address: alive, says: 'verified' }
  expect([report.state, report.evidence]).toEqual(['verified', expect.objectContaining({ servers: [server] })])
})

test.each([
  ['still answer', undefined],
  ['answer no more', REFUSED],
])('after a move to another DNS provider the new servers are asked and named, while the old ones %s', async (_what, rcode) => {
  const resolver = await startResolver()
  const [parent, old, fresh] = (await startAuthorities([['test'], ['customer.test'], ['customer.test']])) as [
    DnsServer,
    DnsServer,
    DnsServer,
  ]
  for (const server of [parent, old, fresh]) keep(server)
  const servers = { test: ['ns.test', parent], 'customer.test': ['ns.old.test', old] } as const
  for (const [zone, [name, { address }]] of Object.entries(servers)) {
    resolver.set(zone, 'NS', name)
    resolver.set(name, 'A', address)
  }
  parent.set('customer.test', 'NS', 'ns.new.test')
  parent.set('ns.new.test', 'A', fresh.address)
  for (const server of [resolver, old, fresh]) server.set('shop.customer.test', 'CNAME', 'old.example')
  if (rcode) old.behave('*', { rcode })
  const probe = probeAt([resolver], { authoritativePort: parent.port })
  expect(await probe.check(shop, NO_PROOF)).toMatchObject({
    ...{ state: 'wrong-target', zone: 'customer.test', nameServers: ['ns.new.test'] },
    evidence: { servers: [{ name: 'ns.new.test', address: fresh.address, says: 'wrong-target' }] },
  })
  fresh.set('shop.customer.test', 'CNAME', EDGE)
  expect((await probe.check(shop, NO_PROOF)).state).toBe('verified')
  expect(parent.queries.filter(({ transport }) => transport === 'udp')).toHaveLength(1) // remembered
})

test('name servers that do not answer for the zone are a lame delegation', async () => {
  const resolver = await startResolver()
  const [parent, lame] = (await startAuthorities([['test'], ['unrelated.test']])) as [DnsServer, DnsServer]
  for (const server of [parent, lame]) keep(server)
  resolver.set('test', 'NS', 'ns.test')
  resolver.set('ns.test', 'A', parent.address)
  parent.set('customer.test', 'NS', 'ns1.customer.test')
  parent.set('ns1.customer.test', 'A', lame.address)
  for (const name of ['shop.customer.test', 'customer.test']) resolver.behave(name, { rcode: SERVER_FAILURE })
  const report = await probeAt([resolver], { authoritativePort: parent.port }).check(shop, NO_PROOF)
  expect([report.state, report.sentence]).toEqual([
    'lame-delegation',
    expect.stringContaining('at your domain registrar (ns1.customer.test) do not know it'),
  ])
})

test('a server that refuses beside one that answers does not matter', async () => {
  const { authorities, probe } = await startZone()
  authorities[0]!.behave('*', { rcode: REFUSED })
  authorities[1]!.set('shop.customer.test', 'CNAME', EDGE)
  expect((await probe.check(shop, NO_PROOF)).state).toBe('verified')
})

test('an answer that a resolver on the way gives in an authority’s place is no testimony', async () => {
  const resolver = await startResolver()
  resolver.set('customer.test', 'NS', 'ns1.customer.test')
  resolver.set('ns1.customer.test', 'A', resolver.address)
  const report = await probeAt([resolver], { authoritativePort: resolver.port }).check(shop, NO_PROOF)
  const server = { name: 'ns1.customer.test', address: resolver.address, says: 'silent' }
  expect([report.state, report.evidence]).toEqual(['absent', { zone: 'customer.test', servers: [server] }])
})

test('while a record is to be added, a check names the zone and its name servers, also where they were not asked', async () => {
  const resolver = await startResolver()
  resolver.set('customer.test', 'NS', 'Ada.ns.cloudflare.com', 'bob.ns.cloudflare.com')
  const probe = probeAt([resolver])
  const wanted = { zone: 'customer.test', nameServers: ['ada.ns.cloudflare.com', 'bob.ns.cloudflare.com'] }
  expect(await probe.check(shop, NO_PROOF)).toMatchObject({ state: 'absent', ...wanted })
  expect(await probe.check(parseClaimName('*.customer.test'), NO_PROOF)).toMatchObject(wanted)
  resolver.set('shop.customer.test', 'CNAME', 'elsewhere.example.net')
  expect(await probe.check(shop, NO_PROOF)).toMatchObject({ state: 'wrong-target', ...wanted })
  resolver.set('shop.customer.test', 'CNAME', EDGE)
  expect(await probe.check(shop, { proof: 'p', proofNeeded: true })).toMatchObject({ state: 'proof-needed', ...wanted })
  expect(await probe.check(shop, NO_PROOF)).toMatchObject({ state: 'verified', nameServers: [] })
})

test('a private address is never asked as an authority at port 53', async () => {
  const resolver = await startResolver()
  resolver.set('customer.test', 'NS', 'ns1.customer.test')
  resolver.set('ns1.customer.test', 'A', '127.0.0.1')
  const report = await probeAt([resolver]).check(shop, NO_PROOF)
  expect([report.state, report.evidence]).toEqual(['absent', { zone: 'customer.test', servers: [] }])
})

test('NSD as the authority of a delegated zone: followed from the parent, and verified', async () => {
  const resolver = await startResolver()
  const port = await freePort('127.0.0.12') // nobody has it at the next address either
  const delegation = 'customer NS ns.customer\nns.customer A 127.0.0.13\nns A 127.0.0.12'
  keep(await startNsd({ address: '127.0.0.12', port, zones: { test: { nameServers: ['ns.test'], records: delegation } } }))
  const records = `ns A 127.0.0.13\nshop CNAME ${EDGE}.\nold CNAME gone.example.`
  keep(await startNsd({ address: '127.0.0.13', port, zones: { 'customer.test': { nameServers: ['ns.customer.test'], records } } }))
  resolver.set('test', 'NS', 'ns.test')
  resolver.set('ns.test', 'A', '127.0.0.12')
  for (const name of ['shop.customer.test', 'old.customer.test', 'new.customer.test', 'customer.test'])
    resolver.behave(name, { rcode: SERVER_FAILURE })
  const probe = probeAt([resolver], { authoritativePort: port })
  const states = ['shop', 'old', 'new'].map(async (label) => (await probe.check(parseHostname(`${label}.customer.test`), NO_PROOF)).state)
  expect(await Promise.all(states)).toEqual(['verified', 'wrong-target', 'absent'])
})

test('pebble-challtestsrv, which gives one hop at a time, verifies and denies', async () => {
  const server = keep(await startChallengeTestServer())
  await server.command('set-default-ipv4', { ip: '' })
  await server.command('add-a', { host: `${EDGE}.`, addresses: ['127.0.0.10'] })
  await server.command('set-cname', { host: 'shop.customer.test.', target: `${EDGE}.` })
  await server.command('set-servfail', { host: 'broken.customer.test.' })
  const probe = probeAt([server])
  const names = ['shop', 'other', 'broken'].map((label) => parseHostname(`${label}.customer.test`))
  const reports = await Promise.all(names.map((name) => probe.check(name, NO_PROOF)))
  expect(reports.map((report) => report.state)).toEqual(['verified', 'absent', 'unknown'])
})

test('a hostname that needs proof is verified only with the proof of this project', async () => {
  const resolver = await startResolver()
  resolver.set('shop.customer.test', 'CNAME', EDGE)
  resolver.set('_namesake.shop.customer.test', 'TXT', 'proof-of-another')
  const probe = probeAt([resolver])
  const missing = await probe.check(shop, { proof: 'proof-of-mine', proofNeeded: true })
  expect([missing.state, missing.sentence]).toEqual([
    'proof-needed',
    expect.stringContaining(
      'the TXT record named "_namesake.shop" in the DNS of customer.test from "proof-of-another" to exactly "proof-of-mine"',
    ),
  ])
  expect(missing.expected.at(-1)).toEqual({ name: '_namesake.shop.customer.test', type: 'TXT', value: 'proof-of-mine' })
  resolver.set('_namesake.shop.customer.test', 'TXT', 'proof-of-another', 'proof-of-mine')
  expect((await probe.check(shop, { proof: 'proof-of-mine', proofNeeded: true })).state).toBe('verified')
})

test('a proof that the resolver has not seen yet counts when the authoritative servers have it', async () => {
  const { resolver, authorities, probe } = await startZone()
  resolver.set('shop.customer.test', 'CNAME', EDGE)
  for (const authority of authorities) {
    authority.set('shop.customer.test', 'CNAME', EDGE)
    authority.set('_namesake.shop.customer.test', 'TXT', 'proof-of-mine')
  }
  expect((await probe.check(shop, { proof: 'proof-of-mine', proofNeeded: true })).state).toBe('verified')
})

test('CAA records that forbid our authority are warned of, wherever they are up the tree', async () => {
  const resolver = await startResolver()
  resolver.set('shop.customer.test', 'CNAME', EDGE)
  const warningsWith = async (...values: string[]) => {
    resolver.set('customer.test', 'CAA', ...values)
    return (await probeAt([resolver], { caaIssuers: ['letsencrypt.org'] }).check(shop, NO_PROOF)).warnings
  }
  expect(await warningsWith('0 issue "digicert.com"')).toEqual([
    {
      kind: 'caa-forbids',
      sentence:
        'The CAA records of customer.test allow only digicert.com to issue certificates: add a CAA record named "@" in the DNS of customer.test with the value 0 issue "letsencrypt.org".',
    },
  ])
  expect(await warningsWith('0 issue ";"')).toHaveLength(1)
  expect(await warningsWith('0 issue "digicert.com"', '0 issue "LetsEncrypt.org; validationmethods=http-01"')).toEqual([])
  expect(await warningsWith('0 iodef "mailto:a@customer.test"')).toEqual([])
  expect(await warningsWith('0 issuewild ";"')).toEqual([])
  expect(await warningsWith('0 issue "letsencrypt.org"', '128 tbs "unknown"')).toEqual([
    {
      kind: 'caa-forbids',
      sentence:
        'The CAA records of customer.test (0 issue "letsencrypt.org", 128 tbs "unknown") have a critical property that certificate authorities do not understand, so none may issue: remove it, or its flag 128, in the DNS of customer.test.',
    },
  ])
})

test('CAA records that allow only challenges by which we do not prove control are warned of', async () => {
  const resolver = await startResolver()
  resolver.set('shop.customer.test', 'CNAME', EDGE)
  resolver.set('customer.test', 'CAA', '0 issue "letsencrypt.org; validationmethods=dns-01"')
  const probe = probeAt([resolver], { caaIssuers: ['letsencrypt.org'] })
  const delegation = { name: '_acme-challenge.shop.customer.test', value: 'label.acme.namesake.test' }
  const warnings = async (ownership = {}) => (await probe.check(shop, { ...NO_PROOF, ...ownership })).warnings
  const sentence =
    'The CAA records of customer.test allow certificates only where control is proven by dns-01, and here it is proven by http-01 or tls-alpn-01: add a CAA record named "@" in the DNS of customer.test with the value 0 issue "letsencrypt.org; validationmethods=http-01,tls-alpn-01".'
  expect(await warnings()).toEqual([{ kind: 'caa-forbids', sentence }])
  expect(await warnings({ delegation })).toEqual([{ kind: 'caa-forbids', sentence }])
  resolver.set(delegation.name, 'CNAME', delegation.value)
  expect(await warnings({ delegation })).toEqual([])
})

test.each(['0 issue "ca.example"', '128 tbs "unknown"'])('CAA records of our own edge host (%s) are for us to repair', async (record) => {
  const resolver = await startResolver()
  resolver.set('shop.customer.test', 'CNAME', EDGE)
  resolver.set(EDGE, 'CAA', record)
  const { warnings } = await probeAt([resolver], { caaIssuers: ['letsencrypt.org'] }).check(shop, NO_PROOF)
  const sentence = `The CAA records of ${EDGE}, which are ours, do not allow a certificate for shop.customer.test: we must repair them, and nothing is to be done about it.`
  expect(warnings).toEqual([{ kind: 'caa-forbids', sentence }])
})

test('AAAA records that lead elsewhere beside a right CNAME are warned of', async () => {
  const resolver = await startResolver()
  resolver.set('shop.customer.test', 'CNAME', EDGE)
  resolver.onQuery = (query) => {
    if (query.questions![0]!.type !== 'AAAA') return
    resolver.unset('shop.customer.test', 'CNAME')
    resolver.set('shop.customer.test', 'AAAA', '2001:db8::bad')
  }
  const report = await probeAt([resolver]).check(shop, NO_PROOF)
  expect([report.state, report.warnings.map((warning) => warning.kind)]).toEqual(['verified', ['aaaa-elsewhere']])
})

test('before an order: who asks at the same time shares one look-up; a yes is remembered, a no is looked at again', async () => {
  const resolver = await startResolver()
  const probe = probeAt([resolver])
  const answers = await Promise.all(Array.from({ length: 50 }, () => probe.leadsToEdge(shop)))
  expect(new Set(answers.map((answer) => answer.kind))).toEqual(new Set(['no']))
  expect(resolver.queries.filter((query) => query.name === shop && query.type === 'A')).toHaveLength(1)
  resolver.set('shop.customer.test', 'CNAME', EDGE)
  expect(await probe.leadsToEdge(shop)).toEqual({ kind: 'yes', addresses: ['127.0.0.10'] })
})

test('before an order: a target that differs in case leads to the edge', async () => {
  const resolver = await startResolver()
  resolver.set('shop.customer.test', 'CNAME', 'Edge.Namesake.test')
  expect(await probeAt([resolver]).leadsToEdge(shop)).toEqual({ kind: 'yes', addresses: ['127.0.0.10'] })
})

test('names under .localhost point here when the edge host does, without any DNS server', async () => {
  const silent = keep(await startDnsServer())
  const probe = probeAt([silent], { edgeHost: parseHostname('edge.localhost') })
  const hello = parseHostname('hello.localhost')
  expect((await probe.check(hello, { proof: 'x', proofNeeded: true })).state).toBe('verified')
  expect((await probe.leadsToEdge(hello)).kind).toBe('yes')
  expect(silent.queries).toEqual([])
})

test('a check that nobody waits for any more ends at once', async () => {
  const resolver = await startResolver()
  resolver.behave('*', { drop: true })
  const leaving = new AbortController()
  const checking = probeAt([resolver]).check(shop, NO_PROOF, leaving.signal)
  leaving.abort(new Error('the caller left'))
  await expect(checking).rejects.toThrow('the caller left')
})

const LABEL = `${'a'.repeat(40)}.acme.namesake.test`
const delegation = { name: '_acme-challenge.shop.customer.test', value: LABEL }

test.each([
  ['present', [LABEL], /is right/],
  ['present', ['Elsewhere.customer.test', LABEL.toUpperCase()], /is right/],
  [
    'elsewhere',
    ['other.acme.namesake.test'],
    /change the CNAME record named "_acme-challenge.shop" in the DNS of customer.test from "other.acme/,
  ],
  ['absent', [], /add a CNAME record named "_acme-challenge.shop" in the DNS of customer.test with the value "a/],
])('a delegated challenge is %s when its aliases are %j', async (state, targets, sentence) => {
  const resolver = await startResolver()
  let name = delegation.name
  for (const target of targets) {
    resolver.set(name, 'CNAME', target)
    name = target
  }
  const report = await probeAt([resolver]).check(shop, { ...NO_PROOF, delegation })
  expect(report.delegation).toMatchObject({ ...delegation, state, sentence: expect.stringMatching(sentence) })
})

test('the answer of a wildcard record is no delegation to be changed, while a record of its own that leads here is one', async () => {
  const resolver = await startResolver()
  const asked = { ...NO_PROOF, delegation }
  resolver.set('*.customer.test', 'CNAME', 'sites.hoster.example')
  expect((await probeAt([resolver]).check(shop, asked)).delegation).toMatchObject({
    state: 'absent',
    sentence: expect.stringMatching(
      /add a CNAME record named "_acme-challenge\.shop" .*, but give shop\.customer\.test a record of its own first/,
    ),
  })
  resolver.set(delegation.name, 'CNAME', EDGE)
  expect((await probeAt([resolver]).check(shop, asked)).delegation).toMatchObject({
    state: 'elsewhere',
    sentence: expect.stringContaining(`change the CNAME record named "_acme-challenge.shop" in the DNS of customer.test from "${EDGE}"`),
  })
})

test('what is left to add at a hostname that leads to the edge is for the zone that it is in, not for the registered domain', async () => {
  const resolver = await startResolver()
  const hostname = parseHostname('shop.eu.customer.test')
  resolver.set(hostname, 'CNAME', EDGE)
  resolver.set('customer.test', 'NS', 'ns.customer.test')
  resolver.set('eu.customer.test', 'NS', 'ns.eu-provider.test')
  const wanted = { name: `_acme-challenge.${hostname}`, value: LABEL }
  const report = await probeAt([resolver]).check(hostname, { proof: 'proof-of-mine', proofNeeded: true, delegation: wanted })
  expect(report).toMatchObject({ state: 'proof-needed', zone: 'eu.customer.test', nameServers: ['ns.eu-provider.test'] })
  expect(report.sentence).toContain('a TXT record named "_namesake.shop" in the DNS of eu.customer.test with the value')
  expect(report.delegation!.sentence).toContain('a CNAME record named "_acme-challenge.shop" in the DNS of eu.customer.test with')
})

test('the apex of a zone below the registered domain is told to keep its addresses, and where a forbidding CAA record is', async () => {
  const resolver = await startResolver()
  const hostname = parseHostname('eu.customer.test')
  resolver.set(hostname, 'A', '127.0.0.10')
  resolver.set(hostname, 'NS', 'ns.eu-provider.test')
  resolver.set(hostname, 'CAA', '0 issue "other.example"')
  const probe = probeAt([resolver], { caaIssuers: ['letsencrypt.org'] })
  const verified = await probe.check(hostname, NO_PROOF)
  expect(verified).toMatchObject({ state: 'verified', zone: 'eu.customer.test' })
  expect(verified.warnings[0]!.sentence).toContain('add a CAA record named "@" in the DNS of eu.customer.test')
  const unproven = await probe.check(hostname, { proof: 'proof-of-mine', proofNeeded: true })
  expect(unproven.expected.map(({ name, type }) => `${name} ${type}`)).toEqual([
    'eu.customer.test A',
    'eu.customer.test AAAA',
    '_namesake.eu.customer.test TXT',
  ])
})

test('a zone that cannot be resolved is not taken for a part of the one above it', async () => {
  const resolver = await startResolver()
  const hostname = parseHostname('shop.eu.customer.test')
  resolver.set(hostname, 'CNAME', EDGE)
  resolver.set('customer.test', 'NS', 'ns.customer.test')
  resolver.behave('eu.customer.test', { rcode: SERVER_FAILURE })
  const { nameServers, evidence } = await probeAt([resolver]).check(hostname, { proof: 'proof-of-mine', proofNeeded: true })
  expect([nameServers, evidence]).toEqual([[], expect.objectContaining({ zone: null })])
})

test('a delegation that the resolver remembers as absent is found at the authoritative server', async () => {
  const { authorities, probe } = await startZone(1)
  authorities[0]!.set(delegation.name, 'CNAME', LABEL)
  const report = await probe.check(shop, { ...NO_PROOF, delegation })
  expect([report.state, report.delegation!.state]).toEqual(['absent', 'present'])
})

test('nothing is said of a delegation that nobody asked for, and nothing is known when no server answers', async () => {
  const resolver = await startResolver()
  resolver.set('shop.customer.test', 'CNAME', EDGE)
  resolver.behave(delegation.name, { rcode: SERVER_FAILURE })
  const probe = probeAt([resolver])
  expect(await probe.check(shop, NO_PROOF)).not.toHaveProperty('delegation')
  expect((await probe.check(shop, { ...NO_PROOF, delegation })).delegation!.state).toBe('unknown')
})
