import { readImported } from '../certs/imported.ts'
import type { Config } from '../config.ts'
import type { IssuedRecord } from '../core/certificates.ts'
import type { Hostname } from '../hostname.ts'
import { certificateKeys } from './certificate-keys.ts'

/** Validates certificates that were obtained elsewhere, and seals their keys. Throws `certificate_invalid`, which names every fault. */
export function createImportedReader(config: Config, now: () => Date) {
  const keys = certificateKeys(config)
  return (hostname: Hostname, sent: { chain: string; key: string }): { record: Omit<IssuedRecord, 'renewAt'>; warnings: string[] } => {
    const { keyPem, warnings, ...certificate } = readImported(sent.chain, sent.key, hostname, now())
    return { record: { ...certificate, sealedKey: keys.seal(keyPem, hostname) }, warnings }
  }
}
