import { expect, test, vi } from 'vitest'
import { type Hostname, parseClaimName, parseHostname, wildcardOver } from '../hostname.ts'
import { createAddressSet } from '../lib/addresses.ts'
import { type CertificateKnowledge, createCertificateSource } from './certificate-source.ts'
import type { WaitingClient } from './tls.ts'

const shop = parseHostname('shop.customer.com')
const certificate = { id: '1', leafPem: 'leaf', issuersPem: '', keyPem: 'key', notAfterMs: 2_000 }

const inHand = (one: typeof certificate): CertificateKnowledge => ({ certificate: { notAfterMs: one.notAfterMs, open: () => one } })

function source(served = true, names: (hostname: Hostname) => Iterable<Hostname> = (hostname) => [hostname]) {
  const copy = new Map<Hostname, CertificateKnowledge>()
  const asked: Hostname[] = []
  let refusal: string | undefined
  let stored: Promise<void> | undefined
  let nowMs = 1_000
  let passedMs = 0
  const made = createCertificateSource({
    read: (hostname) => copy.get(hostname) ?? {},
    servedBy: (hostname) => (served ? names(hostname) : []),
    async requestIssuance(hostname) {
      asked.push(hostname)
      await stored
      return refusal ? { kind: 'refused', reason: refusal } : { kind: 'requested' }
    },
    now: () => nowMs,
    steadyNow: () => passedMs,
    trustedProxies: createAddressSet(['192.0.2.200']),
  })
  const refuse = (reason: string) => {
    refusal = reason
  }
  const storeUntil = (end: Promise<void>) => {
    stored = end
  }
  const setClock = (ms: number) => {
    nowMs = ms
  }
  const wait = (ms: number) => {
    nowMs += ms
    passedMs += ms
  }
  return { made, copy, asked, refuse, storeUntil, setClock, wait }
}

const from = (address: string, onceGone: WaitingClient['onceGone'] = () => {}): WaitingClient => ({ address, onceGone })
const turn = () => new Promise((resolve) => setImmediate(resolve))

test('a certificate in the local copy is answered at once', () => {
  const { made, copy } = source()
  copy.set(shop, inHand(certificate))
  expect(made.certificateFor(shop, from('192.0.2.1'))).toMatchObject({ kind: 'certificate', id: '1' })
})

test('a changed certificate replaces the remembered one', async () => {
  const { made, copy } = source()
  copy.set(shop, inHand(certificate))
  await made.certificateFor(shop, from('192.0.2.1'))
  copy.set(shop, inHand({ ...certificate, id: '2' }))
  made.changed(shop)
  expect(made.certificateFor(shop, from('192.0.2.1'))).toMatchObject({ id: '2' })
})

test('fifteen thousand hostnames are read from the copy once, in whatever order they are visited', () => {
  const { made, copy } = source()
  const names = Array.from({ length: 15_000 }, (_, i) => parseHostname(`shop-${i}.customer.com`))
  for (const name of names) copy.set(name, inHand(certificate))
  for (const name of names) void made.certificateFor(name, from('192.0.2.1'))
  let reads = 0
  copy.get = () => {
    reads += 1
    return undefined
  }
  for (const name of names.reverse()) void made.certificateFor(name, from('192.0.2.1'))
  expect(reads).toBe(0)
})

test('of certificates that are far longer than authorities’ fewer are remembered', () => {
  const { made, copy } = source()
  const names = Array.from({ length: 1_500 }, (_, i) => parseHostname(`shop-${i}.customer.com`))
  const leafPem = 'l'.repeat(60_000) // one string: what counts is its length
  for (const name of names) copy.set(name, inHand({ ...certificate, leafPem }))
  for (const name of names) void made.certificateFor(name, from('192.0.2.1'))
  const read: Hostname[] = []
  copy.get = (name) => void read.push(name)
  for (const name of names.toReversed()) void made.certificateFor(name, from('192.0.2.1'))
  expect(1_500 - read.length).toBe(999)
})

test('where its own certificate cannot be opened a name shows its wildcard’s, and says why where there is none', async () => {
  const { made, copy } = source(true, (hostname) => [hostname, wildcardOver(hostname)!])
  const secret = new Error('made with a secret that is not among those given')
  const unopened = {
    certificate: {
      notAfterMs: 2_000,
      open() {
        throw secret
      },
    },
  }
  copy.set(shop, unopened)
  expect(() => made.certificateFor(shop, from('192.0.2.1'))).toThrow(secret)
  copy.set(wildcardOver(shop)!, inHand({ ...certificate, id: 'wildcard' }))
  expect(made.certificateFor(shop, from('192.0.2.1'))).toMatchObject({ kind: 'certificate', id: 'wildcard' })
})

test('news of a certificate whose key cannot be opened ends the wait of its handshakes, and nothing else', async () => {
  const { made, copy } = source()
  const answer = made.certificateFor(shop, from('192.0.2.1'))
  await turn()
  copy.get = () => {
    throw new Error('sealed with another key')
  }
  made.changed(shop)
  await expect(answer).rejects.toThrow('sealed with another key')
  expect(made.waiting()).toBe(0)
})

test('handshakes wait for the issuance and all get its certificate', async () => {
  const { made, copy } = source()
  const answers = Promise.all(Array.from({ length: 200 }, (_, i) => made.certificateFor(shop, from(`192.0.2.${i}`))))
  await turn()
  expect(made.waiting()).toBe(200)
  copy.set(shop, inHand(certificate))
  made.changed(shop)
  expect((await answers).every((answer) => answer.kind === 'certificate')).toBe(true)
  expect(made.waiting()).toBe(0)
})

test('a certificate that comes while the wish for it finds no answer ends the wait', async () => {
  const { made, copy, storeUntil } = source()
  storeUntil(new Promise(() => {}))
  const answer = made.certificateFor(shop, from('192.0.2.1'))
  await turn()
  made.changed(shop)
  await turn()
  expect(made.waiting()).toBe(1)
  copy.set(shop, inHand(certificate))
  made.changed(shop)
  expect(await answer).toMatchObject({ kind: 'certificate', id: '1' })
  expect(made.waiting()).toBe(0)
})

test('a failed issuance ends the wait with its reason, and nobody waits during the back-off', async () => {
  const { made, copy, asked } = source()
  const first = made.certificateFor(shop, from('192.0.2.1'))
  await turn()
  copy.set(shop, { failure: { reason: 'the CNAME points elsewhere', nextAttemptAtMs: 60_000 } })
  made.changed(shop)
  expect(await first).toEqual({ kind: 'refused', reason: 'the CNAME points elsewhere' })
  expect(made.certificateFor(shop, from('192.0.2.1'))).toEqual({ kind: 'refused', reason: 'the CNAME points elsewhere' })
  expect(asked).toHaveLength(1)
})

test('a hostname that is not registered is refused and nothing is asked for', async () => {
  const { made, asked } = source(false)
  expect(await made.certificateFor(shop, from('192.0.2.1'))).toMatchObject({ kind: 'refused', reason: 'not registered' })
  expect(asked).toHaveLength(0)
})

test('one client address can hold 20 waiting handshakes, all together 1,000', async () => {
  const { made } = source()
  const waits = Array.from({ length: 20 }, () => made.certificateFor(shop, from('192.0.2.1')))
  await turn()
  expect(await made.certificateFor(shop, from('192.0.2.1'))).toMatchObject({ kind: 'refused' })
  waits.push(...Array.from({ length: 980 }, (_, i) => made.certificateFor(shop, from(`10.0.0.${i}`))))
  await turn()
  expect(made.waiting()).toBe(1_000)
  expect(await made.certificateFor(shop, from('192.0.2.2'))).toMatchObject({ kind: 'refused' })
  made.reset()
  await Promise.all(waits)
})

test('an IPv6 network is one client, and a trusted proxy is many', async () => {
  const { made } = source()
  const waits = Array.from({ length: 20 }, (_, i) => made.certificateFor(shop, from(`2001:db8::${i}`)))
  await turn()
  expect(await made.certificateFor(shop, from('2001:db8::ffff'))).toMatchObject({ kind: 'refused' })
  waits.push(...Array.from({ length: 100 }, () => made.certificateFor(shop, from('192.0.2.200'))))
  await turn()
  expect(made.waiting()).toBe(120)
  made.reset()
  await Promise.all(waits)
})

test('where nobody else may wait the certificate is ordered all the same', async () => {
  const { made, asked } = source()
  const waits = Array.from({ length: 1_000 }, (_, i) => made.certificateFor(shop, from(`10.0.0.${i}`)))
  await turn()
  const late = Array.from({ length: 5 }, () => made.certificateFor(other, from('192.0.2.1')))
  expect((await Promise.all(late)).map(({ kind }) => kind)).toEqual(Array.from({ length: 5 }, () => 'refused'))
  expect(asked.filter((hostname) => hostname === other)).toHaveLength(1)
  made.reset()
  await Promise.all(waits)
})

test('who goes away leaves the seat to others', async () => {
  const { made } = source()
  let leave = () => {}
  const gone = (listener: () => void) => {
    leave = listener
  }
  const answer = made.certificateFor(shop, from('192.0.2.1', gone))
  await turn()
  expect(made.waiting()).toBe(1)
  leave()
  expect(await answer).toMatchObject({ kind: 'refused' })
  expect(made.waiting()).toBe(0)
})

const ended = { ...certificate, id: 'ended', notAfterMs: 999 }

test.each<[string, CertificateKnowledge, string]>([
  ['that cannot be asked for', inHand(ended), 'no way to the database'],
  ['in the back-off', { ...inHand(ended), failure: { reason: 'no', nextAttemptAtMs: 60_000 } }, ''],
])('a certificate that has ended is shown where there is no other: %s', async (_when, knowledge, refusal) => {
  const { made, copy, refuse } = source()
  copy.set(shop, knowledge)
  refuse(refusal)
  expect(await made.certificateFor(shop, from('192.0.2.1'))).toMatchObject({ kind: 'certificate', id: 'ended' })
})

test('one is waited for where the one in hand has ended, but not by everybody where it does not come', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  try {
    const { made, copy, asked, wait } = source()
    const visit = () => made.certificateFor(shop, from('192.0.2.1'))
    copy.set(shop, inHand(ended))
    const first = visit()
    await turn()
    expect(asked).toEqual([shop])
    await vi.advanceTimersByTimeAsync(10_000)
    expect(await first).toMatchObject({ id: 'ended' })
    expect(visit()).toMatchObject({ id: 'ended' })
    wait(60_000)
    const later = visit()
    await turn()
    copy.set(shop, inHand({ ...certificate, notAfterMs: 100_000 }))
    made.changed(shop)
    expect(await later).toMatchObject({ id: '1' })
  } finally {
    vi.useRealTimers()
  }
})

test("a wildcard's certificate goes before one's own that has ended", () => {
  const { made, copy, asked } = source(true, (hostname) => [hostname, wildcardOver(hostname)])
  copy.set(shop, inHand(ended))
  copy.set(wildcard, inHand(certificate))
  expect(made.certificateFor(shop, from('192.0.2.1'))).toMatchObject({ id: '1' })
  expect(asked).toEqual([])
})

test('what was refused is not asked for again at each visit, until there is news or some seconds are over', async () => {
  const { made, asked, refuse, wait } = source()
  refuse('it is not tried any more')
  const visit = () => made.certificateFor(shop, from('192.0.2.1'))
  for (let n = 0; n < 50; n += 1) expect(await visit()).toEqual({ kind: 'refused', reason: 'it is not tried any more' })
  expect(asked).toHaveLength(1)
  for (const again of [() => made.changed(shop), () => made.reset(), () => wait(5_000)]) {
    const before = asked.length
    again()
    await visit()
    expect(asked).toHaveLength(before + 1)
  }
})

test('a clock that is set back keeps nobody refused for longer', async () => {
  const { made, asked, refuse, setClock, wait } = source()
  refuse('a certificate cannot be asked for at the moment')
  const visit = () => made.certificateFor(shop, from('192.0.2.1'))
  await visit()
  setClock(-3_600_000)
  wait(5_000)
  await visit()
  expect(asked).toHaveLength(2)
})

test('who waits goes on waiting when all has to be looked at anew and there is nothing yet', async () => {
  const { made, copy } = source()
  const answer = made.certificateFor(shop, from('192.0.2.1'))
  for (let n = 0; n < 3; n += 1) {
    await turn()
    made.reset()
  }
  await turn()
  expect(made.waiting()).toBe(1)
  copy.set(shop, inHand(certificate))
  made.changed(shop)
  expect(await answer).toMatchObject({ kind: 'certificate' })
})

const wildcard = parseClaimName('*.customer.com')
const other = parseHostname('other.customer.com')

test("a wildcard's certificate is asked for and remembered once for all names that it covers", async () => {
  const { made, copy, asked } = source(true, () => [wildcard])
  const answers = Promise.all([shop, other, shop].map((hostname, i) => made.certificateFor(hostname, from(`192.0.2.${i}`))))
  await turn()
  copy.set(wildcard, inHand(certificate))
  made.changed(wildcard)
  expect(await answers).toMatchObject([{ id: '1' }, { id: '1' }, { id: '1' }])
  expect(new Set(asked)).toEqual(new Set([wildcard]))
  copy.clear()
  expect(made.certificateFor(parseHostname('third.customer.com'), from('192.0.2.9'))).toMatchObject({ id: '1' })
  made.changed(wildcard)
  expect(made.certificateFor(shop, from('192.0.2.9'))).toBeInstanceOf(Promise)
})

test("a name has its own certificate before its wildcard's, which stands in while there is none", async () => {
  const { made, copy, asked } = source(true, (hostname) => [hostname, wildcardOver(hostname)])
  copy.set(wildcard, inHand(certificate))
  copy.set(other, { failure: { reason: 'no', nextAttemptAtMs: 2_000 } })
  for (const hostname of [shop, other]) expect(made.certificateFor(hostname, from('192.0.2.1'))).toMatchObject({ id: '1' })
  copy.set(shop, inHand({ ...certificate, id: '2' }))
  made.changed(shop)
  expect(made.certificateFor(shop, from('192.0.2.1'))).toMatchObject({ id: '2' })
  expect(made.certificateFor(other, from('192.0.2.1'))).toMatchObject({ id: '1' })
  expect(asked).toEqual([])
})

test('nobody looks for the wildcard over a name that has a certificate', () => {
  const looked: Hostname[] = []
  const { made, copy } = source(true, function* (hostname) {
    yield hostname
    looked.push(hostname)
    yield wildcardOver(hostname)
  })
  copy.set(wildcard, inHand(certificate))
  copy.set(shop, inHand(certificate))
  for (const hostname of [shop, other]) expect(made.certificateFor(hostname, from('192.0.2.1'))).toMatchObject({ id: '1' })
  expect(looked).toEqual([other])
})

test("a wildcard's back-off does not keep a name from its own certificate", async () => {
  const { made, copy, asked } = source(true, (hostname) => [hostname, wildcardOver(hostname)])
  copy.set(wildcard, { failure: { reason: 'no', nextAttemptAtMs: 2_000 } })
  const answer = made.certificateFor(shop, from('192.0.2.1'))
  await turn()
  expect(asked).toEqual([shop])
  copy.set(shop, inHand(certificate))
  made.changed(shop)
  expect(await answer).toMatchObject({ id: '1' })
})
