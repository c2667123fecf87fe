import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import dnsPacket, { type Packet } from 'dns-packet'
import { afterEach, expect, test } from 'vitest'
import { startAuthorities, startDnsServer } from '../../test/support/dns.ts'
import { parseHostname } from '../hostname.ts'
import { openBudget, wasKeptWaiting } from './budget.ts'
import { createExchange, type Exchange } from './exchange.ts'
import { createProbe, type Probe } from './probe.ts'
import { createResolver } from './resolver.ts'

const EDGE = 'edge.namesake.test'
const NO_PROOF = { proof: '', proofNeeded: false }
const shop = parseHostname('shop.customer.test')
const numbered = <T>(count: number, make: (n: number) => T): T[] => Array.from({ length: count }, (_, n) => make(n))

const stops: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop()
})

function startExchange(): Exchange {
  const exchange = createExchange()
  stops.push(exchange.close)
  return exchange
}

function probeAt(endpoint: string, authoritativePort = 53): Probe {
  const probe = createProbe({
    ...{ edgeHost: parseHostname(EDGE), edgeIps: ['127.0.0.10'], portalHosts: [], caaIssuers: [] },
    ...{ servers: [endpoint], authoritativePort },
  })
  stops.push(() => probe.close())
  return probe
}

/**
 * A resolver that remembers that the shop had no record, and says nothing of name servers under silent.test, which every other zone has. It is quick, as
 * thousands ask it at a time.
 */
async function startResolver(authority: string): Promise<{ endpoint: string; unanswered: () => number }> {
  let unanswered = 0
  const socket = createSocket({ type: 'udp4', recvBufferSize: 4_194_304 })
  socket.on('message', (bytes, { port, address }) => {
    const { id, questions } = dnsPacket.decode(bytes)
    const { name, type } = questions![0]!
    if (name.endsWith('.silent.test')) unanswered++
    else
      socket.send(
        dnsPacket.encode({ type: 'response', id: id!, flags: 0x80, questions: questions!, ...contentFor(name, type) }),
        port,
        address,
      )
  })
  const contentFor = (name: string, type: string): Partial<Packet> => {
    const zone = name.split('.').slice(-2).join('.')
    const [is, at] = [{ name, ttl: 30 }, `ns.${zone}`]
    if (name === EDGE && type === 'A') return { answers: [{ ...is, type, data: '127.0.0.10' }] }
    if (name === at && type === 'A') return { answers: [{ ...is, type, data: authority }] }
    if (name === zone && type === 'NS' && zone === 'customer.test') return { answers: [{ ...is, type, data: at }] }
    if (name === zone && type === 'NS' && zone !== 'test')
      return { answers: numbered(4, (n) => ({ ...is, type, data: `ns${n}.${zone.split('.')[0]}.silent.test` })) }
    const serials = { serial: 1, refresh: 1, retry: 1, expire: 1, minimum: 1 }
    return { authorities: [{ name: zone, type: 'SOA', ttl: 30, data: { mname: at, rname: at, ...serials } }] }
  }
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  stops.push(() => void socket.close())
  return { endpoint: `127.0.0.1:${socket.address().port}`, unanswered: () => unanswered }
}

test('a record that is right verifies beside hundreds of zones whose name servers cannot be found, and what could not be looked at is unknown', async () => {
  const [authority] = await startAuthorities([['customer.test']])
  stops.push(() => authority!.stop())
  authority!.set('shop.customer.test', 'CNAME', EDGE)
  const { endpoint, unanswered } = await startResolver(authority!.address)
  const probe = probeAt(endpoint, authority!.port)
  const others = numbered(600, (n) => probe.check(parseHostname(`a.h${n}.test`), { ...NO_PROOF, projectId: 'mallory' }))
  await expect.poll(unanswered).toBeGreaterThan(700)
  expect((await probe.check(shop, NO_PROOF)).state).toBe('verified')
  const found = (await Promise.all(others)).map(({ state, sentence }) => `${state}: ${sentence.slice(0, 12)}`)
  expect(new Set(found)).toEqual(new Set(['absent: Add a CNAME ', 'unknown: We have more']))
  // Their own servers took the time that they waited.
  expect((await Promise.all(others)).some(({ turnedAway }) => turnedAway)).toBe(false)
})

test('a check that finds no room at all is unknown, and sends nobody to their DNS provider', async () => {
  const { endpoint } = await startResolver('127.0.0.2')
  const probe = probeAt(endpoint)
  for (const n of numbered(4_000, Number)) void probe.caaOf(parseHostname(`h${n}.silent.test`))
  const delegation = { name: '_acme-challenge.shop.customer.test', value: 'abc.acme.namesake.test' }
  const [report, destination] = await Promise.all([probe.check(shop, { ...NO_PROOF, delegation }), probe.leadsToEdge(shop)])
  const sentence =
    'We have more hostnames to look at than we can at present, so we have not seen yet where shop.customer.test leads: nothing is to be done now, and we look again soon.'
  expect([report, destination]).toMatchObject([
    { state: 'unknown', sentence, turnedAway: true, evidence: { reason: 'busy' }, delegation: { state: 'unknown' } },
    { kind: 'unknown', sentence, turnedAway: true },
  ])
})

test('a look-up has a place at once while the questions of others wait, and theirs take turns', async () => {
  const { inPlace } = startExchange()
  const free = Promise.withResolvers<void>()
  const others = numbered(8, (n) => openBudget(`project-${n}`))
  let begun = 0
  const asked = others.flatMap((budget) =>
    numbered(300, () =>
      inPlace(budget, async () => {
        begun++
        await free.promise
        return 'heard'
      }),
    ),
  )
  expect(begun).toBe(8 + 1_000)
  const budget = openBudget()
  const first = inPlace(budget, () => free.promise)
  const second = inPlace(budget, async () => 'heard')
  free.resolve()
  await first
  expect(await second).toBe('heard')
  expect(new Set(await Promise.all(asked))).toEqual(new Set(['heard']))
  expect([budget, ...others].filter(wasKeptWaiting)).toEqual([])
  expect(await inPlace(openBudget(), async () => 'heard')).toBe('heard')
})

test('one project leaves places for the others beside the first of a look-up', async () => {
  const { inPlace } = startExchange()
  const free = Promise.withResolvers<void>()
  let begun = 0
  const ask = async () => {
    begun++
    await free.promise
  }
  const asked = numbered(1_000, () => openBudget('mallory')).flatMap((budget) => numbered(2, () => inPlace(budget, ask)))
  expect(begun).toBe(1_000 + 250)
  const budget = openBudget('alice')
  asked.push(...numbered(8, () => inPlace(budget, ask)))
  expect(begun).toBe(1_000 + 250 + 8)
  free.resolve()
  await Promise.all(asked)
})

test('a question that still waits for its place when the time of its look-up is over was not heard for want of places', async () => {
  const { inPlace } = startExchange()
  const free = Promise.withResolvers<void>()
  const others = numbered(8, (n) => openBudget(`project-${n}`))
  const asked = others.flatMap((budget) => numbered(300, () => inPlace(budget, () => free.promise)))
  const budget = { ...openBudget(), endsAt: performance.now() + 50 }
  asked.push(inPlace(budget, () => free.promise))
  expect(await inPlace(budget, async () => 'heard')).toBeUndefined()
  expect(wasKeptWaiting(budget)).toBe(true)
  free.resolve()
  await Promise.all(asked)
})

test('the time for an answer begins when the question has its place', async () => {
  const server = await startDnsServer()
  stops.push(() => server.stop())
  server.set('a.test', 'A', '192.0.2.1')
  server.behave('silent.test', { drop: true })
  const exchange = startExchange()
  const free = Promise.withResolvers<void>()
  const others = numbered(8, (n) => openBudget(`project-${n}`))
  const asked = others.flatMap((budget) => numbered(300, () => exchange.inPlace(budget, () => free.promise)))
  const resolver = createResolver([server], exchange)
  const budget = openBudget()
  // The first has all three tries, which is longer than any try of the second.
  const replies = await Promise.all(['silent.test', 'a.test'].map((name) => resolver.resolve({ name, type: 'A' }, budget)))
  expect(replies.map(({ kind }) => kind)).toEqual(['silent', 'answer'])
  expect(server.queries.map(({ name }) => name)).toEqual(['silent.test', 'silent.test', 'silent.test', 'a.test'])
  free.resolve()
  await Promise.all(asked)
})
