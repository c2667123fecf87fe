import { createPrivateKey, X509Certificate } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { der, keyOf, type LinkOptions, makeLink, oddNumber, P521, rsa } from '../../test/support/chains.ts'
import { parseHostname } from '../hostname.ts'
import { readImported } from './imported.ts'

const HOSTNAME = parseHostname('shop.customer.com')
const NOW = new Date()
const PKCS8 = { type: 'pkcs8', format: 'pem' } as const

type Link = Awaited<ReturnType<typeof makeLink>>

let root: Link
let intermediate: Link
beforeAll(async () => {
  root = await makeLink('Root', undefined, { ca: true, untilDays: 3_650 })
  intermediate = await makeLink('Intermediate', root, { ca: true, untilDays: 1_000 })
})

async function makeLeaf(options: LinkOptions = {}, issuer: Link | undefined = intermediate) {
  const leaf = await makeLink('leaf', issuer, { names: [HOSTNAME], ...options })
  return { ...leaf, keyPem: keyOf(leaf).export(PKCS8) as string }
}

const read = (chain: string, key: string) => readImported(chain, key, HOSTNAME, NOW)

test('a whole chain is kept without its root, whatever stands around the certificates', async () => {
  const leaf = await makeLeaf()
  const imported = read(`Bag Attributes\r\n${leaf.pem}subject=x\n${intermediate.pem}${root.pem}${leaf.keyPem}`, leaf.keyPem)
  expect(imported.chainPem.match(/BEGIN CERTIFICATE/g)).toHaveLength(2)
  expect(imported.chainPem).not.toContain('PRIVATE')
  const { validToDate, serialNumber } = new X509Certificate(leaf.pem)
  expect(imported).toMatchObject({ issuer: 'CN=Intermediate', serial: serialNumber.toLowerCase(), notAfter: validToDate, warnings: [] })
})

test('an RSA key is taken too, in any form, and kept as PKCS #8', async () => {
  const leaf = await makeLeaf({ algorithm: rsa(2_048) })
  const pkcs1 = createPrivateKey(leaf.keyPem).export({ type: 'pkcs1', format: 'pem' }) as string
  expect(pkcs1).toContain('BEGIN RSA PRIVATE KEY')
  expect(read(leaf.pem + intermediate.pem, pkcs1).keyPem).toBe(leaf.keyPem)
})

test('a wildcard covers the names directly below it', async () => {
  const leaf = await makeLeaf({ names: ['*.customer.com'] })
  expect(read(leaf.pem + intermediate.pem, leaf.keyPem).warnings).toEqual([])
  expect(() => readImported(leaf.pem + intermediate.pem, leaf.keyPem, parseHostname('a.shop.customer.com'), NOW)).toThrow(/not for a\.shop/)
})

describe('refused', () => {
  const cases: [string, LinkOptions, RegExp][] = [
    ['another hostname', { names: ['other.customer.com'] }, /^the certificate is not for shop\.customer\.com: it has DNS:other/],
    ['no alternative names, though the subject fits', { names: [] }, /no alternative names/],
    ['an expired one', { fromDays: -9, untilDays: -1 }, /^the certificate CN=leaf expired at/],
    ['one of the future', { fromDays: 1 }, /^the certificate CN=leaf is not valid before/],
    ['a short RSA key', { algorithm: rsa(1_024) }, /RSA of 2048 to 4096 bits/],
    ['an RSA key that each handshake would take long with', { algorithm: rsa(4_608) }, /RSA of 2048 to 4096 bits/],
    ['a curve that browsers do not know', { algorithm: P521 }, /P-256 or P-384/],
    ['a certificate for clients', { usage: '1.3.6.1.5.5.7.3.2' }, /lacks serverAuth/],
  ]
  test.each(cases)('%s', async (_what, options, words) => {
    const leaf = await makeLeaf(options)
    expect(() => read(leaf.pem + intermediate.pem, leaf.keyPem)).toThrow(words)
  })

  test('a certificate whose exponent would take seconds to write out, and one of any length', async () => {
    const rsaKey = (modulus: number, exponent: number) =>
      der(
        ...([0x30, Buffer.from('300d06092a864886f70d0101010500', 'hex')] as const),
        der(0x03, Buffer.from([0]), der(0x30, oddNumber(modulus), oddNumber(exponent))),
      )
    const [leaf, large, long] = [
      await makeLeaf(),
      await makeLeaf({ publicKey: rsaKey(4_096, 150_000) }),
      await makeLeaf({ publicKey: rsaKey(4_096, 1_000_000) }),
    ]
    expect(() => read(large.pem + intermediate.pem, leaf.keyPem)).toThrow(/RSA of 2048 to 4096 bits/)
    expect(() => read(leaf.pem + long.pem, leaf.keyPem)).toThrow(/^the chain is longer than 65536 bytes: it has \d+$/)
  })

  test('a chain that is long because of many certificates, none of which is', async () => {
    const names = [HOSTNAME, ...Array.from({ length: 249 }, (_, i) => `${'n'.repeat(60)}${i}.customer.com`)]
    const leaf = await makeLeaf({ names })
    expect(read(leaf.pem + intermediate.pem, leaf.keyPem).chainPem.length).toBeGreaterThan(25_000)
    const wide = await makeLink('Wide', root, { ca: true, untilDays: 1_000, names })
    const wider = await makeLink('Wider', wide, { ca: true, untilDays: 1_000, names })
    const under = await makeLeaf({ names }, wider)
    expect(() => read(under.pem + wider.pem + wide.pem + root.pem, under.keyPem)).toThrow(/^the chain is longer than 65536 bytes/)
  })

  test('a certificate for more names, or longer, than authorities make any', async () => {
    const numbered = (count: number, name: string) => [HOSTNAME, ...Array.from({ length: count }, (_, i) => `${i}${name}`)]
    const [many, long] = [
      await makeLeaf({ names: numbered(250, '.test') }),
      await makeLeaf({ names: numbered(249, `.${'n.'.repeat(50)}test`) }),
    ]
    expect(() => read(many.pem + intermediate.pem, many.keyPem)).toThrow(/^the certificate is for more than 250 names: it has 251$/)
    expect(() => read(long.pem + intermediate.pem, long.keyPem)).toThrow(/^the certificate is longer than 32768 bytes: it has \d+$/)
  })

  test('a key of another certificate, and every fault at once', async () => {
    const [leaf, other] = [await makeLeaf(), await makeLeaf({ names: ['other.customer.com'], untilDays: -0.5 })]
    expect(() => read(leaf.pem + intermediate.pem, other.keyPem)).toThrow(/^the private key is not this certificate's$/)
    expect(() => read(other.pem + intermediate.pem, leaf.keyPem)).toThrow(/expired at .*; .* is not for .*; the private key/)
  })

  test('a chain in the wrong order, with a gap, or with a signature that is not the next one’s', async () => {
    const leaf = await makeLeaf()
    const impostor = await makeLink('Intermediate', root, { ca: true })
    const noAuthority = await makeLeaf({}, await makeLink('Intermediate', root))
    expect(() => read(intermediate.pem + leaf.pem, leaf.keyPem)).toThrow(/certificate 1 of the chain is not signed by certificate 2/)
    expect(() => read(leaf.pem + root.pem, leaf.keyPem)).toThrow(/certificate 1 of the chain is not signed/)
    expect(() => read(leaf.pem + impostor.pem, leaf.keyPem)).toThrow(/certificate 1 of the chain is not signed/)
    expect(() => read(noAuthority.pem + intermediate.pem, noAuthority.keyPem)).toThrow(/not signed/)
    expect(() => read(leaf.pem + intermediate.pem + leaf.pem, leaf.keyPem)).toThrow(
      /certificate 2 of the chain is not signed by certificate 3/,
    )
  })

  test('an expired intermediate', async () => {
    const expired = await makeLink('Expired', root, { ca: true, fromDays: -9, untilDays: -1 })
    const leaf = await makeLeaf({}, expired)
    expect(() => read(leaf.pem + expired.pem, leaf.keyPem)).toThrow(/^the certificate CN=Expired expired at/)
  })

  test('what is no PEM, is damaged, is encrypted, or is far too much', async () => {
    const leaf = await makeLeaf()
    const encrypted = createPrivateKey(leaf.keyPem).export({ ...PKCS8, cipher: 'aes-256-cbc', passphrase: 'x' }) as string
    expect(() => read('nonsense', leaf.keyPem)).toThrow(/no certificate in PEM/)
    expect(() => read(leaf.pem.replace(/\n[A-Za-z0-9+/]{20}/, '\n'), leaf.keyPem)).toThrow(/certificate 1 of the chain is damaged/)
    expect(() => read(leaf.pem, 'nonsense')).toThrow(/no private key in PEM/)
    expect(() => read(leaf.pem, leaf.pem)).toThrow(/no private key in PEM/)
    expect(() => read(leaf.pem, encrypted)).toThrow(/is encrypted: decrypt it first/)
    expect(() => read(leaf.pem.repeat(11), leaf.keyPem)).toThrow(/more than 10/)
  })
})

test('what can be served but may not be liked is a warning', async () => {
  const own = await makeLink('self', undefined, { names: [HOSTNAME] })
  const short = await makeLeaf({ untilDays: 6 })
  expect(read(own.pem, keyOf(own).export(PKCS8) as string).warnings).toEqual([expect.stringContaining('self-signed')])
  expect(read(short.pem, short.keyPem).warnings).toEqual([
    expect.stringContaining('no intermediate'),
    expect.stringContaining('expires soon'),
  ])
})

test("an issuer's certificate that expires first ends what it signed, a cross-signed root's does not", async () => {
  const crossSigned = await makeLink('Cross-signed root', root, { ca: true, untilDays: 40 })
  const lasting = await makeLink('Intermediate', crossSigned, { ca: true, untilDays: 1_000 })
  const ending = await makeLink('Ending intermediate', crossSigned, { ca: true, untilDays: 50 })
  const signed = await makeLeaf({}, lasting)
  const cut = await makeLeaf({}, ending)
  const whole = read(signed.pem + lasting.pem + crossSigned.pem, signed.keyPem)
  expect(whole).toMatchObject({ notAfter: new X509Certificate(signed.pem).validToDate, warnings: [] })
  const { validToDate } = new X509Certificate(ending.pem)
  const sentence = `the certificate of its issuer, CN=Ending intermediate, expires first, at ${validToDate.toISOString()}: visitors accept neither from then on`
  expect(read(cut.pem + ending.pem + crossSigned.pem, cut.keyPem)).toMatchObject({ notAfter: validToDate, warnings: [sentence] })
})

test('one that demands OCSP stapling is kept with a warning, since browsers that obey it refuse it here', async () => {
  const leaf = await makeLeaf({ mustStaple: true })
  expect(read(leaf.pem + intermediate.pem, leaf.keyPem).warnings).toEqual([expect.stringContaining('Firefox refuses it')])
})
