import { afterEach, beforeEach, expect, test } from 'vitest'
import { type CustomerZone, EDGE_HOST, startCustomerZone } from '../../test/support/customer-zone.ts'
import { parseHostname } from '../hostname.ts'

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
