import { type Authority, HTTP_01, type IssuedCertificate, IssueError } from '../certs/authority.ts'
import { renewAt } from '../certs/certificate.ts'
import { selfCheck } from '../certs/challenge.ts'
import { thumbprintOf } from '../certs/keys.ts'
import { certIdOf, momentIn } from '../certs/renewal-info.ts'
import type { TlsAlpn } from '../certs/tls-alpn-solver.ts'
import type { Config } from '../config.ts'
import type { IssuancePermission } from '../core/certificates.ts'
import type { DueProbe } from '../core/probes.ts'
import type { HeldCertificate } from '../core/renewals.ts'
import type { Hostname } from '../hostname.ts'
import type { IssueParts } from '../jobs/issue.ts'
import type { RenewalInfoParts } from '../jobs/renewal-info.ts'
import type { Probe } from '../probe/probe.ts'
import { createAuthorities, orderFrom } from './authorities.ts'
import type { AuthorityHealth } from './authority-health.ts'
import { certificateKeys } from './certificate-keys.ts'
import { beginningWith } from './challenge-choice.ts'
import type { DelegatedChallenges } from './delegated-challenges.ts'
import { OrdersRefused } from './fallover.ts'
import type { IssuanceLedger } from './issuance-ledger.ts'
import type { KeptOrders } from './kept-orders.ts'
import { ownHosts } from './own-hosts.ts'
import type { OwnKeys } from './own-keys.ts'
import { createPrecheck } from './precheck.ts'

export type Issuing = Pick<IssueParts, 'directories' | 'precheck' | 'order' | 'sealKey'> &
  Pick<RenewalInfoParts, 'renewalTime'> & {
    /** Whether a challenge for this hostname would reach an edge of ours; always, where no authority sends one. */
    reachesUs(hostname: Hostname): Promise<boolean>
  }

/** What an installation may have beside HTTP-01 and a ledger. */
export type IssuingParts = {
  health?: AuthorityHealth
  kept?: KeptOrders
  tlsAlpn?: TlsAlpn
  dns01?: Pick<DelegatedChallenges, 'solver' | 'delegationOf'> | undefined
  /** Whether a later attempt than the permission's has begun. Never rejects. */
  isOvertaken?: (hostname: Hostname, permission: IssuancePermission) => Promise<boolean>
  /** A claim that is not verified, in domains in which other projects are. */
  findClaimBesideOthers?: (hostname: Hostname) => Promise<DueProbe | undefined>
}

/** How this installation obtains certificates: what it looks at before an order, whom it asks, how it seals the key. */
export function createIssuing(config: Config, keys: OwnKeys, probe: Probe, ledger: IssuanceLedger, parts: IssuingParts = {}): Issuing {
  const authorities = createAuthorities(config, keys)
  const own = ownHosts(config)
  // The built-in CA validates nothing and so asks nobody.
  const port = config.acmeDirectories[0] === 'local' ? undefined : config.publicHttpPort
  const challenge = (hostname: Hostname, addresses: string[]) =>
    port === undefined ? { kind: 'ours' as const } : selfCheck({ hostname, addresses, port, thumbprint: thumbprintOf(keys.accountKeyPem) })
  const checkTls = async (hostname: Hostname, addresses: string[]) =>
    parts.tlsAlpn?.selfCheck({ hostname, addresses, port: config.publicHttpsPort })
  const solvers = [HTTP_01, parts.tlsAlpn?.solver, parts.dns01?.solver].filter((solver) => solver !== undefined)

  return {
    directories: config.acmeDirectories,
    async reachesUs(hostname) {
      if (port === undefined) return true
      const target = await probe.leadsToEdge(hostname)
      if (target.kind !== 'yes') return false
      if ((await challenge(hostname, target.addresses)).kind === 'ours') return true
      return (await checkTls(hostname, target.addresses))?.kind === 'ours'
    },
    precheck: createPrecheck({
      isOwn: (hostname) => own.has(hostname),
      leadsToEdge: (hostname) => probe.leadsToEdge(hostname),
      checkHttp: async (hostname, addresses) => challenge(hostname, addresses),
      checkTls,
      delegationOf: async (hostname) => parts.dns01?.delegationOf(hostname),
      async lookBesideOthers(hostname) {
        const claim = await parts.findClaimBesideOthers?.(hostname)
        return claim && probe.check(hostname, claim)
      },
      offered: solvers.map(({ type }) => type),
      isValidating: port !== undefined,
    }),
    order: (hostname, { permission, held, ways = ['http-01'] }) => {
      const replaced = held?.directory ? { directory: held.directory, certId: certIdOf(held.chainPem) } : undefined // what was brought, no authority knows
      const usable = beginningWith(permission.attempt, ways).flatMap((way) => solvers.filter(({ type }) => type === way))
      const { health, kept } = parts
      const caaOf = (name: Hostname) => probe.caaOf(name)
      const isOvertaken = async () => (await parts.isOvertaken?.(hostname, permission)) ?? false
      const terms = { permission, ledger, replaced, solvers: usable, health, kept, caaOf, isOvertaken }
      return outcomeOf(() => orderFrom(authorities, hostname, terms))
    },
    renewalTime: (held, signal) => askForRenewalTime(authorities, held, signal),
    sealKey: certificateKeys(config).seal,
  }
}

/**
 * The authority's wish for its own certificate; else, and when it cannot be asked, around two thirds of the lifetime. One of which we do not
 * know who issued it is the first authority's if that one knows it.
 */
export async function askForRenewalTime(
  authorities: readonly Authority[],
  held: HeldCertificate,
  signal: AbortSignal,
): ReturnType<RenewalInfoParts['renewalTime']> {
  const authority = held.directory === null ? authorities[0] : authorities.find(({ name }) => name === held.directory)
  try {
    const info = (await authority?.renewalInfo(held.chainPem, signal)) ?? { kind: 'none' }
    if (info.kind === 'none') return { kind: 'no-wish', renewAt: renewAt(held) }
    return { ...info, kind: 'wish', directory: authority!.name, from: info.start, renewAt: momentIn(info, held) }
  } catch (error) {
    if (!(error instanceof IssueError)) throw error
    if (held.directory === null) return { kind: 'no-wish', renewAt: renewAt(held) }
    return { kind: 'failed', renewAt: renewAt(held), sentence: error.message }
  }
}

/** What an order comes to: an authority's refusal is an outcome. */
export async function outcomeOf(issue: () => Promise<IssuedCertificate & { directory: string }>): ReturnType<IssueParts['order']> {
  try {
    const issued = await issue()
    return { kind: 'issued', ...issued, renewAt: renewAt(issued) }
  } catch (error) {
    if (!(error instanceof IssueError)) throw error
    return {
      kind: 'refused',
      problem: error.problem,
      sentence: error.message,
      retryAfterS: error.retryAfterS,
      outage: error instanceof OrdersRefused && error.outage,
      awaitsRoom: error instanceof OrdersRefused && error.awaitsRoom,
    }
  }
}
