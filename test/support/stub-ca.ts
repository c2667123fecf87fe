import 'reflect-metadata'
import { createPrivateKey, randomBytes, type webcrypto } from 'node:crypto'
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  Pkcs10CertificateRequest,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509'
import { createLocalCa } from '../../src/certs/local-ca.ts'

const SIGNING = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
const ALTERNATIVE_NAMES = '2.5.29.17'
const DAY_MS = 86_400_000

/** `serial` is lower-case hex. */
export type StubCertificate = { names: string[]; serial: string; chainPem: string; notBefore: Date; notAfter: Date }

export type StubCa = {
  rootPem: string
  /** The root's key identifier, base64url: the first half of every RFC 9773 certificate identifier. */
  keyId: string
  /** Signs a certificate request (base64url DER). Undefined when it cannot be read, or was not signed by its own key. */
  sign(csr: string, lifetimeDays: number): Promise<StubCertificate | undefined>
}

/** The signing half of the ACME stub: certificates of any lifetime, beginning at the clock's now. */
export async function createStubCa(now: () => Date): Promise<StubCa> {
  const { keyPem, certPem } = await createLocalCa(now())
  const root = new X509Certificate(certPem)
  const signingKey = createPrivateKey(keyPem).toCryptoKey(SIGNING, false, ['sign']) as webcrypto.CryptoKey
  return {
    rootPem: certPem,
    keyId: Buffer.from(root.getExtension(SubjectKeyIdentifierExtension)!.keyId, 'hex').toString('base64url'),
    async sign(csr, lifetimeDays) {
      const request = await readRequest(csr)
      if (!request) return undefined
      const serial = `4${randomBytes(16).toString('hex').slice(1)}`
      const notBefore = new Date(Math.floor(now().getTime() / 1_000) * 1_000)
      const notAfter = new Date(notBefore.getTime() + lifetimeDays * DAY_MS)
      const leaf = await X509CertificateGenerator.create({
        ...{ issuer: root.subjectName, serialNumber: serial, notBefore, notAfter, signingKey, signingAlgorithm: SIGNING },
        publicKey: request.csr.publicKey,
        extensions: [
          new BasicConstraintsExtension(false, undefined, true),
          new SubjectAlternativeNameExtension(
            request.names.map((value) => ({ type: 'dns' as const, value })),
            true,
          ),
          await AuthorityKeyIdentifierExtension.create(root.publicKey),
        ],
      })
      return { names: request.names, serial, chainPem: `${leaf.toString('pem')}\n${certPem}`, notBefore, notAfter }
    },
  }
}

async function readRequest(csr: string): Promise<{ csr: Pkcs10CertificateRequest; names: string[] } | undefined> {
  try {
    const request = new Pkcs10CertificateRequest(Buffer.from(csr, 'base64url'))
    if (!(await request.verify())) return undefined
    const extension = request.getExtension(ALTERNATIVE_NAMES)
    const names = extension ? new SubjectAlternativeNameExtension(extension.rawData).names.items : []
    return { csr: request, names: names.map(({ value }) => value).sort() }
  } catch {
    return undefined
  }
}
