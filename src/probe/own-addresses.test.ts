import { afterEach, beforeEach, expect, test } from 'vitest'
import { type CustomerZone, EDGE_HOST, startCustomerZone } from '../../test/support/customer-zone.ts'
import { startDnsServer } from '../../test/support/dns.ts'
import { parseHostname } from '../hostname.ts'
import { createExchange } from './exchange.ts'
import { learnOwnAddresses, noAddressesYet, ownAddresses, whoseIs } from './own-addresses.ts'
import { createResolver } from './resolver.ts'

const APEX = parseHostname('customer.test')
const SHOP = parseHostname('shop.customer.test')
const TARGET = parseHostname('vendor.test')
const FAILS = { rcode: 2 }
const OURS_TO_MEND = `We cannot see at present where ${APEX} leads, as we get no answer for ${EDGE_HOST}, which is ours to mend: nothing is to be done now, and we look again soon.`

let zone: CustomerZone
beforeEach(async () => {
  zone = await startCustomerZone({ edgeIps: [] })
  zone.resolver.set(EDGE_HOST, 'AAAA', '2001:db8::10')
})
afterEach(() => zone.stop())

const check = (hostname = APEX) => zone.probe.check(hostname, { proof: '', proofNeeded: false, cnameTarget: TARGET })

test.each([
  ['the IPv6 addresses of the edge host cannot be looked up', { ...FAILS, only: ['AAAA' as const] }],
  ['the IPv4 addresses of the edge host cannot be looked up', { ...FAILS, only: ['A' as const] }],
  ['the edge host cannot be looked up', FAILS],
  ['the edge host has no address at all', 'none' as const],
])('while %s, nobody is told to remove records that may lead to it', async (_, behaviour) => {
  zone.set(APEX, 'A', '127.0.0.10')
  zone.set(APEX, 'AAAA', '2001:db8::10')
  zone.set(SHOP, 'CNAME', TARGET)
  zone.resolver.set(TARGET, 'A', '127.0.0.10')
  zone.resolver.set(TARGET, 'AAAA', '2001:db8::10')
  if (behaviour === 'none') for (const type of ['A', 'AAAA'] as const) zone.resolver.unset(EDGE_HOST, type)
  else zone.resolver.behave(EDGE_HOST, behaviour)
  expect(await check()).toMatchObject({ state: 'unknown', sentence: OURS_TO_MEND, warnings: [] })
  expect(await zone.probe.leadsToEdge(APEX)).toEqual({ kind: 'unknown', sentence: OURS_TO_MEND })
  expect((await check(SHOP)).state).toBe('unknown')
})

test('a record that only the customer’s own servers have yet, and that may be right, is not told as absent', async () => {
  zone.resolver.behave(EDGE_HOST, FAILS)
  for (const authority of zone.authorities) authority.set(APEX, 'A', '127.0.0.10')
  expect(await check()).toMatchObject({ state: 'unknown', sentence: OURS_TO_MEND })
})

test('nor are name servers told as broken that have answered the resolver, though not us', async () => {
  zone.resolver.behave(EDGE_HOST, FAILS)
  zone.resolver.set(APEX, 'A', '127.0.0.10')
  for (const authority of zone.authorities) authority.behave('*', { rcode: 5 })
  expect(await check()).toMatchObject({ state: 'unknown', sentence: OURS_TO_MEND })
})

test('an IPv6 address beside a right CNAME is not to be removed while nobody knows whose it is', async () => {
  zone.resolver.behave(EDGE_HOST, { ...FAILS, only: ['AAAA'] })
  zone.set(SHOP, 'CNAME', EDGE_HOST)
  zone.resolver.onQuery = ({ questions }) => {
    if (questions![0]!.name !== SHOP || questions![0]!.type !== 'AAAA') return
    zone.resolver.unset(SHOP, 'CNAME')
    zone.resolver.set(SHOP, 'AAAA', '2001:db8::10')
  }
  const { state, warnings, found } = await check(SHOP)
  expect([state, warnings]).toEqual(['verified', []])
  expect(found).toContainEqual({ name: SHOP, type: 'AAAA', value: '2001:db8::10' })
})

test('an address of a family that is known is judged by it, also while the other family is not', async () => {
  zone.resolver.behave(EDGE_HOST, { ...FAILS, only: ['AAAA'] })
  zone.set(APEX, 'A', '127.0.0.10')
  expect((await check()).state).toBe('verified')
  zone.set(APEX, 'A', '192.0.2.1')
  zone.set(APEX, 'AAAA', '2001:db8::10')
  const { state, sentence } = await check()
  expect(state).toBe('apex-not-pointing')
  expect(sentence).toMatch(/^customer\.test points to 192\.0\.2\.1, which is not ours: remove this record, then/)
})

test('each family is kept until it is answered for again, and no records are an answer', async () => {
  const server = await startDnsServer({ role: 'resolver', zones: ['test'] })
  const exchange = createExchange()
  const edge = { host: EDGE_HOST, isLocal: false, addresses: new Set<string>(), ours: noAddressesYet() }
  // A resolver of its own each time, as one remembers what it was told.
  const learn = () => learnOwnAddresses(edge, createResolver([server], exchange))
  const whose = () => ['127.0.0.10', '2001:db8::10'].map((address) => whoseIs(address, edge))
  server.set(EDGE_HOST, 'A', '127.0.0.10')
  server.set(EDGE_HOST, 'AAAA', '2001:db8::10')
  server.behave(EDGE_HOST, { ...FAILS, only: ['AAAA'] })
  await learn()
  expect(whose()).toEqual(['ours', 'unknown'])
  server.behave(EDGE_HOST, {})
  await learn()
  expect(whose()).toEqual(['ours', 'ours'])
  server.behave(EDGE_HOST, { ...FAILS, only: ['AAAA'] })
  server.set(EDGE_HOST, 'A', '127.0.0.11')
  await learn()
  expect(whose()).toEqual(['elsewhere', 'ours'])
  server.behave(EDGE_HOST, {})
  server.unset(EDGE_HOST, 'AAAA')
  await learn()
  expect(whose()).toEqual(['elsewhere', 'elsewhere'])
  expect(whoseIs('127.0.0.11', edge)).toBe('ours')
  exchange.close()
  await server.stop()
})

test('addresses that the operator has set are all there are', () => {
  const edge = { ours: ownAddresses(['127.0.0.10']) }
  expect(['127.0.0.10', '2001:db8::10'].map((address) => whoseIs(address, edge))).toEqual(['ours', 'elsewhere'])
})
