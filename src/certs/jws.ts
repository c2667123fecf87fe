import { createHmac, createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto'
import { publicJwk } from './keys.ts'

/** Flattened JSON serialization (RFC 7515 §7.2.2), the only one that ACME takes. */
export type Jws = { protected: string; payload: string; signature: string }

/** External account binding (RFC 8555 §7.3.4): what the authority's own sign-up page gave. `hmac` is base64url. */
export type ExternalAccount = { kid: string; hmac: string }

export type AccountKey = { privateKey: KeyObject; jwk: Record<string, string> }

/** Throws when the PEM holds no ECDSA P-256 private key: ES256 is the one signature that every ACME server must take (RFC 8555 §6.2). */
export function readAccountKey(keyPem: string): AccountKey {
  const privateKey = createPrivateKey(keyPem)
  if (privateKey.asymmetricKeyDetails?.namedCurve !== 'prime256v1') throw new Error('an ACME account key is an ECDSA P-256 key')
  return { privateKey, jwk: publicJwk(createPublicKey(privateKey)) }
}

/** Signs a request (RFC 8555 §6.2), as the account `kid`, or by the bare key before there is one. No payload: POST-as-GET. */
export function signRequest(key: AccountKey, header: { kid?: string; nonce: string; url: string }, payload?: object): Jws {
  const { kid, nonce, url } = header
  const signedHeader = { alg: 'ES256', ...(kid === undefined ? { jwk: key.jwk } : { kid }), nonce, url }
  const [head, body] = [encode(signedHeader), payload === undefined ? '' : encode(payload)]
  const signature = sign('sha256', Buffer.from(`${head}.${body}`), { key: key.privateKey, dsaEncoding: 'ieee-p1363' })
  return { protected: head, payload: body, signature: signature.toString('base64url') }
}

/** The account key, vouched for by the authority's customer (RFC 8555 §7.3.4). */
export function bindExternalAccount(key: AccountKey, { kid, hmac }: ExternalAccount, url: string): Jws {
  const [head, body] = [encode({ alg: 'HS256', kid, url }), encode(key.jwk)]
  const signature = createHmac('sha256', Buffer.from(hmac, 'base64url')).update(`${head}.${body}`).digest('base64url')
  return { protected: head, payload: body, signature }
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}
