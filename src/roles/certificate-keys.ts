import type { Config } from '../config.ts'
import type { Hostname } from '../hostname.ts'
import { createSealer } from '../lib/seal.ts'

/** What they are sealed for, and those of open orders too. */
export const CERTIFICATE_KEYS = 'certificate-keys'

/** How the keys of certificates are sealed for the database, and opened again. */
export type CertificateKeys = {
  seal(keyPem: string, hostname: Hostname): Buffer
  /** Throws an Error that says why, as after NAMESAKE_SECRET changed. */
  open(sealedKey: Buffer, hostname: Hostname): string
}

/** Each key is bound to its hostname: moved to another row, it does not open. */
export function certificateKeys(config: Config): CertificateKeys {
  const sealer = createSealer(config.secrets, CERTIFICATE_KEYS)
  return {
    seal: (keyPem, hostname) => sealer.seal(Buffer.from(keyPem), hostname),
    open: (sealedKey, hostname) => sealer.open(sealedKey, hostname).toString(),
  }
}
