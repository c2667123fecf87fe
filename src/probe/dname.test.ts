import { afterEach, beforeEach, expect, test } from 'vitest'
import { type CustomerZone, EDGE_HOST, startCustomerZone } from '../../test/support/customer-zone.ts'
import { startNsd } from '../../test/support/dns.ts'
import { freePort } from '../../test/support/ports.ts'
import { type Hostname, parseClaimName, parseHostname } from '../hostname.ts'
import { createProbe } from './probe.ts'

const SHOP = parseHostname('shop.eu.customer.test')
const NO_PROOF = { proof: '', proofNeeded: false }
const TWO_WAYS = `The DNAME record named "eu" in the DNS of customer.test leads all names below it to "other.test", so that ${SHOP} can have no record of its own: give shop.other.test a CNAME record with the value "${EDGE_HOST}", or remove the DNAME record, if no other name needs it, and add a CNAME record named "shop.eu" in the DNS of customer.test with the value "${EDGE_HOST}".`

let zone: CustomerZone
beforeEach(async () => {
  zone = await startCustomerZone()
  zone.set('eu.customer.test', 'DNAME', 'other.test')
})
afterEach(() => zone.stop())

const check = (hostname: Hostname = SHOP) => zone.probe.check(hostname, NO_PROOF)
const found = (...more: object[]) => [{ name: 'eu.customer.test', type: 'DNAME', value: 'other.test' }, ...more]

test('below a DNAME record that one is named, and no CNAME record that is not there', async () => {
  expect(await check()).toMatchObject({
    ...{ state: 'wrong-target', sentence: TWO_WAYS, found: found() },
    expected: [{ name: SHOP, type: 'CNAME', value: EDGE_HOST }],
  })
  zone.resolver.set('shop.other.test', 'A', '192.0.2.1')
  expect(await check()).toMatchObject({
    ...{ state: 'wrong-target', sentence: TWO_WAYS },
    found: found({ name: 'shop.other.test', type: 'A', value: '192.0.2.1' }),
  })
  zone.resolver.set('shop.other.test', 'CNAME', 'shop.other.test.cdn.cloudflare.net')
  expect((await check()).sentence).toBe(TWO_WAYS)
  zone.resolver.behave('shop.other.test', { rcode: 2 })
  zone.resolver.behave(SHOP, { rcode: 2 })
  expect(await check()).toMatchObject({ state: 'unknown', sentence: TWO_WAYS })
})

test('a hostname that a DNAME record leads here by another name is verified', async () => {
  zone.resolver.set('shop.other.test', 'CNAME', EDGE_HOST)
  const { state, found: seen } = await check()
  expect([state, seen.slice(0, 2)]).toEqual(['verified', found({ name: 'shop.other.test', type: 'CNAME', value: EDGE_HOST })])
})

test('servers that give the DNAME record alone are understood', async () => {
  for (const server of [zone.resolver, ...zone.authorities]) server.behave(SHOP, { dnameAlone: true })
  expect(await check()).toMatchObject({ state: 'wrong-target', sentence: TWO_WAYS, found: found() })
  zone.resolver.set('shop.other.test', 'CNAME', EDGE_HOST)
  expect((await check()).state).toBe('verified')
})

test('of several DNAME records the first is named, and where the last leads', async () => {
  zone.resolver.set('other.test', 'DNAME', 'third.test')
  expect((await check()).sentence).toMatch(
    /^The DNAME record named "eu" in .* to "other\.test", so .*: give shop\.third\.test a CNAME record/,
  )
})

test('a DNAME record that leads in a circle is to be removed', async () => {
  zone.set('eu.customer.test', 'DNAME', 'a.eu.customer.test')
  expect(await check()).toMatchObject({
    state: 'loop',
    sentence: `The DNAME record named "eu" in the DNS of customer.test leads ${SHOP} in a circle: remove it, then add a CNAME record named "shop.eu" in the DNS of customer.test with the value "${EDGE_HOST}".`,
  })
})

test('what proves a hostname and what delegates its challenges stand where the DNAME record leads', async () => {
  const delegation = { name: `_acme-challenge.${SHOP}`, value: 'label.acme.namesake.test' }
  const look = () => zone.probe.check(SHOP, { proof: 'namesake-proof-1', proofNeeded: true, delegation })
  zone.resolver.set('shop.other.test', 'CNAME', EDGE_HOST)
  const lacking = await look()
  expect(lacking.expected[1]).toEqual({ name: '_namesake.shop.other.test', type: 'TXT', value: 'namesake-proof-1' })
  expect(lacking.sentence).toContain('add a TXT record named "_namesake.shop" in the DNS of other.test with')
  expect(lacking.delegation).toMatchObject({
    state: 'absent',
    sentence: expect.stringContaining('"_acme-challenge.shop" in the DNS of other.test'),
  })
  zone.resolver.set('_namesake.shop.other.test', 'TXT', 'namesake-proof-1')
  zone.resolver.set('_acme-challenge.shop.other.test', 'CNAME', 'elsewhere.test')
  const elsewhere = await look()
  expect(elsewhere).toMatchObject({ state: 'verified', delegation: { state: 'elsewhere' } })
  expect(elsewhere.delegation?.sentence).toContain('change the CNAME record named "_acme-challenge.shop" in the DNS of other.test from')
  zone.resolver.set('_acme-challenge.shop.other.test', 'CNAME', delegation.value)
  expect((await look()).delegation?.state).toBe('present')
})

test('a wildcard below a DNAME record is told by its own name', async () => {
  const { sentence } = await check(parseClaimName('*.eu.customer.test'))
  expect(sentence).toContain('so that *.eu.customer.test can have no record of its own: give *.other.test a CNAME record')
})

test('a DNAME record of another name in an answer makes no alias', async () => {
  zone.set('shop.customer.test', 'CNAME', 'shop.eu.customer.test')
  const { sentence } = await check(parseHostname('shop.customer.test'))
  expect(sentence).toBe(`Change the CNAME record named "shop" in the DNS of customer.test from "${SHOP}" to "${EDGE_HOST}".`)
})

test('a DNAME record at the hostname itself, which leads names below it alone, is named', async () => {
  const at = 'eu.customer.test'
  expect(await check(parseHostname(at))).toMatchObject({
    state: 'absent',
    sentence: `The DNAME record named "eu" in the DNS of customer.test leads only names below ${at} to "other.test", and never ${at} itself: remove it, if no name below needs it, and add a CNAME record named "eu" in the DNS of customer.test with the value "${EDGE_HOST}".`,
    ...{ found: found(), expected: [{ name: at, type: 'CNAME', value: EDGE_HOST }] },
  })
  zone.set('customer.test', 'DNAME', EDGE_HOST)
  expect(await check(parseHostname('customer.test'))).toMatchObject({
    state: 'absent',
    sentence: `Add an ALIAS or ANAME record named "@" in the DNS of customer.test with the value "${EDGE_HOST}", or an A record with 127.0.0.10 and an AAAA record with 2001:db8::10 if your DNS provider has no such record: the DNAME record named "@" in the DNS of customer.test leads only names below customer.test to "${EDGE_HOST}", and never customer.test itself, and may stay.`,
  })
})

test('NSD, with the packets of a real server', async ({ onTestFinished }) => {
  const port = await freePort('127.0.0.14')
  const records = 'ns A 127.0.0.14\neu DNAME other.test.'
  const nsd = await startNsd({ address: '127.0.0.14', port, zones: { 'customer.test': { nameServers: ['ns.customer.test'], records } } })
  onTestFinished(nsd.stop)
  zone.resolver.set('customer.test', 'NS', 'ns.customer.test')
  zone.resolver.set('ns.customer.test', 'A', '127.0.0.14')
  zone.resolver.unset('eu.customer.test', 'DNAME')
  const settings = { edgeHost: parseHostname(EDGE_HOST), edgeIps: ['127.0.0.10'], portalHosts: [], caaIssuers: [] }
  const probe = createProbe({ ...settings, servers: [zone.resolver.endpoint], authoritativePort: port })
  onTestFinished(probe.close)
  expect(await probe.check(SHOP, NO_PROOF)).toMatchObject({ state: 'wrong-target', sentence: TWO_WAYS, found: found() })
  zone.resolver.set('shop.other.test', 'CNAME', EDGE_HOST)
  expect((await probe.check(SHOP, NO_PROOF)).state).toBe('verified')
})
