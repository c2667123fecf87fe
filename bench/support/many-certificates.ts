import { createPrivateKey, randomBytes, sign, X509Certificate } from 'node:crypto'
import { createLocalAuthority, createLocalCa } from '../../src/certs/local-ca.ts'
import { parseHostname } from '../../src/hostname.ts'

const LIFETIME_DAYS = 90
const ISSUE_TIMEOUT_MS = 10_000
const ECDSA_WITH_SHA256 = Buffer.from('300a06082a8648ce3d040302', 'hex')

/** What issues certificates by the hundred thousand; `caPem` is the root that visitors trust. */
export type Press = { caPem: string; keyPem: string; print(hostname: string): string }

/**
 * Certificates of one authority and with one key pair, each signed for its own hostname: some 40 µs each. One is issued as usual, and the others
 * are that one with another name and serial number, so all names have as many characters as `sample`.
 */
export async function createPress(sample: string): Promise<Press> {
  const ca = await createLocalCa()
  const authority = createLocalAuthority({ caKeyPem: ca.keyPem, caCertPem: ca.certPem, lifetimeDays: LIFETIME_DAYS })
  const { chainPem, keyPem } = await authority.issue(parseHostname(sample), { signal: AbortSignal.timeout(ISSUE_TIMEOUT_MS) })
  const signingKey = createPrivateKey(ca.keyPem)
  const original = new X509Certificate(chainPem)
  const template = signedPart(original.raw)
  const serialAt = template.indexOf(Buffer.from(original.serialNumber, 'hex'))
  const serialBytes = original.serialNumber.length / 2
  const nameAt = placesOf(template, sample)
  return {
    caPem: ca.certPem,
    keyPem,
    print(hostname) {
      if (hostname.length !== sample.length) throw new Error(`${hostname} and ${sample} differ in length`)
      const body = Buffer.from(template)
      for (const at of nameAt) body.write(hostname, at, 'latin1')
      randomBytes(serialBytes - 1).copy(body, serialAt + 1)
      const signature = sign('sha256', body, signingKey)
      const bits = Buffer.concat([Buffer.from([0x03, signature.length + 1, 0]), signature])
      return pemOf(sequence(Buffer.concat([body, ECDSA_WITH_SHA256, bits]))) + ca.certPem
    },
  }
}

/** The first element of a certificate's sequence, with its own head (RFC 5280 §4.1). */
function signedPart(der: Buffer): Buffer {
  const from = headBytes(der, 0)
  return der.subarray(from, from + headBytes(der, from) + lengthAt(der, from))
}

function headBytes(der: Buffer, at: number): number {
  return der[at + 1]! < 0x80 ? 2 : 2 + (der[at + 1]! & 0x7f)
}

function lengthAt(der: Buffer, at: number): number {
  return der[at + 1]! < 0x80 ? der[at + 1]! : der.readUIntBE(at + 2, der[at + 1]! & 0x7f)
}

function sequence(content: Buffer): Buffer {
  const head = Buffer.from([0x30, 0x82, 0, 0])
  head.writeUInt16BE(content.length, 2)
  return Buffer.concat([head, content])
}

function placesOf(bytes: Buffer, text: string): number[] {
  const places: number[] = []
  for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text, at + 1)) places.push(at)
  return places
}

function pemOf(der: Buffer): string {
  return `-----BEGIN CERTIFICATE-----\n${der.toString('base64').replace(/.{1,64}/g, '$&\n')}-----END CERTIFICATE-----\n`
}
