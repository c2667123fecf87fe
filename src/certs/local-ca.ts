import 'reflect-metadata'
import { randomBytes } from 'node:crypto'
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509'
import type { Authority } from './authority.ts'
import { readCertificate } from './certificate.ts'
import { SIGNING, toKeyPair } from './key-pair.ts'
import { generateCertificateKey } from './keys.ts'

const CA_LIFETIME_DAYS = 3_650
const DAY_MS = 86_400_000
const BACKDATED_MS = 3_600_000 // for visitors whose clock is behind, and where the worker's is ahead

/** A new root of our own: ECDSA P-256, ten years. Both values are PEM. */
export async function createLocalCa(now = new Date()): Promise<{ keyPem: string; certPem: string }> {
  const keyPem = await generateCertificateKey()
  const keys = await toKeyPair(keyPem)
  const root = await X509CertificateGenerator.createSelfSigned({
    name: [{ CN: [`Namesake local CA ${randomBytes(3).toString('hex')}`] }],
    serialNumber: newSerial(),
    ...lifetime(now, CA_LIFETIME_DAYS),
    keys,
    signingAlgorithm: SIGNING,
    extensions: [
      new BasicConstraintsExtension(true, 0, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
      await SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  })
  return { keyPem, certPem: `${root.toString('pem')}\n` }
}

export type LocalCaSettings = { caKeyPem: string; caCertPem: string; lifetimeDays: number; now?: () => Date }

/** Issues at once and asks nobody, for installations whose visitors trust the root by hand. The chain is the leaf alone. */
export function createLocalAuthority({ caKeyPem, caCertPem, lifetimeDays, now = () => new Date() }: LocalCaSettings): Authority {
  return {
    name: 'local',
    thumbprint: null,
    async issue(hostname) {
      const root = new X509Certificate(caCertPem)
      const keyPem = await generateCertificateKey()
      const { publicKey } = await toKeyPair(keyPem)
      const leaf = await X509CertificateGenerator.create({
        issuer: root.subjectName,
        serialNumber: newSerial(),
        ...lifetime(now(), lifetimeDays, root.notAfter),
        publicKey,
        signingKey: (await toKeyPair(caKeyPem)).privateKey,
        signingAlgorithm: SIGNING,
        extensions: [
          new BasicConstraintsExtension(false, undefined, true),
          new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
          new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth]),
          new SubjectAlternativeNameExtension([{ type: 'dns', value: hostname }], true), // critical, as the subject is empty (RFC 5280 §4.2.1.6)
          await SubjectKeyIdentifierExtension.create(publicKey),
          await AuthorityKeyIdentifierExtension.create(root.publicKey),
        ],
      })
      const chainPem = `${leaf.toString('pem')}\n`
      const { issuer, serial, notBefore, notAfter } = readCertificate(chainPem)
      return { chainPem, keyPem, issuer, serial, notBefore, notAfter }
    },
    async renewalInfo() {
      return { kind: 'none' }
    },
  }
}

function lifetime(now: Date, days: number, end?: Date): { notBefore: Date; notAfter: Date } {
  const fromMs = Math.floor((now.getTime() - BACKDATED_MS) / 1000) * 1000 // certificates know whole seconds
  return { notBefore: new Date(fromMs), notAfter: new Date(Math.min(fromMs + days * DAY_MS, end?.getTime() ?? Infinity)) }
}

/** 16 random bytes as hex, positive and without a leading zero byte (RFC 5280 §4.1.2.2). */
function newSerial(): string {
  const bytes = randomBytes(16)
  bytes[0] = (bytes[0]! & 0x3f) | 0x40
  return bytes.toString('hex')
}
