import { createAcmeAuthority } from '../certs/acme-authority.ts'
import { type Authority, type IssuedCertificate, IssueError } from '../certs/authority.ts'
import { createLocalAuthority } from '../certs/local-ca.ts'
import type { Config } from '../config.ts'
import type { Hostname } from '../hostname.ts'
import type { OwnKeys } from './own-keys.ts'

const ORDERS_TIMEOUT_MS = 150_000 // shared by the authorities: with the look before it, an attempt ends within its lease

// What the next authority may do better than this one: it was out of reach, at a limit, or is not permitted by the customer's CAA record.
const WORTH_ANOTHER = new Set(['rateLimited', 'serverInternal', 'caa', 'connectionFailed', 'malformedAnswer', 'timeout'])

/** The certificate authorities of this installation, first preferred. */
export function createAuthorities(config: Config, keys: OwnKeys): Authority[] {
  return config.acmeDirectories.map((directory, i) =>
    directory === 'local'
      ? createLocalAuthority({ caKeyPem: keys.localCa.keyPem, caCertPem: keys.localCa.certPem, lifetimeDays: 90 })
      : createAcmeAuthority({
          directoryUrl: directory,
          email: config.acmeEmail,
          caFile: config.acmeCaFile,
          profile: config.acmeProfile,
          eab: config.acmeEab[i] ?? undefined,
          accountKeyPem: keys.accountKeyPem,
        }),
  )
}

/** What a renewal's order names as replaced, to the one authority that knows it (RFC 9773 §5). */
export type Replaced = { directory: string | null; certId: string | undefined }

/** Orders from the first authority that delivers, and says whose it is. Rejects with the IssueError of the last one asked. */
export async function orderFrom(
  authorities: readonly Authority[],
  hostname: Hostname,
  replaced?: Replaced,
): Promise<IssuedCertificate & { directory: string }> {
  for (const [i, authority] of authorities.entries()) {
    try {
      const signal = AbortSignal.timeout(ORDERS_TIMEOUT_MS / authorities.length)
      const replaces = replaced?.directory === authority.name ? replaced.certId : undefined
      return { ...(await authority.issue(hostname, { signal, replaces })), directory: authority.name }
    } catch (error) {
      const last = i === authorities.length - 1
      if (last || !(error instanceof IssueError) || !WORTH_ANOTHER.has(error.problem.type.split(':').at(-1)!)) throw error
    }
  }
  throw new Error('no certificate authority is configured')
}
