import { afterEach, beforeEach, expect, test } from 'vitest'
import { type CustomerZone, EDGE_HOST, startCustomerZone } from '../../test/support/customer-zone.ts'
import type { DnsServer } from '../../test/support/dns.ts'
import { parseHostname } from '../hostname.ts'

const PROOF = 'namesake-proof-22222222222222222222222222222222'
const OLD = 'namesake-proof-11111111111111111111111111111111'
const RIGHT = 'The record of shop.customer.test is right; to prove that the hostname is yours,'
const NAMED = 'named "_namesake.shop" in the DNS of customer.test'
const ADD = `${RIGHT} also add a TXT record ${NAMED} with the value "${PROOF}"`
const WANTED = '_namesake.shop.customer.test'

let zone: CustomerZone
beforeEach(async () => {
  zone = await startCustomerZone()
})
afterEach(() => zone.stop())

const check = (more = {}) => zone.probe.check(parseHostname('shop.customer.test'), { proof: PROOF, proofNeeded: true, ...more })

test.each<[string, Parameters<DnsServer['set']>, string]>([
  ['an older value', [WANTED, 'TXT', OLD], `${RIGHT} change the TXT record ${NAMED} from "${OLD}" to exactly "${PROOF}".`],
  ['quotation marks', [WANTED, 'TXT', `"${PROOF}"`], `${RIGHT} change the TXT record ${NAMED} from ""${PROOF}"" to exactly "${PROOF}".`],
  ['upper case', [WANTED, 'TXT', PROOF.toUpperCase()], `${RIGHT} change the TXT record ${NAMED} from "${PROOF.toUpperCase()}" to`],
  [
    'its value in a CNAME record',
    [WANTED, 'CNAME', PROOF],
    `${RIGHT} replace the CNAME record ${NAMED} by a TXT record with the value "${PROOF}".`,
  ],
  ['the domain twice', [`${WANTED}.customer.test`, 'TXT', PROOF], `${ADD}, as the one at ${WANTED}.customer.test does not count for shop.`],
  [
    'the name of the domain',
    ['_namesake.customer.test', 'TXT', PROOF],
    `${ADD}, as the one at _namesake.customer.test does not count for shop.`,
  ],
  ['no name', ['customer.test', 'TXT', PROOF], `${ADD}, as the one at customer.test does not count for shop.`],
  ['a text of others', [WANTED, 'TXT', 'v=spf1 -all'], `${ADD}.`],
])('a proof with %s is told', async (_, record, sentence) => {
  zone.set('shop.customer.test', 'CNAME', EDGE_HOST)
  zone.set(...record)
  const report = await check()
  expect([report.state, report.sentence]).toEqual(['proof-needed', expect.stringContaining(sentence)])
  const shown = report.found.filter(({ name }) => name === record[0]).map(({ value }) => value)
  expect(shown).toEqual(record[2] === 'v=spf1 -all' ? [] : [record[2]])
  zone.set(WANTED, 'TXT', PROOF)
  zone.resolver.unset(WANTED, 'CNAME')
  expect((await check()).state).toBe('verified')
})

test('a hostname that lives by a wildcard record needs a record of its own beside the proof, which ends that', async () => {
  zone.set('*.customer.test', 'CNAME', EDGE_HOST)
  const owed = await check()
  expect(owed.found[0]).toMatchObject({ name: '*.customer.test' })
  expect(owed.expected.map(({ name }) => name)).toEqual(['shop.customer.test', WANTED])
  expect(owed.sentence).toBe(
    `${ADD}, and add a CNAME record named "shop" in the DNS of customer.test with the value "${EDGE_HOST}", because the wildcard record ("*") no longer answers for shop.customer.test then.`,
  )
  zone.set(WANTED, 'TXT', PROOF)
  expect((await check()).state).toBe('absent')
  zone.set('shop.customer.test', 'CNAME', EDGE_HOST)
  expect((await check()).state).toBe('verified')
})

test.each(['CNAME', 'A'] as const)(
  'whoever lives by a wildcard record (%s) is warned before a delegated challenge ends that',
  async (type) => {
    zone.set('*.customer.test', type, type === 'A' ? '192.0.2.1' : EDGE_HOST)
    const delegation = { name: '_acme-challenge.shop.customer.test', value: 'label.acme.namesake.test' }
    const warning = ', but give shop.customer.test a record of its own first: the wildcard record ("*") no longer answers for it then.'
    expect((await check({ delegation, proofNeeded: false })).delegation!.sentence).toContain(
      `with the value "label.acme.namesake.test"${warning}`,
    )
    zone.set('shop.customer.test', type, type === 'A' ? '192.0.2.1' : EDGE_HOST)
    expect((await check({ delegation, proofNeeded: false })).delegation!.sentence).toMatch(
      /with the value "label\.acme\.namesake\.test"\.$/,
    )
  },
)
