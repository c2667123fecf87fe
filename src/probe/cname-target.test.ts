import { afterEach, beforeEach, expect, test } from 'vitest'
import { type CustomerZone, EDGE_HOST, startCustomerZone } from '../../test/support/customer-zone.ts'
import type { DnsServer } from '../../test/support/dns.ts'
import { parseHostname } from '../hostname.ts'

const TARGET = parseHostname('customers.vendor.test')
const SHOP = 'shop.customer.test'
const SERVER_FAILURE = 2

type Records = Parameters<DnsServer['set']>[]

let zone: CustomerZone
beforeEach(async () => {
  zone = await startCustomerZone({ caaIssuers: ['ca.example'] })
  zone.set(TARGET, 'CNAME', EDGE_HOST)
})
afterEach(() => zone.stop())

const check = (hostname = SHOP, probe = zone.probe) =>
  probe.check(parseHostname(hostname), { proof: '', proofNeeded: false, cnameTarget: TARGET })
const setAll = (records: Records) => {
  for (const record of records) zone.set(...record)
}

test('a record to the vendor’s own name that leads to the edge host is right, and the customer reads of that name alone', async () => {
  zone.set(SHOP, 'CNAME', TARGET)
  expect(await check()).toMatchObject({
    state: 'verified',
    sentence: `The DNS of ${SHOP} is right: it leads to ${TARGET}.`,
    expected: [{ name: SHOP, type: 'CNAME', value: TARGET }],
    warnings: [],
  })
})

test.each<[string, Records]>([
  ['the edge host itself', [[SHOP, 'CNAME', EDGE_HOST]]],
  [
    'the edge host by way of another name',
    [
      [SHOP, 'CNAME', 'old.vendor.test'],
      ['old.vendor.test', 'CNAME', EDGE_HOST],
    ],
  ],
  ['the vendor’s name in other letters', [[SHOP, 'CNAME', 'Customers.Vendor.Test']]],
  ['the addresses of the edge', [[SHOP, 'A', '127.0.0.10']]],
])('a record that leads to %s stays right, and no fault is told', async (_, records) => {
  setAll(records)
  const { state, sentence, warnings } = await check()
  expect([state, warnings]).toEqual(['verified', []])
  expect(sentence).not.toContain(EDGE_HOST)
})

test.each<[string, string, Records, string]>([
  ['absent', SHOP, [], `named "shop" in the DNS of customer.test with the value "${TARGET}"`],
  ['wrong-target', SHOP, [[SHOP, 'CNAME', 'old.example']], `from "old.example" to "${TARGET}".`],
  ['wrong-case', SHOP, [[SHOP, 'CNAME', 'Edge.Namesake.Test']], `to "${TARGET}", written in lower-case letters`],
  ['typo-in-target', SHOP, [[SHOP, 'CNAME', 'custmoers.vendor.test']], `from "custmoers.vendor.test" to "${TARGET}".`],
  ['typo-in-target', SHOP, [[SHOP, 'CNAME', 'egde.namesake.test']], `from "egde.namesake.test" to "${TARGET}".`],
  ['missing-final-dot', SHOP, [[SHOP, 'CNAME', `${TARGET}.customer.test`]], `to "${TARGET}." with a dot at its end`],
  ['value-in-txt', SHOP, [[SHOP, 'TXT', TARGET]], `with the value "${TARGET}", instead of the TXT record`],
  [
    'doubled-host',
    SHOP,
    [[`${SHOP}.customer.test`, 'CNAME', TARGET]],
    `name it "shop" in the DNS of customer.test, with the value "${TARGET}".`,
  ],
  ['proxied', SHOP, [[SHOP, 'A', '104.21.5.5']], `as a CNAME with the value "${TARGET}".`],
  [
    'apex-not-pointing',
    'customer.test',
    [['customer.test', 'A', '192.0.2.1']],
    `ALIAS or ANAME record named "@" in the DNS of customer.test with the value "${TARGET}", or an A record with 127.0.0.10`,
  ],
])('%s of %s with %j names the vendor’s own name', async (state, hostname, records, words) => {
  setAll(records)
  const report = await check(hostname)
  expect([report.state, report.sentence]).toEqual([state, expect.stringContaining(words)])
  expect(JSON.stringify([report.sentence.replace(/from ".*?"/, ''), report.expected])).not.toContain(EDGE_HOST)
})

test('at a domain itself the alias names it, and addresses stay addresses', async () => {
  const { expected } = await check('customer.test')
  expect(expected.map(({ type, value }) => [type, value])).toEqual([
    ['A', '127.0.0.10'],
    ['AAAA', '2001:db8::10'],
  ])
  const without = await startCustomerZone({ edgeIps: [] })
  try {
    expect((await check('customer.test', without.probe)).expected).toEqual([{ name: 'customer.test', type: 'ALIAS', value: TARGET }])
  } finally {
    await without.stop()
  }
})

test('a target that its vendor’s DNS provider flattens leads here while all its addresses are the edge’s', async () => {
  zone.resolver.unset(TARGET, 'CNAME')
  zone.resolver.set(TARGET, 'A', '127.0.0.10')
  zone.resolver.set(TARGET, 'AAAA', '2001:db8::10')
  zone.set(SHOP, 'CNAME', TARGET)
  expect((await check()).state).toBe('verified')
  const shop = parseHostname(SHOP)
  expect(await zone.probe.leadsToEdge(shop, TARGET)).toEqual({ kind: 'yes', addresses: ['127.0.0.10', '2001:db8::10'] })
  zone.resolver.set(TARGET, 'AAAA', '2001:db8::bad')
  expect((await check()).state).toBe('cname-target-broken')
})

test('what the customer has just changed to it is seen at their own servers, before the resolver forgets', async () => {
  zone.resolver.unset(TARGET, 'CNAME')
  zone.resolver.set(TARGET, 'A', '127.0.0.10')
  zone.resolver.set(SHOP, 'CNAME', 'old.example')
  for (const authority of zone.authorities) authority.set(SHOP, 'CNAME', TARGET)
  expect((await check()).state).toBe('verified')
  zone.resolver.set(TARGET, 'AAAA', '2001:db8::bad')
  expect((await check()).state).toBe('cname-target-broken')
})

test.each<[string, Records]>([
  ['elsewhere', [[TARGET, 'CNAME', 'old.example']]],
  ['to our website', [[TARGET, 'CNAME', 'app.namesake.test']]],
  ['in a circle', [[TARGET, 'CNAME', SHOP]]],
  ['to a misspelt edge host', [[TARGET, 'CNAME', 'egde.namesake.test']]],
  ['to other addresses', [[TARGET, 'A', '192.0.2.1']]],
  ['nowhere', []],
])('a right record is left alone when the vendor’s own name leads %s, and no customer counts as having left', async (_, records) => {
  zone.resolver.unset(TARGET, 'CNAME')
  zone.set(SHOP, 'CNAME', TARGET)
  setAll(records)
  const sentence = `The record of ${SHOP} is right and nothing is to be done there: ${TARGET}, to which it leads, does not lead here at present, and whoever owns vendor.test must mend the record of ${TARGET}.`
  expect(await check()).toMatchObject({ state: 'cname-target-broken', sentence })
  expect(await zone.probe.leadsToEdge(parseHostname(SHOP), TARGET)).toEqual({ kind: 'unknown', sentence })
})

test('nor is it to be changed while nobody answers for that name', async () => {
  zone.resolver.unset(TARGET, 'CNAME')
  zone.set(SHOP, 'CNAME', TARGET)
  zone.resolver.behave(TARGET, { rcode: SERVER_FAILURE })
  zone.resolver.behave(SHOP, { rcode: SERVER_FAILURE, only: ['A', 'AAAA'] }) // as a resolver fails that cannot follow the alias
  const { state, sentence } = await check()
  expect(state).toBe('unknown')
  expect(sentence).toMatch(
    /^The record of shop\.customer\.test is right .*does not resolve at present, and if it stays so, whoever owns vendor\.test must mend/,
  )
})

test('CAA records at that name are for its owner to mend', async () => {
  zone.resolver.unset(TARGET, 'CNAME')
  zone.resolver.set(TARGET, 'A', '127.0.0.10')
  zone.resolver.set(TARGET, 'CAA', '0 issue "other.example"')
  zone.set(SHOP, 'CNAME', TARGET)
  const { warnings } = await check()
  expect(warnings).toEqual([
    {
      kind: 'caa-forbids',
      sentence: expect.stringContaining('whoever owns vendor.test must mend them, and nothing is to be done in the DNS of shop'),
    },
  ])
})

test('the vendor’s own name, claimed like any other, is told the edge host: it cannot lead to itself', async () => {
  zone.resolver.unset(TARGET, 'CNAME')
  expect((await check(TARGET)).expected).toEqual([{ name: TARGET, type: 'CNAME', value: EDGE_HOST }])
})
