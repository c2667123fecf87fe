import { expect, onTestFinished, test } from 'vitest'
import { startAcmeStub } from '../../test/support/acme-stub.ts'
import { parseHostname } from '../hostname.ts'
import { createAcmeAuthority } from './acme-authority.ts'
import { generateAccountKey } from './keys.ts'

const DAY_MS = 86_400_000
const shop = parseHostname('shop.customer.example')
const accountKeyPem = await generateAccountKey()
const inTime = () => ({ signal: AbortSignal.timeout(15_000) })

test('a profile is ordered where the directory offers it, and left out elsewhere', async () => {
  const offering = await startAcmeStub({ profiles: { classic: 90, shortlived: 6 } })
  const plain = await startAcmeStub()
  onTestFinished(async () => void (await Promise.all([offering.stop(), plain.stop()])))
  for (const [stub, days] of [[offering, 6] as const, [plain, 90] as const]) {
    const { directoryUrl, caFile } = stub
    const { notBefore, notAfter } = await createAcmeAuthority({ directoryUrl, caFile, accountKeyPem, profile: 'shortlived' }).issue(
      shop,
      inTime(),
    )
    expect(notAfter.getTime() - notBefore.getTime()).toBe(days * DAY_MS)
  }
  expect([...offering.orders, ...plain.orders].map(({ profile }) => profile)).toEqual(['shortlived', undefined])
})

test.for([[null], ['shortlived'], [['shortlived']], [1]])(
  'profiles that cannot be read (%j) are not offered, and orders go on',
  async ([profiles]) => {
    const stub = await startAcmeStub()
    onTestFinished(() => stub.stop())
    const { newNonce, newAccount, newOrder } = Object.fromEntries(
      Object.entries({ newNonce: 'nonce', newAccount: 'account', newOrder: 'new-order' }).map(([name, step]) => [
        name,
        new URL(`/${step}`, stub.directoryUrl).href,
      ]),
    )
    stub.fail('directory', { kind: 'malformed', text: JSON.stringify({ newNonce, newAccount, newOrder, meta: { profiles } }) })
    await createAcmeAuthority({ directoryUrl: stub.directoryUrl, caFile: stub.caFile, accountKeyPem, profile: 'shortlived' }).issue(
      shop,
      inTime(),
    )
    expect(stub.orders.map(({ profile }) => profile)).toEqual([undefined])
  },
)
