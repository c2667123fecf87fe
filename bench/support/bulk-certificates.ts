import 'reflect-metadata'
import { createPrivateKey, generateKeyPairSync, type KeyObject, randomBytes, sign, webcrypto } from 'node:crypto'
import * as x509 from '@peculiar/x509'
import type { Hostname } from '../../src/hostname.ts'

export type BulkCertificate = { hostname: Hostname; chainPem: string; keyPem: string; notAfter: Date }

export type BulkAuthority = {
  /** Its root, in PEM. What it issues has an intermediate certificate behind it, as those of public authorities. */
  ca: string
  /** One certificate for the hostname and whatever else it is to cover. */
  issue(hostname: Hostname, others?: readonly string[]): Promise<BulkCertificate>
  /** A certificate and key of its own for each hostname; all must be as long as the first. */
  issueMany(hostnames: readonly Hostname[]): Promise<BulkCertificate[]>
}

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
const DAY_MS = 86_400_000
const SERIAL_BYTES = 16
const SEQUENCE = 0x30
const BIT_STRING = 0x03
const POINT_BYTES = 65 // of a public key on P-256, at the end of its SPKI

/** An authority that makes P-256 certificates by the thousand a second: it builds the first, and exchanges name, key and serial number in its bytes. */
export async function createBulkAuthority(): Promise<BulkAuthority> {
  const [rootKeys, keys] = await Promise.all([generateKeys(), generateKeys()])
  const extensions = [
    new x509.BasicConstraintsExtension(true, undefined, true),
    new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign, true),
  ]
  const common = { ...validity(), signingAlgorithm: ALGORITHM, extensions }
  const root = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serialHex(),
    name: 'CN=Bench CA',
    ...common,
    keys: rootKeys,
  })
  const intermediate = await x509.X509CertificateGenerator.create({
    serialNumber: serialHex(),
    subject: 'CN=Bench Intermediate CA',
    issuer: root.subject,
    ...common,
    publicKey: keys.publicKey,
    signingKey: rootKeys.privateKey,
  })
  const issuerPem = `${intermediate.toString('pem')}\n`
  const signingKey = createPrivateKey({
    key: Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)),
    format: 'der',
    type: 'pkcs8',
  })
  const chainOf = (leaf: Buffer) => pem('CERTIFICATE', leaf) + issuerPem

  const issue: BulkAuthority['issue'] = async (hostname, others = []) => {
    const own = await generateKeys()
    const leaf = await x509.X509CertificateGenerator.create({
      serialNumber: serialHex(),
      subject: `CN=${hostname}`,
      issuer: intermediate.subject,
      ...validity(),
      signingAlgorithm: ALGORITHM,
      publicKey: own.publicKey,
      signingKey: keys.privateKey,
      extensions: [new x509.SubjectAlternativeNameExtension([hostname, ...others].map((value) => ({ type: 'dns', value })))],
    })
    const keyPem = pem('PRIVATE KEY', Buffer.from(await webcrypto.subtle.exportKey('pkcs8', own.privateKey)))
    return { hostname, chainPem: chainOf(Buffer.from(leaf.rawData)), keyPem, notAfter: leaf.notAfter }
  }
  return {
    ca: `${root.toString('pem')}\n`,
    issue,
    async issueMany(hostnames) {
      const [first] = hostnames
      if (first === undefined) return []
      const { chainPem, notAfter } = await issue(first)
      const [leaf] = x509.PemConverter.decode(chainPem)
      const template = { hostname: first, notAfter, parsed: new x509.X509Certificate(leaf!), chainOf }
      return hostnames.map((hostname) => likeTemplate(template, hostname, signingKey))
    },
  }
}

type Template = { hostname: Hostname; notAfter: Date; parsed: x509.X509Certificate; chainOf(leaf: Buffer): string }

function likeTemplate(template: Template, hostname: Hostname, signingKey: KeyObject): BulkCertificate {
  if (hostname.length !== template.hostname.length) throw new Error(`${hostname} is not as long as ${template.hostname}`)
  const { parsed } = template
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const [tbs, algorithm] = partsOf(Buffer.from(parsed.rawData)) as [Buffer, Buffer]
  const changed = Buffer.from(tbs)
  exchange(changed, Buffer.from(template.hostname), Buffer.from(hostname))
  exchange(changed, Buffer.from(parsed.serialNumber, 'hex'), serialBytes())
  const point = publicKey.export({ format: 'der', type: 'spki' }).subarray(-POINT_BYTES)
  exchange(changed, Buffer.from(parsed.publicKey.rawData).subarray(-POINT_BYTES), point)
  const signature = sign('sha256', changed, signingKey)
  const der = element(SEQUENCE, changed, algorithm, element(BIT_STRING, Buffer.of(0), signature))
  const keyPem = privateKey.export({ format: 'pem', type: 'pkcs8' }) as string
  return { hostname, chainPem: template.chainOf(der), keyPem, notAfter: template.notAfter }
}

function exchange(bytes: Buffer, from: Buffer, to: Buffer): void {
  for (let at = bytes.indexOf(from); at >= 0; at = bytes.indexOf(from, at + from.length)) to.copy(bytes, at)
}

/** The elements inside a DER SEQUENCE, tags and lengths included. */
function partsOf(sequence: Buffer): Buffer[] {
  const parts: Buffer[] = []
  for (let at = bodyOf(sequence, 0).start; at < sequence.length; ) {
    const { start, length } = bodyOf(sequence, at)
    parts.push(sequence.subarray(at, start + length))
    at = start + length
  }
  return parts
}

function bodyOf(der: Buffer, at: number): { start: number; length: number } {
  const first = der[at + 1]!
  if (first < 0x80) return { start: at + 2, length: first }
  const octets = first & 0x7f
  return { start: at + 2 + octets, length: der.readUIntBE(at + 2, octets) }
}

function element(tag: number, ...parts: Buffer[]): Buffer {
  const body = Buffer.concat(parts)
  const length = body.length < 0x80 ? Buffer.of(body.length) : Buffer.of(0x82, body.length >> 8, body.length & 0xff)
  return Buffer.concat([Buffer.of(tag), length, body])
}

function generateKeys() {
  return webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']) as Promise<webcrypto.CryptoKeyPair>
}

function pem(label: string, der: Buffer): string {
  return `-----BEGIN ${label}-----\n${der
    .toString('base64')
    .match(/.{1,64}/g)!
    .join('\n')}\n-----END ${label}-----\n`
}

/** Positive, and of one length whatever its value. */
function serialBytes(): Buffer {
  return Buffer.concat([Buffer.of(1), randomBytes(SERIAL_BYTES - 1)])
}

function serialHex(): string {
  return serialBytes().toString('hex')
}

function validity() {
  return { notBefore: new Date(Date.now() - DAY_MS), notAfter: new Date(Date.now() + 30 * DAY_MS) }
}
