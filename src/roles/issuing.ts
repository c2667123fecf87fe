import { type Authority, type ChallengeSolver, type IssuedCertificate, IssueError } from '../certs/authority.ts'
import { renewAt } from '../certs/certificate.ts'
import { selfCheck } from '../certs/challenge.ts'
import { thumbprintOf } from '../certs/keys.ts'
import { certIdOf, momentIn } from '../certs/renewal-info.ts'
import type { TlsAlpn } from '../certs/tls-alpn-solver.ts'
import type { Config } from '../config.ts'
import { DNS_PROBLEM } from '../core/probes.ts'
import type { HeldCertificate } from '../core/renewals.ts'
import type { Hostname } from '../hostname.ts'
import type { IssueParts } from '../jobs/issue.ts'
import type { RenewalInfoParts } from '../jobs/renewal-info.ts'
import { Lru } from '../lib/lru.ts'
import type { Probe } from '../probe/probe.ts'
import { createAuthorities, orderFrom } from './authorities.ts'
import { certificateKeys } from './certificate-keys.ts'
import type { IssuanceLedger } from './issuance-ledger.ts'
import { ownHosts } from './own-hosts.ts'
import type { OwnKeys } from './own-keys.ts'

const CHALLENGE_PROBLEM = 'urn:namesake:error:challenge'
const SOLVERS_MAX = 1_000 // each only from the look before an order to the order

export type Issuing = Pick<IssueParts, 'directories' | 'precheck' | 'order' | 'sealKey'> &
  Pick<RenewalInfoParts, 'renewalTime'> & {
    /** Whether a challenge for this hostname would reach an edge of ours; always, where no authority sends one. */
    reachesUs(hostname: Hostname): Promise<boolean>
  }

/**
 * How this installation obtains certificates: what it looks at before an order, whom it asks, how it seals the key. Control is proven by
 * HTTP-01; by TLS-ALPN-01, where that is given, if port 80 does not lead to us and port 443 does.
 */
export function createIssuing(
  config: Config,
  keys: OwnKeys,
  probe: Probe,
  ledger: IssuanceLedger,
  { tlsAlpn }: { tlsAlpn?: TlsAlpn } = {},
): Issuing {
  const authorities = createAuthorities(config, keys)
  const own = ownHosts(config)
  const solvers = new Lru<Hostname, ChallengeSolver>(SOLVERS_MAX)
  // The built-in CA validates nothing and so asks nobody.
  const port = config.acmeDirectories[0] === 'local' ? undefined : config.publicHttpPort
  const challenge = (hostname: Hostname, addresses: string[]) =>
    port === undefined ? { kind: 'ours' as const } : selfCheck({ hostname, addresses, port, thumbprint: thumbprintOf(keys.accountKeyPem) })

  return {
    directories: config.acmeDirectories,
    async reachesUs(hostname) {
      if (port === undefined) return true
      const target = await probe.leadsToEdge(hostname)
      return target.kind === 'yes' && (await challenge(hostname, target.addresses)).kind === 'ours'
    },
    async precheck(hostname) {
      if (own.has(hostname)) return { kind: 'go' } // their DNS is the operator's, and `doctor` looks at it
      const target = await probe.leadsToEdge(hostname)
      if (target.kind !== 'yes') return refuse(DNS_PROBLEM, target.sentence)
      solvers.delete(hostname)
      const answer = await challenge(hostname, target.addresses)
      if (answer.kind === 'ours') return { kind: 'go' }
      const other = await tlsAlpn?.selfCheck({ hostname, addresses: target.addresses, port: config.publicHttpsPort })
      if (tlsAlpn && other?.kind === 'ours') {
        solvers.set(hostname, tlsAlpn.solver)
        return { kind: 'go' }
      }
      // Without hairpin NAT we may not reach ourselves although the authority does: only another's answer is proof that it would fail.
      return answer.kind === 'answered-by-other' ? refuse(CHALLENGE_PROBLEM, answer.sentence) : { kind: 'go' }
    },
    order: (hostname, { permission, held }) => {
      const replaced = held && { directory: held.directory, certId: certIdOf(held.chainPem) }
      return order(() => orderFrom(authorities, hostname, { permission, ledger, replaced, solver: solvers.get(hostname) }))
    },
    renewalTime: (held, signal) => askForRenewalTime(authorities, held, signal),
    sealKey: certificateKeys(config).seal,
  }
}

function refuse(type: string, sentence: string) {
  return { kind: 'no' as const, problem: { type, detail: sentence }, sentence }
}

/** The authority's wish for its own certificate; else, and when it cannot be asked, around two thirds of the lifetime. */
async function askForRenewalTime(
  authorities: readonly Authority[],
  held: HeldCertificate,
  signal: AbortSignal,
): ReturnType<RenewalInfoParts['renewalTime']> {
  const authority = authorities.find(({ name }) => name === held.directory)
  try {
    const info = (await authority?.renewalInfo(held.chainPem, signal)) ?? { kind: 'none' }
    if (info.kind === 'none') return { kind: 'no-wish', renewAt: renewAt(held) }
    return { ...info, kind: 'wish', renewAt: momentIn(info, held) }
  } catch (error) {
    if (!(error instanceof IssueError)) throw error
    return { kind: 'failed', renewAt: renewAt(held), sentence: error.message }
  }
}

async function order(issue: () => Promise<IssuedCertificate & { directory: string }>): ReturnType<IssueParts['order']> {
  try {
    const issued = await issue()
    return { kind: 'issued', ...issued, renewAt: renewAt(issued) }
  } catch (error) {
    if (!(error instanceof IssueError)) throw error
    return { kind: 'refused', problem: error.problem, sentence: error.message, retryAfterS: error.retryAfterS }
  }
}
