import { createAcmeAuthority } from '../certs/acme-authority.ts'
import { type Authority, type IssuedCertificate, IssueError } from '../certs/authority.ts'
import { createLocalAuthority } from '../certs/local-ca.ts'
import type { Config } from '../config.ts'
import { NO_ROOM_PROBLEM } from '../core/issuance-budget.ts'
import type { Hostname } from '../hostname.ts'
import { type AuthorityOrder, createAuthorityOrder, type OrderTerms } from './authority-order.ts'
import { classOf, type RefusalClass, type Refused, summarise } from './fallover.ts'
import type { OwnKeys } from './own-keys.ts'

const ORDERS_TIMEOUT_MS = 150_000 // shared by the authorities: with the look before it, an attempt ends within its lease

// Another authority would find the same, or there is no time to ask it.
const ENDS_IT: readonly RefusalClass[] = ['hostname', 'stopping']

const NO_ROOM = 'The order from before cannot be gone on with, and no authority has room for another one now; it is tried again.'

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

/**
 * Orders from the first authority that delivers, beginning with the one that the permission names; behind an open order those before it are asked, too. One that does not answer lately, or that
 * the customer's CAA records forbid, is not asked; each further one is asked only if its limits have room. An order that was left open is
 * brought to its end; a validation that fails is tried once by another type, in an order of its own, and a challenge that could not be met
 * by another in the same order. Whatever became of an order is settled in the ledger, unless it is left open. Says whose the certificate is.
 * Rejects with OrdersRefused, which names everyone that was asked.
 */
export async function orderFrom(
  authorities: readonly Authority[],
  hostname: Hostname,
  terms: OrderTerms,
): Promise<IssuedCertificate & { directory: string }> {
  const { permission, health } = terms
  const first = authorities.findIndex(({ name }) => name === permission.directory)
  if (first < 0) throw new Error(`${permission.directory} is no authority of this installation`)
  // An order that was left open at a later one says nothing of those before it, which may be well again.
  const candidates = [...authorities.slice(first), ...(permission.resumes ? authorities.slice(0, first) : [])]
  const allDown = health !== undefined && candidates.every(({ name }) => !health.isUp(name))
  const endsAtMs = performance.now() + ORDERS_TIMEOUT_MS
  const caa =
    terms.caaOf && candidates.some(({ caaIdentities }) => caaIdentities) ? await terms.caaOf(hostname) : { kind: 'unknown' as const }
  const refusals: Refused[] = []
  const orders: AuthorityOrder[] = []
  for (const [i, authority] of candidates.entries()) {
    const signal = AbortSignal.timeout(Math.ceil(Math.max(0, endsAtMs - performance.now()) / (candidates.length - i)))
    const order = createAuthorityOrder(authority, hostname, { ...terms, caa, signal, insist: allDown && i === 0 })
    orders.push(order)
    const outcome = await order.run()
    if (outcome.kind === 'issued') {
      for (const other of orders) await other.abandon()
      return { ...outcome.issued, directory: authority.name }
    }
    if (outcome.kind === 'no-room') continue
    refusals.push(outcome)
    if (ENDS_IT.includes(classOf(outcome.error))) break
  }
  if (refusals.length === 0) throw new IssueError(NO_ROOM, { type: NO_ROOM_PROBLEM, detail: NO_ROOM })
  throw summarise(refusals, permission.full?.sentence)
}
