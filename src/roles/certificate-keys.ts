import type { Config } from '../config.ts'
import type { Hostname } from '../hostname.ts'
import { createSealer, partOfSecret } from '../lib/seal.ts'
import { TICKET_KEYS } from './ticket-keys.ts'

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

/** What an edge machine can be given in the place of each secret: it opens the keys of certificates and of session tickets, and nothing else. */
export function edgeSecrets({ secrets }: Pick<Config, 'secrets'>): string {
  return secrets.map((secret) => partOfSecret(secret, [CERTIFICATE_KEYS, TICKET_KEYS])).join(',')
}
