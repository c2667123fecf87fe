import { generateKeyPairSync, type KeyExportOptions, type KeyObject } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { der, oddNumber, pemOf } from '../../test/support/chains.ts'
import { readPrivateKey } from './private-key.ts'

const PRIME = { namedCurve: 'prime256v1' }
const { privateKey: rsa } = generateKeyPairSync('rsa', { modulusLength: 2_048 })
const { privateKey: ec } = generateKeyPairSync('ec', PRIME)
const { privateKey: explicit } = generateKeyPairSync('ec', { ...PRIME, paramEncoding: 'explicit' })
const { privateKey: edwards } = generateKeyPairSync('ed25519')
const { privateKey: pss } = generateKeyPairSync('rsa-pss', { modulusLength: 2_048 })
const EC_PARAMETERS = pemOf('EC PARAMETERS', Buffer.from('06082a8648ce3d030107', 'hex'))

const pem = (key: KeyObject, type: KeyExportOptions<'pem'>['type']) => key.export({ type: type!, format: 'pem' }) as string

test.each([
  ['RSA in PKCS #8', pem(rsa, 'pkcs8'), rsa],
  ['RSA in PKCS #1', pem(rsa, 'pkcs1'), rsa],
  ['ECDSA in PKCS #8', pem(ec, 'pkcs8'), ec],
  ['ECDSA in SEC 1', pem(ec, 'sec1'), ec],
  ['ECDSA behind its parameters, as openssl ecparam writes it', EC_PARAMETERS + pem(ec, 'sec1'), ec],
  ['ECDSA with its curve written out', pem(explicit, 'pkcs8'), explicit],
  ['a key behind other text, with other ends of lines', `Bag Attributes\n${pem(rsa, 'pkcs8')}`.replaceAll('\n', '\r\n'), rsa],
])('%s is read', (_what, text, key) => {
  expect(readPrivateKey(text).equals(key)).toBe(true)
})

describe('refused before OpenSSL computes anything', () => {
  const number = oddNumber(16_384)
  const algorithm = der(0x30, Buffer.from('06072a8648ce380401', 'hex'), der(0x30, number, number, number))
  const dsa = (version: string) => der(0x30, Buffer.from(version, 'hex'), algorithm, der(0x04, number))

  test.each(['PRIVATE KEY', 'RSA PRIVATE KEY', 'EC PRIVATE KEY', 'DSA PRIVATE KEY'])('a large DSA key as %s', (label) => {
    expect(() => readPrivateKey(pemOf(label, dsa('020100')))).toThrow(/another kind than RSA and ECDSA/)
  })

  test('a large DSA key behind a version of two bytes, or one whose length takes more', () => {
    expect(() => readPrivateKey(pemOf('PRIVATE KEY', dsa('02020104')))).toThrow(/another kind/)
    expect(() => readPrivateKey(pemOf('PRIVATE KEY', dsa('02810100')))).toThrow(/another kind/)
  })

  test('other kinds of keys', () => {
    expect(() => readPrivateKey(pem(edwards, 'pkcs8'))).toThrow(/another kind than RSA and ECDSA/)
    expect(() => readPrivateKey(pem(pss, 'pkcs8'))).toThrow(/another kind than RSA and ECDSA/)
  })

  test('a key of any size', () => {
    const huge = der(0x30, Buffer.from('020100', 'hex'), ...Array.from({ length: 8 }, () => oddNumber(65_536)))
    expect(() => readPrivateKey(pemOf('RSA PRIVATE KEY', huge))).toThrow(/longer than 16384 bytes/)
  })

  test.each(['', 'MA==', 'MIA=', 'MIT/////', 'MAMCAQA=', 'AAAA'])('what is no key: %s', (text) => {
    expect(() => readPrivateKey(`-----BEGIN PRIVATE KEY-----\n${text}\n-----END PRIVATE KEY-----\n`)).toThrow(/no private key in PEM/)
  })
})
