import 'reflect-metadata'
import { Pkcs10CertificateRequestGenerator, SubjectAlternativeNameExtension } from '@peculiar/x509'
import type { Hostname } from '../hostname.ts'
import { SIGNING, toKeyPair } from './key-pair.ts'

/** A certificate request (PKCS #10, base64url DER) for one hostname: in the alternative names only, with an empty subject. */
export async function createCsr(keyPem: string, hostname: Hostname): Promise<string> {
  const csr = await Pkcs10CertificateRequestGenerator.create({
    keys: await toKeyPair(keyPem),
    signingAlgorithm: SIGNING,
    extensions: [new SubjectAlternativeNameExtension([{ type: 'dns', value: hostname }])],
  })
  return Buffer.from(csr.rawData).toString('base64url')
}
