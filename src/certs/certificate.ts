import { X509Certificate } from 'node:crypto'

/** `serial` is lower-case hex, `issuer` a distinguished name on one line, `names` the DNS names, in order. */
export type CertificateFacts = { issuer: string; serial: string; notBefore: Date; notAfter: Date; names: string[] }

const RENEW_AFTER = 2 / 3

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

/** When to renew: after two thirds of the real lifetime, as on day 60 of 90, 30 of 45, 4 of 6. */
export function renewAt({ notBefore, notAfter }: { notBefore: Date; notAfter: Date }): Date {
  return new Date(notBefore.getTime() + (notAfter.getTime() - notBefore.getTime()) * RENEW_AFTER)
}

// Node writes "DNS:a.example, DNS:b.example, IP Address:…", and in quotes what could be mistaken for more than one entry.
function dnsNames(subjectAltName: string): string[] {
  const entries = subjectAltName.match(/(?:"(?:[^"\\]|\\.)*"|[^,])+/g) ?? []
  return entries.flatMap((entry) => (entry.trim().startsWith('DNS:') ? [entry.trim().slice('DNS:'.length)] : []))
}
