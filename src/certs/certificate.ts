import { createHash, X509Certificate } from 'node:crypto'

/** `serial` is lower-case hex, `issuer` a distinguished name on one line, `names` the DNS names, in order. */
export type CertificateFacts = { issuer: string; serial: string; notBefore: Date; notAfter: Date; names: string[] }

const RENEW_AFTER = 2 / 3
const RENEW_SPREAD = 1 / 18

/** Reads the first certificate of a PEM chain. Throws when there is none. */
export function readCertificate(chainPem: string): CertificateFacts {
  const leaf = new X509Certificate(chainPem)
  return {
    issuer: leaf.issuer.split('\n').join(', '),
    serial: leaf.serialNumber.toLowerCase(),
    notBefore: leaf.validFromDate,
    notAfter: leaf.validToDate,
    names: dnsNames(leaf.subjectAltName ?? ''),
  }
}

/**
 * When to renew: around two thirds of the real lifetime, as on day 60 of 90, 30 of 45, 4 of 6. The serial number moves the time by up to an
 * eighteenth of the lifetime to either side (5 days of 90, 8 hours of 6), so that what was issued in one day is not renewed in one.
 * The same certificate always gets the same time.
 */
export function renewAt({ serial, notBefore, notAfter }: Pick<CertificateFacts, 'serial' | 'notBefore' | 'notAfter'>): Date {
  const spread = (2 * fractionOf(serial) - 1) * RENEW_SPREAD
  return new Date(Math.round(notBefore.getTime() + (notAfter.getTime() - notBefore.getTime()) * (RENEW_AFTER + spread)))
}

/** A text's place between 0 and 1: even, whatever the texts, and always the same for one. */
export function fractionOf(text: string): number {
  return createHash('sha256').update(text).digest().readUIntBE(0, 6) / 2 ** 48
}

// Node writes "DNS:a.example, DNS:b.example, IP Address:…", and in quotes what could be mistaken for more than one entry.
function dnsNames(subjectAltName: string): string[] {
  const entries = subjectAltName.match(/(?:"(?:[^"\\]|\\.)*"|[^,])+/g) ?? []
  return entries.flatMap((entry) => (entry.trim().startsWith('DNS:') ? [entry.trim().slice('DNS:'.length)] : []))
}
