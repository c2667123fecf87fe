import 'reflect-metadata'
import { KeyObject, randomBytes, webcrypto } from 'node:crypto'
import * as x509 from '@peculiar/x509'

type Algorithm = { name: string; hash?: string; namedCurve?: string; modulusLength?: number; publicExponent?: Uint8Array<ArrayBuffer> }
type Party = { certificate: x509.X509Certificate; pem: string; keys: webcrypto.CryptoKeyPair; algorithm: Algorithm }

/** What a link of a chain is made of; a day ago until in 90 days by default. */
export type LinkOptions = {
  names?: string[]
  ca?: boolean
  algorithm?: Algorithm
  fromDays?: number
  untilDays?: number
  usage?: string
  mustStaple?: boolean
  /** Beside those that follow from the rest. */
  extensions?: x509.Extension[]
  /** In DER, in the place of the key that `keyOf` gives. */
  publicKey?: Buffer
}

export const P256: Algorithm = { name: 'ECDSA', hash: 'SHA-256', namedCurve: 'P-256' }
export const P521: Algorithm = { name: 'ECDSA', hash: 'SHA-256', namedCurve: 'P-521' }
export const rsa = (bits: number): Algorithm => ({
  ...{ name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256', modulusLength: bits, publicExponent: new Uint8Array([1, 0, 1]) },
})

const DAY_MS = 86_400_000
const STATUS_REQUEST = Buffer.from('3003020105', 'hex') // RFC 7633 §4
let serial = 1_000_000

/** A certificate of any shape, signed by `issuer`, or by itself. */
export async function makeLink(subject: string, issuer: Party | undefined, options: LinkOptions = {}): Promise<Party> {
  const { names = [], ca = false, algorithm = P256, fromDays = -1, untilDays = 90, usage = x509.ExtendedKeyUsage.serverAuth } = options
  const keys = (await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])) as webcrypto.CryptoKeyPair
  serial += 1
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: serial.toString(16).padStart(8, '0'),
    subject: `CN=${subject}`,
    issuer: issuer?.certificate.subject ?? `CN=${subject}`,
    notBefore: new Date(Date.now() + fromDays * DAY_MS),
    notAfter: new Date(Date.now() + untilDays * DAY_MS),
    signingAlgorithm: issuer?.algorithm ?? algorithm,
    publicKey: options.publicKey ?? keys.publicKey,
    signingKey: (issuer?.keys ?? keys).privateKey,
    extensions: [
      new x509.BasicConstraintsExtension(ca, undefined, true),
      ...(ca ? [] : [new x509.ExtendedKeyUsageExtension([usage])]),
      ...(options.mustStaple ? [new x509.Extension('1.3.6.1.5.5.7.1.24', false, STATUS_REQUEST)] : []),
      ...(names.length > 0 ? [new x509.SubjectAlternativeNameExtension(names.map((value) => ({ type: 'dns' as const, value })))] : []),
      ...(options.extensions ?? []),
    ],
  })
  return { certificate, pem: `${certificate.toString('pem')}\n`, keys, algorithm }
}

/** The private key of a link as a key object, to be exported in whatever form. */
export function keyOf({ keys }: Party): KeyObject {
  return KeyObject.from(keys.privateKey)
}

/** An element of DER with its length. */
export function der(tag: number, ...parts: Buffer[]): Buffer {
  const content = Buffer.concat(parts)
  const length = [content.length >>> 16, (content.length >>> 8) & 0xff, content.length & 0xff]
  return Buffer.concat([Buffer.from(content.length < 0x80 ? [tag, content.length] : [tag, 0x83, ...length]), content])
}

/** An INTEGER of exactly so many bits, and odd. */
export function oddNumber(bits: number): Buffer {
  const bytes = randomBytes(bits / 8)
  bytes[0]! |= 0x80
  bytes[bytes.length - 1]! |= 1
  return der(0x02, Buffer.from([0]), bytes)
}

export function pemOf(label: string, content: Buffer): string {
  return `-----BEGIN ${label}-----\n${content.toString('base64').replace(/.{64}/g, '$&\n')}\n-----END ${label}-----\n`
}

/** A leaf for localhost and so many issuers, one behind the other; what `each` says is for all of them. The root is not in the chain. */
export async function chainOf(issuers: number, each: LinkOptions = {}): Promise<{ chainPem: string; keyPem: string; rootPem: string }> {
  const root = await makeLink('Root', undefined, { ca: true })
  let issuer = root
  let pems = ''
  for (let i = issuers; i > 0; i -= 1) {
    issuer = await makeLink(`Issuer ${i}`, issuer, { ca: true, ...each })
    pems = issuer.pem + pems
  }
  const { publicKey: _, ...more } = each
  const leaf = await makeLink('localhost', issuer, { ...(each.extensions ? {} : { names: ['localhost'] }), ...more })
  return { chainPem: leaf.pem + pems, keyPem: keyOf(leaf).export({ type: 'pkcs8', format: 'pem' }) as string, rootPem: root.pem }
}
