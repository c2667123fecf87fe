import { getServers } from 'node:dns'
import { type Hostname, isWildcard, withoutStar } from '../hostname.ts'
import { isSpecialAddress, unmapped } from '../lib/addresses.ts'
import { Lru } from '../lib/lru.ts'
import { createOnce } from '../lib/once.ts'
import { findApexAlias } from './apex-alias.ts'
import { createAuthorities } from './authority.ts'
import { type Budget, openBudget } from './budget.ts'
import { type CaaFinding, type CaaRecords, findCaa, lookUpCaa } from './caa.ts'
import { describeDelegation, type FoundDelegation, findDelegation, type WantedDelegation } from './delegation.ts'
import { createExchange } from './exchange.ts'
import { createLookup, type Finding } from './lookup.ts'
import { noAddressesYet, ownAddresses, whoseIs } from './own-addresses.ts'
import { isWithin } from './place.ts'
import { findProof } from './proof.ts'
import { createReport, type DnsReport, subjectOf } from './report.ts'
import { createResolver } from './resolver.ts'
import { describe } from './sentence.ts'
import { parseServer } from './servers.ts'
import { type Edge, type Verdict, weighProof, weighWait } from './verdict.ts'
import { type AskName, behindDnames } from './walk.ts'
import { examineClaim } from './wildcard.ts'
import { findWildcardRecord, wildcardIn } from './wildcard-record.ts'

export type ProbeSettings = {
  edgeHost: Hostname
  /** The addresses that an apex record may have; none: those of the edge host. */
  edgeIps: string[]
  /** Our other public hosts: portal and API. */
  portalHosts: string[]
  /** Recursive resolvers as `ip`, `ip:port` or `[ip]:port`; none: the system's. */
  servers: string[]
  /** Where authoritative servers listen, if not at 53; they may then have private addresses, which are never asked otherwise. */
  authoritativePort?: number
  /** The names by which our certificate authorities appear in CAA records; none: CAA is not looked at. */
  caaIssuers: string[]
}

/**
 * What a claim brings to a check: the project's proof, and the alias by which challenges may be delegated to us, where there is such a thing.
 * `sharedDomains`: those above its hostname in which others are served, so that their wildcard records are no sign of whom the name is meant for.
 * `cnameTarget`: the name that its customers are told in place of the edge host. `projectId`: by which projects share what all look-ups may ask at a time.
 */
export type Ownership = {
  proof: string
  proofNeeded: boolean
  sharedDomains?: readonly string[]
  delegation?: WantedDelegation | undefined
  cnameTarget?: Hostname | null
  projectId?: string
}

/** `turnedAway`: as in DnsReport. */
export type Destination =
  | { kind: 'yes'; addresses: string[] }
  | { kind: 'no'; sentence: string }
  | { kind: 'unknown'; sentence: string; turnedAway?: true }

export type Probe = {
  /**
   * Looks the DNS of a hostname or wildcard up, within about 10 seconds, and says what is wrong with it, if anything. What DNS does never makes it reject:
   * that is a state. It rejects with the signal's reason when the signal is aborted.
   */
  check(hostname: Hostname, ownership: Ownership, signal?: AbortSignal): Promise<DnsReport>
  /**
   * Whether visitors of the hostname come to the edge, and at which addresses: asked before a certificate is ordered. A target that differs
   * in case leads here too, and so does the project's own, `cnameTarget`. A yes is remembered for 60 seconds, or until a check says otherwise; callers
   * at the same time share one look-up.
   */
  leadsToEdge(hostname: Hostname, cnameTarget?: Hostname | null): Promise<Destination>
  /** The CAA records that count for a hostname, of a wildcard those for the name that it stands on. Never rejects. */
  caaOf(hostname: Hostname): Promise<CaaRecords>
  close(): void
}

const DESTINATIONS_MAX = 20_000
const DESTINATION_MS = 60_000

export function createProbe(settings: ProbeSettings): Probe {
  const ownEdge = readEdge(settings)
  const servers = (settings.servers.length > 0 ? settings.servers : getServers()).map(parseServer)
  const exchange = createExchange()
  const resolver = createResolver(servers, exchange)
  const authorities = createAuthorities({ resolver, exchange, port: settings.authoritativePort })
  const sureAuthorities = createAuthorities({ resolver, exchange, port: settings.authoritativePort, surely: true })
  const lookupOf = (edge: Edge) => createLookup({ resolver, authorities, sureAuthorities, edge })
  const destinations = new Lru<string, { destination: Destination; until: number }>(DESTINATIONS_MAX)
  const once = createOnce<string, Destination>()
  const ask =
    (budget: Budget): AskName =>
    (asking) =>
      resolver.resolve(asking, budget)

  async function check(hostname: Hostname, ownership: Ownership): Promise<DnsReport> {
    const budget = openBudget(ownership.projectId)
    const domain = withoutStar(hostname)
    const edge = withTarget(ownEdge, hostname, ownership.cnameTarget)
    const examined = await examineClaim(lookupOf(edge), hostname, budget)
    remember(hostname, examined, edge)
    const finding = await weighWildcardRecord(hostname, examined, ownership.sharedDomains ?? [], ask(budget))
    const isLocal = finding.view === undefined
    const led = behindDnames(domain, finding.view?.a.hops ?? []) // below a DNAME record none may stand
    const owner = led.replace(/^\*\./, '').toLowerCase()
    const proof = ownership.proofNeeded && !isLocal ? { name: `_namesake.${owner}`, value: ownership.proof } : undefined
    // A wildcard's view is of a name below the one that it stands on.
    const isAlias = !isWildcard(hostname) && (finding.view?.a.hops.length ?? 0) > 0
    let verdict: Verdict = finding.verdict
    const apexAlias = isAlias && verdict.kind === 'verified' ? await findApexAlias(authorities, hostname, budget) : undefined
    if (proof && verdict.kind === 'verified') {
      const wanted = { ...proof, hostname: owner, isAlias }
      verdict = weighProof(verdict, { ...proof, ...(await findProof({ resolver, authorities, sureAuthorities }, wanted, budget)) })
    }
    verdict = weighWait(verdict, budget)
    const witnesses = finding.servers.filter(({ says }) => !['lame', 'failed', 'silent'].includes(says))
    const wanted = isLocal ? undefined : ownership.delegation
    const found = wanted && (await findDelegation({ resolver, authorities }, { ...wanted, witnesses }, budget))
    const challenges = challengesFor(hostname, found)
    let caa: CaaFinding = { kind: 'unknown' }
    if (settings.caaIssuers.length > 0 && mayAskForCaa(finding)) {
      const wish = { issuers: settings.caaIssuers, wildcard: isWildcard(hostname), challenges }
      caa = await findCaa(resolver, domain, wish.wildcard || finding.view?.a.end !== 'no-such-name', wish, budget)
    }
    const isToBeDone = verdict.kind !== 'verified' || found?.state === 'absent' || found?.state === 'elsewhere' || caa.kind === 'forbids'
    const known =
      apexAlias ?? (isToBeDone && !isLocal ? await authorities.zoneOf(domain, { hint: finding.zone, isAlias }, budget) : undefined)
    const zone = finding.zone ?? known?.zone // whoever is to add a record must be told where: of a hostname that leads to the edge nothing has said it yet
    const seen = finding.view
    const addsBelow = !isWildcard(hostname) && (verdict.kind === 'proof-needed' || found?.state === 'absent')
    const byWildcard =
      seen?.byWildcard ?? (seen && addsBelow ? wildcardIn(await findWildcardRecord(hostname, seen, zone, ask(budget))) : undefined)
    const view = seen && { ...seen, isApex: seen.isApex || zone === hostname, ...(byWildcard !== undefined && { byWildcard }) }
    const report = {
      hostname,
      delegation: found && describeDelegation(found, { zone, required: isWildcard(hostname), hostname, byWildcard }),
      nameServers: known?.nameServers ?? [],
      finding: { ...finding, view, verdict, zone },
      edge,
      proof,
      apexAlias,
      caa: { finding: caa, issuers: settings.caaIssuers, challenges },
    }
    return createReport({ ...report, checkedAt: new Date() })
  }

  function remember(hostname: Hostname, finding: Finding, edge: Edge): Destination {
    const destination = destinationOf(hostname, finding, edge)
    // A no is not remembered: the customer may have added the record since, and another process may have seen it already.
    if (destination.kind === 'yes') destinations.set(hostname, { destination, until: performance.now() + DESTINATION_MS })
    else destinations.delete(hostname)
    return destination
  }

  return {
    async check(hostname, ownership, signal) {
      signal?.throwIfAborted()
      return unlessAborted(check(hostname, ownership), signal)
    },
    async leadsToEdge(hostname, cnameTarget) {
      const known = destinations.get(hostname)
      if (known && known.until > performance.now()) return known.destination
      const edge = withTarget(ownEdge, hostname, cnameTarget)
      return once(`${hostname} ${edge.target}`, async () =>
        remember(hostname, await examineClaim(lookupOf(edge), hostname, openBudget()), edge),
      )
    },
    async caaOf(hostname) {
      if (ownEdge.isLocal && hostname.endsWith('.localhost')) return { kind: 'none' }
      return lookUpCaa(resolver, hostname.replace(/^\*\./, ''), openBudget())
    },
    close() {
      exchange.close()
    },
  }
}

/** Takes a name for one without a record where all that leads it here is the wildcard record of a domain in which others are served. */
async function weighWildcardRecord(hostname: Hostname, finding: Finding, sharedDomains: readonly string[], ask: AskName): Promise<Finding> {
  const { verdict, view, zone } = finding
  if (verdict.kind !== 'verified' || !view || isWildcard(hostname) || sharedDomains.length === 0) return finding
  const source = await findWildcardRecord(hostname, view, zone, ask)
  if (source.kind === 'unknown') return { ...finding, verdict: { kind: 'unknown', reason: 'failed' } }
  if (source.kind === 'own' || !sharedDomains.some((domain) => isWithin(source.domain, domain))) return finding
  return { ...finding, verdict: { kind: 'absent', sharedRecord: source.name }, view: { ...view, byWildcard: source.name } }
}

function readEdge(settings: ProbeSettings): Edge {
  const addresses = settings.edgeIps.map(unmapped)
  const isLocal = settings.edgeHost.endsWith('.localhost')
  return {
    host: settings.edgeHost,
    target: settings.edgeHost,
    isLocal,
    addresses: new Set(addresses),
    ours: addresses.length > 0 || isLocal ? ownAddresses(addresses) : noAddressesYet(),
    portalHosts: new Set(settings.portalHosts.map((host) => host.toLowerCase()).filter((host) => host !== settings.edgeHost)),
  }
}

/** The edge as the customers of a project are told it; a target does not lead to itself. What is learnt of our own addresses stays common to all. */
function withTarget(edge: Edge, hostname: Hostname, cnameTarget: Hostname | null | undefined): Edge {
  return cnameTarget && cnameTarget !== hostname ? { ...edge, target: cnameTarget } : edge
}

/** Nobody could see where it leads, or it does lead here by some: that is no sign of a customer who has left. */
const LEADS_NOWHERE_SEEN: readonly Verdict['kind'][] = [
  'unknown',
  'edge-host-broken',
  'cname-target-broken',
  'dnssec-bogus',
  'lame-delegation',
  'servers-disagree',
]

function destinationOf(hostname: string, finding: Finding, edge: Edge): Destination {
  const { verdict, view } = finding
  const sentence = describe(verdict, subjectOf(hostname, finding, edge))
  if (LEADS_NOWHERE_SEEN.includes(verdict.kind)) {
    return { kind: 'unknown', sentence, ...(verdict.kind === 'unknown' && verdict.turnedAway && { turnedAway: true }) }
  }
  if (verdict.kind !== 'verified' && verdict.kind !== 'wrong-case') return { kind: 'no', sentence }
  const looked = [...(view?.a.addresses ?? []), ...(view?.aaaa?.addresses ?? [])]
  if (looked.length === 0 && edge.isLocal) return { kind: 'yes', addresses: [...edge.addresses] }
  if (looked.length === 0) return { kind: 'no', sentence }
  // A zone may name what only we can reach beside the edge, and we would visit it. Where there is nothing else, the edge itself is on a private network.
  const reachable = looked.filter((address) => whoseIs(unmapped(address), edge) === 'ours' || !isSpecialAddress(address))
  return { kind: 'yes', addresses: reachable.length > 0 ? reachable : looked }
}

/** Where nobody answers for the hostname, nobody will for its CAA records. */
function mayAskForCaa({ verdict, view }: Finding): boolean {
  return view !== undefined && verdict.kind !== 'unknown' && verdict.kind !== 'dnssec-bogus' && verdict.kind !== 'lame-delegation'
}

/** By which control of the name may be proven to an authority: by DNS where that is delegated to us, for all that is known. */
function challengesFor(hostname: Hostname, delegation: FoundDelegation | undefined): string[] {
  if (isWildcard(hostname)) return ['dns-01']
  const byDns = delegation?.state === 'present' || delegation?.state === 'unknown'
  return ['http-01', 'tls-alpn-01', ...(byDns ? ['dns-01'] : [])]
}

function unlessAborted<T>(task: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return task
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    void task.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}
