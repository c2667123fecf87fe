import { type KeyObject, X509Certificate } from 'node:crypto'
import { createSecureContext } from 'node:tls'
import { ServiceError } from '../errors.ts'
import type { Hostname } from '../hostname.ts'
import type { IssuedCertificate } from './authority.ts'
import { readCertificate } from './certificate.ts'
import { readPrivateKey } from './private-key.ts'

/** `warnings` are sentences: it can be served, but not every visitor may like it. */
export type ImportedCertificate = IssuedCertificate & { warnings: string[] }

const CHAIN_CERTIFICATES_MAX = 10
/** In base64, of all together: every machine keeps the chain, and each full handshake sends it. */
const CHAIN_BYTES_MAX = 65_536
/** Of the hostname's own. TLS takes up to thirty times as much memory for it. */
const LEAF_BYTES_MAX = 32_768
/** What authorities certify at most is 100 to 250. */
const NAMES_MAX = 250
/** Of a public key in DER: node writes its exponent out in decimals, which takes 39 s for one of three million bits. */
const PUBLIC_KEY_BYTES_MAX = 2_560
const RSA_BITS_MIN = 2_048
/** The signature of each handshake takes the third power of it: 16 times as long at 8,192 bits as at 4,096. */
const RSA_BITS_MAX = 4_096
const CURVES = ['prime256v1', 'secp384r1'] // what browsers know
const SERVER_AUTHENTICATION = '1.3.6.1.5.5.7.3.1'
/** The extension "TLS feature" (RFC 7633), 1.3.6.1.5.5.7.1.24 in DER: in certificates it says that each handshake must bring the authority's OCSP answer. */
const MUST_STAPLE = Buffer.from('06082b06010505070118', 'hex')
const EXPIRES_SOON_MS = 30 * 86_400_000

/**
 * Reads a certificate that was obtained elsewhere: PEM, the hostname's own certificate first, each signed by the next, with its unencrypted
 * private key. What comes back is canonical: certificates alone without the root, the key as PKCS #8; it ends with its issuer's
 * certificate, if that ends first. Throws `certificate_invalid`, which names every fault: what cannot be read, chain, dates, names, purpose, kind
 * of key, or a key that is another certificate's.
 */
export function readImported(chainPem: string, keyPem: string, hostname: Hostname, now: Date): ImportedCertificate {
  try {
    return read(chainPem, keyPem, hostname, now)
  } catch (error) {
    throw new ServiceError('certificate_invalid', (error as Error).message, { cause: error })
  }
}

function read(chainPem: string, keyPem: string, hostname: Hostname, now: Date): ImportedCertificate {
  const chain = readChain(chainPem)
  const leaf = chain[0]!
  const key = readPrivateKey(keyPem)
  const faults = [
    ...faultsOfOrder(chain),
    ...chain.flatMap((certificate) => faultsOfDates(certificate, now)),
    ...faultsOfUse(leaf, hostname),
    ...faultsOfKey(leaf, key),
  ]
  if (faults.length > 0) throw new Error(faults.join('; '))
  const sent = chain.filter((certificate, i) => i === 0 || !isSelfSigned(certificate))
  const canonical = { chainPem: sent.map(String).join(''), keyPem: key.export({ type: 'pkcs8', format: 'pem' }) as string }
  requireServable(canonical)
  const { issuer, serial, notBefore } = readCertificate(canonical.chainPem)
  const notAfter = endOf(sent)
  return { ...canonical, issuer, serial, notBefore, notAfter, warnings: warningsOf(sent, notAfter, now) }
}

function readChain(pem: string): X509Certificate[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  if (blocks.length === 0) throw new Error('the chain holds no certificate in PEM (-----BEGIN CERTIFICATE-----)')
  if (blocks.length > CHAIN_CERTIFICATES_MAX) throw new Error(`the chain has more than ${CHAIN_CERTIFICATES_MAX} certificates`)
  const bytes = blocks.reduce((sum, block) => sum + block.length, 0)
  requireBound(bytes, CHAIN_BYTES_MAX, 'the chain is longer than', 'bytes')
  requireBound(blocks[0]!.length, LEAF_BYTES_MAX, 'the certificate is longer than', 'bytes')
  const chain = blocks.map((block, i) => {
    try {
      return new X509Certificate(block)
    } catch {
      throw new Error(`certificate ${i + 1} of the chain is damaged`)
    }
  })
  requireBound(chain[0]!.subjectAltName?.split(', ').length ?? 0, NAMES_MAX, 'the certificate is for more than', 'names')
  return chain
}

function requireBound(count: number, max: number, isMoreThan: string, unit: string): void {
  if (count > max) throw new Error(`${isMoreThan} ${max} ${unit}: it has ${count}`)
}

function faultsOfOrder(chain: readonly X509Certificate[]): string[] {
  return chain.slice(1).flatMap((issuer, i) => {
    const issued = chain[i]!
    if (issued.checkIssued(issuer) && issuer.ca && issued.verify(issuer.publicKey)) return []
    return [
      `certificate ${i + 1} of the chain is not signed by certificate ${i + 2}: the hostname's own comes first, then its issuer, and so on`,
    ]
  })
}

function faultsOfDates(certificate: X509Certificate, now: Date): string[] {
  const { validFromDate, validToDate } = certificate
  const which = `the certificate ${inOneLine(certificate.subject) || certificate.serialNumber}`
  if (validToDate <= now) return [`${which} expired at ${validToDate.toISOString()}`]
  if (validFromDate > now) return [`${which} is not valid before ${validFromDate.toISOString()}`]
  return []
}

function faultsOfUse(leaf: X509Certificate, hostname: Hostname): string[] {
  const covers = leaf.checkHost(hostname, { subject: 'never', partialWildcards: false }) !== undefined
  const names = leaf.subjectAltName ?? 'no alternative names'
  const serves = (leaf.keyUsage as string[] | undefined)?.includes(SERVER_AUTHENTICATION) ?? true // these are the extended ones
  return [
    ...(covers ? [] : [`the certificate is not for ${hostname}: it has ${names}`]),
    ...(serves ? [] : ['the certificate may not be used by a server: its extended key usage lacks serverAuth']),
  ]
}

function faultsOfKey(leaf: X509Certificate, key: KeyObject): string[] {
  return [
    ...(isServed(leaf.publicKey)
      ? []
      : [`the certificate's key cannot be used: it is RSA of ${RSA_BITS_MIN} to ${RSA_BITS_MAX} bits, or ECDSA on P-256 or P-384`]),
    ...(leaf.checkPrivateKey(key) ? [] : ["the private key is not this certificate's"]),
  ]
}

function isServed(key: KeyObject): boolean {
  if (key.export({ type: 'spki', format: 'der' }).length > PUBLIC_KEY_BYTES_MAX) return false
  const { asymmetricKeyType: kind, asymmetricKeyDetails: details } = key
  return (
    (kind === 'rsa' && details!.modulusLength! >= RSA_BITS_MIN && details!.modulusLength! <= RSA_BITS_MAX) ||
    (kind === 'ec' && CURVES.includes(details?.namedCurve ?? 'unnamed'))
  )
}

/** The last word is OpenSSL's, as it will be in every handshake: it refuses old signatures, for one. */
function requireServable({ chainPem, keyPem }: { chainPem: string; keyPem: string }): void {
  try {
    createSecureContext({ cert: chainPem, key: keyPem })
  } catch (error) {
    throw new Error(`the certificate cannot be served: ${(error as Error).message}`, { cause: error })
  }
}

function warningsOf(chain: readonly X509Certificate[], notAfter: Date, now: Date): string[] {
  const leaf = chain[0]!
  return [
    ...(isSelfSigned(leaf) ? ['the certificate is self-signed: no browser trusts it by itself'] : []),
    ...(chain.length === 1 && !isSelfSigned(leaf) ? ['the chain has no intermediate certificate: most visitors need it'] : []),
    ...warningsOfIssuer(leaf, chain[1]),
    ...(leaf.raw.includes(MUST_STAPLE)
      ? ['the certificate demands OCSP stapling ("must-staple"), which is not done here: Firefox refuses it. Have one issued without that']
      : []),
    ...(notAfter.getTime() - now.getTime() < EXPIRES_SOON_MS ? [`the certificate expires soon, at ${notAfter.toISOString()}`] : []),
  ]
}

function warningsOfIssuer(leaf: X509Certificate, issuer: X509Certificate | undefined): string[] {
  if (!issuer || issuer.validToDate >= leaf.validToDate) return []
  const name = inOneLine(issuer.subject)
  return [
    `the certificate of its issuer, ${name}, expires first, at ${issuer.validToDate.toISOString()}: visitors accept neither from then on`,
  ]
}

/** Certificates further up do not count: those of a root that another one signed end early as a rule, and visitors have the root itself. */
function endOf([leaf, issuer = leaf]: readonly X509Certificate[]): Date {
  return new Date(Math.min(leaf!.validToDate.getTime(), issuer!.validToDate.getTime()))
}

function isSelfSigned(certificate: X509Certificate): boolean {
  return certificate.checkIssued(certificate) && certificate.verify(certificate.publicKey)
}

function inOneLine(name: string | undefined): string {
  return (name ?? '').split('\n').join(', ')
}
