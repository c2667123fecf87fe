import 'reflect-metadata'
import { randomBytes, webcrypto } from 'node:crypto'
import * as x509 from '@peculiar/x509'

export type TestCertificate = { chainPem: string; keyPem: string }

export type KeyKind = 'P-256' | 'RSA'

export type TestCa = { certPem: string; issue(names: string[], kind?: KeyKind, lifetimeMs?: number): Promise<TestCertificate> }

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
const RSA = { name: 'RSASSA-PKCS1-v1_5', modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]), hash: 'SHA-256' }
const DAY_MS = 86_400_000

/** A certificate authority of the test's own, which issues for any names and IP addresses. */
export async function createTestCa(): Promise<TestCa> {
  const keys = await generateKeys()
  const cert = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serial(),
    name: 'CN=Test CA',
    ...validity(),
    signingAlgorithm: ALGORITHM,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign, true),
    ],
  })
  return {
    certPem: cert.toString('pem'),
    async issue(names, kind = 'P-256', lifetimeMs = DAY_MS) {
      const own = await generateKeys(kind)
      const alternatives = names.map((name) => ({ type: /^[\d.]+$|:/.test(name) ? ('ip' as const) : ('dns' as const), value: name }))
      const leaf = await x509.X509CertificateGenerator.create({
        serialNumber: serial(),
        subject: `CN=${names[0]}`,
        issuer: cert.subject,
        ...validity(lifetimeMs),
        signingAlgorithm: ALGORITHM,
        publicKey: own.publicKey,
        signingKey: keys.privateKey,
        extensions: [new x509.SubjectAlternativeNameExtension(alternatives)],
      })
      return { chainPem: `${leaf.toString('pem')}\n`, keyPem: await toPem(own.privateKey) }
    },
  }
}

function generateKeys(kind: KeyKind = 'P-256'): Promise<CryptoKeyPair> {
  return webcrypto.subtle.generateKey(kind === 'RSA' ? RSA : ALGORITHM, true, ['sign', 'verify']) as Promise<CryptoKeyPair>
}

type CryptoKeyPair = webcrypto.CryptoKeyPair

async function toPem(key: webcrypto.CryptoKey): Promise<string> {
  const der = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', key)).toString('base64')
  return `-----BEGIN PRIVATE KEY-----\n${der.match(/.{1,64}/g)!.join('\n')}\n-----END PRIVATE KEY-----\n`
}

function serial(): string {
  return `01${randomBytes(15).toString('hex')}`
}

function validity(lifetimeMs = DAY_MS) {
  return { notBefore: new Date(Date.now() - DAY_MS), notAfter: new Date(Date.now() + lifetimeMs) }
}
