import { afterEach, beforeEach, expect, test } from 'vitest'
import { type CustomerZone, EDGE_HOST, startCustomerZone } from '../../test/support/customer-zone.ts'
import { type DnsServer, startDnsServer } from '../../test/support/dns.ts'
import { parseHostname } from '../hostname.ts'

const SERVER_FAILURE = 2

let zone: CustomerZone
beforeEach(async () => {
  zone = await startCustomerZone()
})
afterEach(() => zone.stop())

const check = (hostname = 'shop.customer.test') => zone.probe.check(parseHostname(hostname), { proof: '', proofNeeded: false })

test.each([
  ['the address of a website', `https://${EDGE_HOST}`],
  ['the address of a page', `HTTPS://${EDGE_HOST}/shop`],
  ['a slash behind it', `${EDGE_HOST}/`],
  ['a port', `${EDGE_HOST}:443`],
  ['quotation marks', `"${EDGE_HOST}"`],
  ['a blank behind it', `${EDGE_HOST} `],
])('a value with %s is shown as it was entered, and to be the name alone', async (_, value) => {
  zone.set('shop.customer.test', 'CNAME', value)
  expect(await check()).toMatchObject({
    state: 'typo-in-target',
    sentence: `There is a typing mistake in a record: change the CNAME record named "shop" in the DNS of customer.test from "${value}" to "${EDGE_HOST}", with nothing before or after it.`,
  })
})

test.each([
  ['the address of a website', `https://${EDGE_HOST}/.customer.test`],
  ['a typing mistake', 'egde.namesake.test.shop.customer.test'],
])('a domain appended to %s is told, too', async (_, value) => {
  zone.set('shop.customer.test', 'CNAME', value)
  expect(await check()).toMatchObject({
    state: 'missing-final-dot',
    sentence: expect.stringContaining(`from "${value}" to "${EDGE_HOST}." with a dot at its end`),
  })
})

test.each(['io.customer.test', 'edge.customer.test', `${EDGE_HOST}.example.net`])(
  'a target of its own (%s) is no mistake of ours',
  async (value) => {
    zone.set('shop.customer.test', 'CNAME', value)
    expect((await check()).state).toBe('wrong-target')
  },
)

const DOUBLED = 'The record was created at shop.customer.test.customer.test, with the domain twice'
const RENAME = `name it "shop" in the DNS of customer.test, with the value "${EDGE_HOST}".`

test.each<[string, Parameters<DnsServer['set']>, string]>([
  ['a wildcard record, which may stay', ['*.customer.test', 'A', '192.0.2.1'], `${DOUBLED}: ${RENAME}`],
  [
    'an old record',
    ['shop.customer.test', 'A', '192.0.2.1'],
    `${DOUBLED}: remove the address record 192.0.2.1 of shop.customer.test and ${RENAME}`,
  ],
])('a record that was created with the domain twice is found beside %s', async (_, record, sentence) => {
  zone.set('shop.customer.test.customer.test', 'CNAME', EDGE_HOST)
  zone.set(...record)
  expect(await check()).toMatchObject({ state: 'doubled-host', sentence })
})

test('an apex whose record was created with the domain twice is told which kind of record it needs', async () => {
  zone.set('customer.test.customer.test', 'CNAME', EDGE_HOST)
  zone.set('customer.test', 'A', '192.0.2.1')
  const { state, sentence } = await check('customer.test')
  expect([state, sentence]).toEqual([
    'doubled-host',
    expect.stringMatching(/: remove it and the address record 192\.0\.2\.1 of customer\.test, then add an ALIAS/),
  ])
})

test('who has our IPv6 address beside an old IPv4 address is not told to go without IPv4', async () => {
  zone.set('customer.test', 'A', '192.0.2.1')
  zone.set('customer.test', 'AAAA', '2001:db8::10')
  expect(await check('customer.test')).toMatchObject({
    state: 'mixed-addresses',
    sentence: 'Replace the A record 192.0.2.1 of customer.test by an A record with 127.0.0.10.',
  })
})

test('who is to add a record is told which name servers count, since it may have been added at a DNS provider that the domain has left', async () => {
  const add = `Add a CNAME record named "shop" in the DNS of customer.test with the value "${EDGE_HOST}"`
  expect((await check()).sentence).toBe(
    `${add}; the DNS of customer.test is what ns1.customer.test and ns2.customer.test say, and a record elsewhere has no effect.`,
  )
})

test('name servers of which none answers are named, where no resolver knows the domain either', async () => {
  for (const server of zone.authorities) server.behave('*', { drop: true })
  for (const name of ['shop.customer.test', 'customer.test']) zone.resolver.behave(name, { rcode: SERVER_FAILURE, only: ['A', 'CNAME'] })
  expect(await check()).toMatchObject({
    state: 'unknown',
    sentence: expect.stringContaining(
      'name servers that are entered for customer.test at your domain registrar (ns1.customer.test and ns2.customer.test) give no answer for it',
    ),
  })
})

test('an outage at the DNS provider, whose name servers fail but know the domain, is not taken for a domain that was never set up there', async () => {
  for (const server of [zone.resolver, ...zone.authorities]) server.behave('shop.customer.test', { rcode: SERVER_FAILURE })
  expect(await check()).toMatchObject({
    state: 'unknown',
    sentence:
      'The name servers that are entered for customer.test at your domain registrar (ns1.customer.test and ns2.customer.test) give no answer for it: we look again soon, and if it stays so, ask your DNS provider, or enter the name servers of your DNS provider there.',
    evidence: { servers: [{ says: 'failed' }, { says: 'failed' }] },
  })
})

test.each([
  ['listens to no questions', 'unknown', false],
  ['serves another zone', 'lame-delegation', true],
])('a record of the type NS with the edge host, which %s, is to be removed', async (_, state, listens) => {
  const { port } = zone.authorities[0]!
  const edge = listens ? await startDnsServer({ role: 'authority', zones: ['acme.namesake.test'], address: '127.0.0.10', port }) : undefined
  zone.set('shop.customer.test', 'NS', EDGE_HOST)
  zone.resolver.behave('shop.customer.test', { rcode: SERVER_FAILURE })
  const report = await check()
  await edge?.stop()
  expect(report).toMatchObject({
    state,
    zone: 'customer.test',
    sentence: `shop.customer.test holds our address in an NS record, where it has no effect: remove it, then add a CNAME record named "shop" in the DNS of customer.test with the value "${EDGE_HOST}".`,
    expected: [{ name: 'shop.customer.test', type: 'CNAME', value: EDGE_HOST }],
  })
})

test.each<[string, Parameters<DnsServer['set']>[], RegExp]>([
  [
    'www.customer.test',
    [['customer.test', 'A', '127.0.0.10']],
    /^Add a CNAME record named "www" .*; the record of customer\.test is right, but www\.customer\.test needs/,
  ],
  [
    'customer.test',
    [['www.customer.test', 'CNAME', EDGE_HOST]],
    /^Add an ALIAS .*; the record of www\.customer\.test is right, but customer\.test needs one of its own\.$/,
  ],
  [
    'customer.test',
    [
      ['www.customer.test', 'CNAME', EDGE_HOST],
      ['customer.test', 'A', '192.0.2.1'],
    ],
    /^customer\.test points to 192\.0\.2\.1, .*; the record of www\.customer\.test is right, but customer\.test needs one of its own\.$/,
  ],
])('%s is told that it is a name of its own beside one with www, or without', async (hostname, records, sentence) => {
  for (const record of records) zone.set(...record)
  expect((await check(hostname)).sentence).toMatch(sentence)
})
