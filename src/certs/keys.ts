import { createHash, createPublicKey, generateKeyPair, type KeyObject } from 'node:crypto'
import { promisify } from 'node:util'

// RFC 7638 §3.2: what identifies a public key, in the order in which it is hashed.
const THUMBPRINT_MEMBERS: Record<string, string[]> = { EC: ['crv', 'kty', 'x', 'y'], RSA: ['e', 'kty', 'n'] }

/** A new ACME account key: ECDSA P-256, PKCS #8 PEM. */
export function generateAccountKey(): Promise<string> {
  return generateP256Key()
}

/** A new key for one certificate: ECDSA P-256, PKCS #8 PEM. */
export function generateCertificateKey(): Promise<string> {
  return generateP256Key()
}

/** The key's RFC 7638 thumbprint (SHA-256, base64url). Takes the PEM of a private or a public key. */
export function thumbprintOf(keyPem: string): string {
  return createHash('sha256')
    .update(JSON.stringify(publicJwk(createPublicKey(keyPem))))
    .digest('base64url')
}

/** The public part as a JWK with exactly the members that its thumbprint covers, in their order. */
export function publicJwk(key: KeyObject): Record<string, string> {
  const jwk = key.export({ format: 'jwk' }) as Record<string, string>
  const members = THUMBPRINT_MEMBERS[jwk.kty!]
  if (!members) throw new Error(`a ${jwk.kty} key cannot be used here`)
  return Object.fromEntries(members.map((member) => [member, jwk[member]!]))
}

async function generateP256Key(): Promise<string> {
  const { privateKey } = await promisify(generateKeyPair)('ec', { namedCurve: 'P-256' })
  return privateKey.export({ type: 'pkcs8', format: 'pem' }) as string
}
