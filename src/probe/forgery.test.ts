import dnsPacket, { type Answer } from 'dns-packet'
import { afterEach, expect, test } from 'vitest'
import { type DnsServer, startAuthorities, startDnsServer } from '../../test/support/dns.ts'
import { parseHostname } from '../hostname.ts'
import { createProbe, type Probe } from './probe.ts'

const EDGE = 'edge.namesake.test'
const PROOF = { proof: 'namesake-proof-of-mallory', proofNeeded: true }
const NO_PROOF = { proof: '', proofNeeded: false }
const AUTHORITATIVE = 0x0400
const shop = parseHostname('shop.customer.test')

const stops: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop()
})

/** A resolver, and two authorities for customer.test. */
async function startZone(): Promise<{ resolver: DnsServer; authorities: DnsServer[]; probe: Probe }> {
  const resolver = await startDnsServer({ role: 'resolver', zones: ['test', 'namesake.test', 'customer.test'] })
  const authorities = await startAuthorities([['customer.test'], ['customer.test']])
  for (const server of [resolver, ...authorities]) stops.push(() => server.stop())
  resolver.set(EDGE, 'A', '127.0.0.10')
  resolver.set('customer.test', 'NS', 'ns1.customer.test', 'ns2.customer.test')
  for (const [n, authority] of authorities.entries()) resolver.set(`ns${n + 1}.customer.test`, 'A', authority.address)
  const probe = createProbe({
    ...{ edgeHost: parseHostname(EDGE), edgeIps: ['127.0.0.10'], portalHosts: [], caaIssuers: [] },
    ...{ servers: [resolver.endpoint], authoritativePort: authorities[0]!.port },
  })
  stops.push(() => probe.close())
  return { resolver, authorities, probe }
}

/** Answers over UDP before the server does, as who guesses the port and the id can. */
function forge(server: DnsServer, type: string, parts: { answers?: Answer[]; authorities?: Answer[]; additionals?: Answer[] }): void {
  const flags = parts.answers ? AUTHORITATIVE : 0
  server.onQuery = (query, asker, socket) => {
    if (query.questions![0]!.type !== type) return
    socket.send(
      dnsPacket.encode({ ...parts, type: 'response', id: query.id!, flags, questions: query.questions! }),
      asker.port,
      asker.address,
    )
  }
}

const asked = (server: DnsServer, transport: string) => server.queries.filter((query) => query.transport === transport).length
const alias: Answer = { name: 'shop.customer.test', type: 'CNAME', data: EDGE, ttl: 60 }
const proof: Answer = { name: '_namesake.shop.customer.test', type: 'TXT', data: PROOF.proof, ttl: 60 }

test('a proof that one forges over UDP proves nothing', async () => {
  const { resolver, authorities, probe } = await startZone()
  for (const server of [resolver, ...authorities]) server.set('shop.customer.test', 'CNAME', EDGE)
  forge(authorities[0]!, 'TXT', { answers: [proof] })
  expect((await probe.check(shop, PROOF)).state).toBe('proof-needed')
})

test('a record that one forges over UDP at all name servers verifies nothing', async () => {
  const { authorities, probe } = await startZone()
  for (const server of authorities) forge(server, 'A', { answers: [alias] })
  expect((await probe.check(shop, NO_PROOF)).state).toBe('absent')
})

test('nor does a forged referral to name servers of who forges it', async () => {
  const { authorities, probe } = await startZone()
  const port = authorities[0]!.port
  const own = await startDnsServer({ role: 'authority', zones: ['shop.customer.test'], address: '127.0.0.10', port })
  stops.push(() => own.stop())
  own.set('shop.customer.test', 'A', '127.0.0.10')
  for (const server of authorities) {
    forge(server, 'A', {
      authorities: [{ name: 'shop.customer.test', type: 'NS', data: 'ns.mallory.test', ttl: 60 }],
      additionals: [{ name: 'ns.mallory.test', type: 'A', data: own.address, ttl: 60 }],
    })
  }
  expect((await probe.check(shop, NO_PROOF)).state).toBe('absent')
  expect(asked(own, 'udp')).toBeGreaterThan(0)
})

test('what the name servers know before the resolver does is believed when they say it over TCP too', async () => {
  const { authorities, probe } = await startZone()
  for (const server of authorities) {
    server.set('shop.customer.test', 'CNAME', EDGE)
    server.set('_namesake.shop.customer.test', 'TXT', PROOF.proof)
  }
  expect((await probe.check(shop, PROOF)).state).toBe('verified')
  expect(authorities.every((server) => asked(server, 'tcp') > 0)).toBe(true)
})

test('also by one that stumbles over EDNS', async () => {
  const { authorities, probe } = await startZone()
  for (const server of authorities) {
    server.behave('*', { noEdns: true })
    server.set('shop.customer.test', 'CNAME', EDGE)
  }
  expect((await probe.check(shop, NO_PROOF)).state).toBe('verified')
})

test('one name server that can be asked over TCP suffices', async () => {
  const { authorities, probe } = await startZone()
  for (const server of authorities) server.set('shop.customer.test', 'CNAME', EDGE)
  authorities[0]!.behave('*', { noTcp: true })
  expect((await probe.check(shop, NO_PROOF)).state).toBe('verified')
})

test('where none can, it is unknown until the resolver knows', async () => {
  const { resolver, authorities, probe } = await startZone()
  for (const server of authorities) {
    server.behave('*', { noTcp: true })
    server.set('shop.customer.test', 'CNAME', EDGE)
  }
  const { state, sentence } = await probe.check(shop, NO_PROOF)
  expect([state, sentence]).toEqual(['unknown', expect.stringContaining('we look again soon')])
  resolver.set('shop.customer.test', 'CNAME', EDGE)
  expect((await probe.check(shop, NO_PROOF)).state).toBe('verified')
})

test('a wrong record is told without a question over TCP', async () => {
  const { authorities, probe } = await startZone()
  expect((await probe.check(shop, NO_PROOF)).state).toBe('absent')
  expect(authorities.map((server) => asked(server, 'tcp'))).toEqual([0, 0])
})

test("a stranger's name server sees none of the ports at which the resolver's answers are awaited", async () => {
  const { resolver, authorities, probe } = await startZone()
  const ports = { resolver: new Set<number>(), authority: new Set<number>() }
  resolver.onQuery = (_, asker) => void ports.resolver.add(asker.port)
  for (const server of authorities) server.onQuery = (_, asker) => void ports.authority.add(asker.port)
  for (let n = 0; n < 20; n++) await probe.check(shop, NO_PROOF)
  expect(ports.resolver.size).toBeGreaterThan(5)
  expect(ports.authority.size).toBeGreaterThan(5)
  expect([...ports.resolver].filter((port) => ports.authority.has(port))).toEqual([])
})
