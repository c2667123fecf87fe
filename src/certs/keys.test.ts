import { createPublicKey } from 'node:crypto'
import { expect, test } from 'vitest'
import { generateAccountKey, generateCertificateKey, thumbprintOf } from './keys.ts'

test('the thumbprint is the one of RFC 7638 §3.1', () => {
  const n =
    '0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw'
  const key = createPublicKey({ key: { kty: 'RSA', e: 'AQAB', n }, format: 'jwk' })
  expect(thumbprintOf(key.export({ type: 'spki', format: 'pem' }) as string)).toBe('NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs')
})

test('a private key and its public key have one thumbprint', async () => {
  const pem = await generateAccountKey()
  const publicPem = createPublicKey(pem).export({ type: 'spki', format: 'pem' }) as string
  expect(thumbprintOf(pem)).toMatch(/^[\w-]{43}$/)
  expect(thumbprintOf(publicPem)).toBe(thumbprintOf(pem))
})

test('every key is new', async () => {
  const pems = await Promise.all([generateAccountKey(), generateAccountKey(), generateCertificateKey(), generateCertificateKey()])
  expect(new Set(pems).size).toBe(4)
})
