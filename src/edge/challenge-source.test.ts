import { beforeEach, expect, test } from 'vitest'
import { type Hostname, parseHostname } from '../hostname.ts'
import { createChallengeSource } from './challenge-source.ts'

const shop = parseHostname('shop.customer.com')
const other = parseHostname('other.customer.com')

let rows: { hostname: Hostname; keyAuthorization: string }[] | undefined
let made: string[]
let source: ReturnType<typeof createChallengeSource>

const put = (...pending: [Hostname, string][]) => {
  rows = pending.map(([hostname, keyAuthorization]) => ({ hostname, keyAuthorization }))
  source.changed()
}
const shown = async (hostname: Hostname) => (await source.challengeFor(hostname))?.certPem

beforeEach(() => {
  rows = []
  made = []
  source = createChallengeSource({
    readAll: () => rows,
    async certify(_hostname, keyAuthorization) {
      made.push(keyAuthorization)
      return { certPem: keyAuthorization, keyPem: 'key' }
    },
  })
})

test('a challenge is answered from the news of it to the news of its end', async () => {
  expect(source.arePending()).toBe(false)
  put([shop, 'one'])
  expect([source.arePending(), await shown(shop), await shown(other)]).toEqual([true, 'one', undefined])
  put()
  expect([source.arePending(), await shown(shop)]).toEqual([false, undefined])
})

test('a process that starts knows what is pending before anybody tells it', async () => {
  const late = createChallengeSource({
    readAll: () => [{ hostname: shop, keyAuthorization: 'one' }],
    certify: async () => ({ certPem: 'one', keyPem: 'key' }),
  })
  expect([late.arePending(), await late.challengeFor(shop)]).toEqual([true, { certPem: 'one', keyPem: 'key' }])
})

test('while the copy cannot be read what was pending stays so, and the next handshake looks again', async () => {
  put([shop, 'one'])
  rows = undefined
  source.changed()
  expect([source.arePending(), await shown(shop)]).toEqual([true, 'one'])
  rows = [{ hostname: other, keyAuthorization: 'two' }]
  expect([source.arePending(), await shown(shop), await shown(other)]).toEqual([true, undefined, 'two'])
})

test('a certificate is made when somebody comes for it, and once, whatever else changes', async () => {
  put([shop, 'one'], [other, 'two'])
  expect(made).toEqual([])
  await Promise.all([shown(shop), shown(shop)])
  put([shop, 'one'])
  await shown(shop)
  expect(made).toEqual(['one'])
})

test('of two challenges for one hostname the newer is answered, and the older again when the newer is gone', async () => {
  put([shop, 'one'], [shop, 'two'])
  expect(await shown(shop)).toBe('two')
  put([shop, 'one'])
  expect(await shown(shop)).toBe('one')
})
