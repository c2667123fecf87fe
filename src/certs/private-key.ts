import { createPrivateKey, type KeyObject } from 'node:crypto'

/** The text of one key in base64; RSA of 4,096 bits takes 3,200 bytes, of 16,384 bits 12,600. */
const KEY_BYTES_MAX = 16_384
const BLOCK = /-----BEGIN ((?:[A-Z0-9]+ )?PRIVATE KEY)-----([A-Za-z0-9+/=\s]+)-----END \1-----/
const ALGORITHMS = ['2a864886f70d010101', '2a8648ce3d0201'] // rsaEncryption and id-ecPublicKey (RFC 8017, RFC 5480) in DER
const [INTEGER, OCTET_STRING, OBJECT_IDENTIFIER, SEQUENCE] = [0x02, 0x04, 0x06, 0x30]

type Form = 'pkcs1' | 'sec1' | 'pkcs8'

/**
 * Reads the first private key of a PEM text, whatever stands around it. Throws an Error where none is there, it is encrypted, longer than any
 * that is served, or neither RSA nor ECDSA. OpenSSL gets no other kind to see: of a DSA key in PKCS #8 it computes the public half, which
 * takes a minute for 65,536 bits, and it looks for PKCS #8 behind every label.
 */
export function readPrivateKey(pem: string): KeyObject {
  if (/ENCRYPTED/.test(pem))
    throw new Error('the private key is encrypted: decrypt it first, as with openssl pkey -in key.pem -out plain.pem')
  const base64 = BLOCK.exec(pem)?.[2]
  if (base64 === undefined) throw noKey()
  if (base64.length > KEY_BYTES_MAX) throw new Error(`the private key is longer than ${KEY_BYTES_MAX} bytes, as none is that can be used`)
  const der = Buffer.from(base64, 'base64')
  const key = decode(der, formOf(der))
  if (key.asymmetricKeyType !== 'rsa' && key.asymmetricKeyType !== 'ec') throw otherKind()
  return key
}

function decode(der: Buffer, type: Form): KeyObject {
  try {
    return createPrivateKey({ key: der, format: 'der', type })
  } catch {
    throw noKey()
  }
}

/** What follows the version tells the forms apart: PKCS #1 the modulus, SEC 1 the key itself, PKCS #8 the algorithm. */
function formOf(der: Buffer): Form {
  const next = elementAt(der, elementAt(der, 0, SEQUENCE).from, INTEGER).to
  if (der[next] === INTEGER) return 'pkcs1'
  if (der[next] === OCTET_STRING) return 'sec1'
  const { from, to } = elementAt(der, elementAt(der, next, SEQUENCE).from, OBJECT_IDENTIFIER)
  if (ALGORITHMS.includes(der.toString('hex', from, to))) return 'pkcs8'
  throw otherKind()
}

/** Where the content of the element at `at` lies (X.690 §8.1). */
function elementAt(der: Buffer, at: number, tag: number): { from: number; to: number } {
  const first = der[at + 1] ?? 0x80
  const lengthBytes = first < 0x80 ? 0 : first & 0x7f
  const from = at + 2 + lengthBytes
  if (der[at] !== tag || first === 0x80 || lengthBytes > 4 || from > der.length) throw noKey()
  return { from, to: from + (lengthBytes === 0 ? first : der.readUIntBE(at + 2, lengthBytes)) }
}

function noKey(): Error {
  return new Error('the key is no private key in PEM (-----BEGIN PRIVATE KEY-----)')
}

function otherKind(): Error {
  return new Error('the private key is of another kind than RSA and ECDSA, the two that can be used')
}
