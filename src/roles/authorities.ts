import { createAcmeAuthority } from '../certs/acme-authority.ts'
import { type Authority, type ChallengeSolver, type IssuedCertificate, IssueError } from '../certs/authority.ts'
import { createLocalAuthority } from '../certs/local-ca.ts'
import type { Config } from '../config.ts'
import type { IssuancePermission } from '../core/certificates.ts'
import type { Hostname } from '../hostname.ts'
import type { IssuanceLedger } from './issuance-ledger.ts'
import type { OwnKeys } from './own-keys.ts'

const ORDERS_TIMEOUT_MS = 150_000 // shared by the authorities: with the look before it, an attempt ends within its lease

// What the next authority may do better than this one: it was out of reach, at a limit, or is not permitted by the customer's CAA record.
const WORTH_ANOTHER = new Set(['rateLimited', 'serverInternal', 'caa', 'connectionFailed', 'malformedAnswer', 'timeout'])

// RFC 8555 §6.7: the errors that a challenge ends with.
const VALIDATION_FAILED = new Set(['unauthorized', 'dns', 'connection', 'incorrectResponse', 'tls', 'caa'])

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

/** What an order goes out with: the room that was taken for it, and where more is to be had; `solver` as for Authority. */
export type OrderTerms = {
  permission: IssuancePermission
  ledger: IssuanceLedger
  replaced?: Replaced | undefined
  solver?: ChallengeSolver | undefined
}

/**
 * Orders from the first authority that delivers, beginning with the one that the permission names; each further one is asked only if its
 * limits have room. Whatever became of an order is settled in the ledger. Says whose the certificate is. Rejects with the IssueError of the last one asked.
 */
export async function orderFrom(
  authorities: readonly Authority[],
  hostname: Hostname,
  terms: OrderTerms,
): Promise<IssuedCertificate & { directory: string }> {
  const { permission, ledger, replaced, solver } = terms
  const first = authorities.findIndex(({ name }) => name === permission.directory)
  let refused: unknown = new Error(`${permission.directory} is no authority of this installation`)
  for (const authority of first < 0 ? [] : authorities.slice(first)) {
    const { name: directory } = authority
    const room = directory === permission.directory ? permission : await ledger.take(directory, hostname, permission)
    if (!room) continue
    try {
      const replaces = replaced?.directory === directory ? replaced.certId : undefined
      const timeoutMs = ORDERS_TIMEOUT_MS / authorities.length
      return { ...(await orderOnce(authority, hostname, { orderId: room.orderId, ledger, timeoutMs, replaces, solver })), directory }
    } catch (error) {
      refused = error
      if (!(error instanceof IssueError) || !WORTH_ANOTHER.has(kindOf(error))) break
    }
  }
  throw refused
}

type OrderSettings = Pick<OrderTerms, 'ledger' | 'solver'> & { orderId: string | null; timeoutMs: number; replaces: string | undefined }

async function orderOnce(
  authority: Authority,
  hostname: Hostname,
  { orderId, ledger, timeoutMs, replaces, solver }: OrderSettings,
): Promise<IssuedCertificate> {
  let sent = false
  try {
    const issued = await authority.issue(hostname, {
      signal: AbortSignal.timeout(timeoutMs),
      replaces,
      solver,
      onOrder: () => (sent = true),
    })
    await ledger.settle(orderId, 'issued')
    return issued
  } catch (error) {
    await ledger.settle(orderId, sent ? outcomeOf(error) : 'not-sent')
    if (error instanceof IssueError && kindOf(error) === 'rateLimited') {
      await ledger.correct({
        directory: authority.name,
        hostname,
        detail: error.problem.detail ?? error.message,
        retryAfterS: error.retryAfterS ?? 0,
      })
    }
    throw error
  }
}

function outcomeOf(error: unknown): 'invalid' | 'refused' {
  return error instanceof IssueError && VALIDATION_FAILED.has(kindOf(error)) ? 'invalid' : 'refused'
}

function kindOf({ problem }: IssueError): string {
  return problem.type.split(':').at(-1)!
}
