import { afterEach, beforeEach, expect, test } from 'vitest'
import { type CustomerZone, EDGE_HOST, PORTAL_HOST, startCustomerZone } from '../../test/support/customer-zone.ts'
import type { DnsServer } from '../../test/support/dns.ts'
import { parseHostname } from '../hostname.ts'

const TYPO = 'egde.namesake.test'

let zone: CustomerZone
beforeEach(async () => {
  zone = await startCustomerZone()
})
afterEach(() => zone.stop())

const check = (hostname: string) => zone.probe.check(parseHostname(hostname), { proof: '', proofNeeded: false })

test.each<[string, Parameters<DnsServer['set']>, string]>([
  ['typo-in-target', ['*.customer.test', 'CNAME', TYPO], `from "${TYPO}" to "${EDGE_HOST}".`],
  ['wrong-case', ['*.customer.test', 'CNAME', 'Edge.namesake.test'], 'in lower-case letters exactly like this.'],
  ['missing-final-dot', ['*.customer.test', 'CNAME', `${EDGE_HOST}.customer.test`], `to "${EDGE_HOST}." with a dot at its end`],
  ['target-is-portal', ['*.customer.test', 'CNAME', PORTAL_HOST], 'is our website'],
])('%s in a wildcard record is to be mended there (%j)', async (state, record, rest) => {
  zone.set(...record)
  const report = await check('shop.customer.test')
  expect(report).toMatchObject({ state, evidence: { byWildcard: '*.customer.test' } })
  expect(report.sentence).toMatch(/change the wildcard CNAME record named "\*" in the DNS of customer\.test from/i)
  expect(report.sentence).toContain(rest)
  expect(report.expected).toEqual([{ name: '*.customer.test', type: 'CNAME', value: EDGE_HOST }])
  expect(report.found[0]).toEqual({ name: '*.customer.test', type: 'CNAME', value: record[2] })
})

test('a wildcard record that is right is no news: what leads here is shown under the hostname', async () => {
  zone.set('*.customer.test', 'CNAME', EDGE_HOST)
  const { state, expected, found } = await check('shop.customer.test')
  expect([state, found[0]]).toEqual(['verified', expected[0]])
})

const checkBesideOthers = (hostname: string, ...sharedDomains: string[]) =>
  zone.probe.check(parseHostname(hostname), { proof: '', proofNeeded: false, sharedDomains })

test('where others are served in a domain, its wildcard record does not say whom a name is meant for: it needs a record of its own', async () => {
  zone.set('*.customer.test', 'CNAME', EDGE_HOST)
  const { state, sentence, expected, found } = await checkBesideOthers('login.customer.test', 'customer.test')
  expect([state, expected]).toEqual(['absent', [{ name: 'login.customer.test', type: 'CNAME', value: EDGE_HOST }]])
  expect(found[0]).toEqual({ name: '*.customer.test', type: 'CNAME', value: EDGE_HOST })
  expect(sentence).toBe(
    `Add a CNAME record named "login" in the DNS of customer.test with the value "${EDGE_HOST}": so far only the wildcard record ("*") leads login.customer.test here, which does not say for whom, as others are served in the same domain too; it may stay.`,
  )
  zone.set('login.customer.test', 'CNAME', EDGE_HOST)
  expect((await checkBesideOthers('login.customer.test', 'customer.test')).state).toBe('verified')
})

test('nor does one to which a DNAME record leads all names of that domain', async () => {
  zone.set('eu.customer.test', 'DNAME', 'other.test')
  zone.resolver.set('*.other.test', 'CNAME', EDGE_HOST)
  const { state, sentence } = await checkBesideOthers('login.eu.customer.test', 'eu.customer.test')
  expect(state).toBe('absent')
  expect(sentence).toBe(
    `Add a CNAME record named "login" in the DNS of other.test with the value "${EDGE_HOST}": so far only the wildcard record ("*") leads login.eu.customer.test here, which does not say for whom, as others are served in the same domain too; it may stay.`,
  )
  zone.resolver.set('login.other.test', 'CNAME', EDGE_HOST)
  expect((await checkBesideOthers('login.eu.customer.test', 'eu.customer.test')).state).toBe('verified')
})

test('so does a name several labels below, and one in the domain of others further down, but not one that a nearer wildcard record leads here', async () => {
  zone.set('*.customer.test', 'CNAME', EDGE_HOST)
  expect((await checkBesideOthers('login.eu.customer.test', 'customer.test')).state).toBe('absent')
  expect((await checkBesideOthers('login.eu.customer.test', 'eu.customer.test')).state).toBe('absent')
  zone.set('*.eu.customer.test', 'CNAME', EDGE_HOST)
  expect((await checkBesideOthers('login.eu.customer.test', 'customer.test')).state).toBe('verified')
})

test('a server that answers for every name there is has no wildcard record', async () => {
  for (const name of ['*.customer.test', '*.invalid']) zone.set(name, 'CNAME', EDGE_HOST)
  expect((await checkBesideOthers('login.customer.test', 'customer.test')).state).toBe('verified')
})

test('where a proof is wanted too, below which no wildcard record answers, a mistake in one leaves the hostname to have its own', async () => {
  zone.set('*.customer.test', 'CNAME', TYPO)
  const { expected } = await zone.probe.check(parseHostname('shop.customer.test'), { proof: 'namesake-proof-1', proofNeeded: true })
  expect(expected.map(({ name }) => name)).toEqual(['shop.customer.test', '_namesake.shop.customer.test'])
})

test.each([
  ['*.customer.test', '"*"'],
  ['*.eu.customer.test', '"*.eu"'],
])('the wildcard record %s, which answers over several labels, is named by its own name', async (wildcard, label) => {
  zone.set(wildcard, 'CNAME', TYPO)
  expect((await check('shop.eu.customer.test')).sentence).toContain(`wildcard CNAME record named ${label} in the DNS of customer.test`)
  zone.set(wildcard, 'CNAME', 'elsewhere.example')
  expect((await check('shop.eu.customer.test')).sentence).toContain(`at present the wildcard record (${label}) answers`)
})

test('the wildcard record that answers for the target of a right one is named', async () => {
  zone.set('shop.customer.test', 'CNAME', 'shops.customer.test')
  zone.set('*.customer.test', 'CNAME', TYPO)
  const { sentence, found } = await check('shop.customer.test')
  expect(sentence).toContain('wildcard CNAME record named "*" in the DNS of customer.test')
  expect(found.map(({ name }) => name).slice(0, 2)).toEqual(['shop.customer.test', '*.customer.test'])
})

test.each(['Edge.namesake.test', TYPO])(
  'a mistake in a record of its own beside a right wildcard record is named there (%s)',
  async (value) => {
    zone.set('*.customer.test', 'CNAME', EDGE_HOST)
    zone.set('shop.customer.test', 'CNAME', value)
    expect((await check('shop.customer.test')).sentence).toContain(`CNAME record named "shop" in the DNS of customer.test from "${value}"`)
  },
)
