import { createPrivateKey, createPublicKey, type KeyObject, type webcrypto } from 'node:crypto'

/** ECDSA P-256 with SHA-256, as Web Crypto names it. */
export const SIGNING = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }

/** The Web Crypto form of a P-256 private key in PEM. */
export async function toKeyPair(keyPem: string): Promise<webcrypto.CryptoKeyPair> {
  const privateKey = createPrivateKey(keyPem)
  const toCryptoKey = (key: KeyObject, use: 'sign' | 'verify') => key.toCryptoKey(SIGNING, true, [use])
  return { privateKey: toCryptoKey(privateKey, 'sign'), publicKey: toCryptoKey(createPublicKey(privateKey), 'verify') }
}
