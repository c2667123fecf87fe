import type { Unsaid } from './authority.ts'
import { type Budget, wasKeptWaiting } from './budget.ts'
import { editDistance } from './edit-distance.ts'
import { type OwnAddresses, whoseIs } from './own-addresses.ts'
import { inOneDomain, isPublicSuffix, registeredDomain } from './place.ts'
import type { FoundProof, ProofMistake } from './proof.ts'
import { proxyBehind, proxyOf } from './proxies.ts'
import { hostNameIn, withoutDomain } from './target.ts'
import type { Hop, Walk } from './walk.ts'

/**
 * What names are compared with. `addresses`, those that the operator has set, may be entered as a record; `ours` are those that count as the edge's: the same
 * or, where none are set, the edge host's own, as far as they could be looked up. Both in canonical form. `portalHosts` are our other hosts, which
 * customers mistake for the edge. `target` is what customers are told to enter: the edge host, or a name of their vendor's own that leads to it.
 * `isLocal`: the edge host is under .localhost, which resolves without any DNS server (RFC 6761 §6.3).
 */
export type Edge = {
  host: string
  target: string
  isLocal: boolean
  addresses: ReadonlySet<string>
  ours: OwnAddresses
  portalHosts: ReadonlySet<string>
}

/**
 * What one source, the resolver or one authoritative server, says of a hostname. `aaaa` is missing where `a` says enough.
 * `texts` (TXT values at the name) and `doubled` (the name with its zone appended once more, by a record of its own) are looked for only when nothing is right,
 * as are `dname`, the target of a DNAME record at the name itself, and `twin`, the name with or without www before it, where that leads to the edge.
 * `byWildcard`: the name of the wildcard record (`*.customer.com`) that what was found is from, so there is none of the name's own to change or remove.
 */
export type View = {
  a: Walk
  aaaa?: Walk
  isApex: boolean
  texts?: string[]
  doubled?: { at: string; walk: Walk }
  dname?: string | undefined
  twin?: string
  byWildcard?: string
}

/**
 * The `addresses` of a doubled host are those that the hostname itself has, elsewhere.
 * The `record` of what is unknown or bogus: the CNAME that leads to a name which cannot be resolved; without one it is the hostname itself that cannot be.
 * `sharedRecord`: the wildcard record that leads the hostname here, as it does names of others. `dname`: where a DNAME record at the hostname leads the names below it.
 * `resolver`: our own gives no answer for the edge host, so that nothing can be seen, or not whether an address is ours. `busy`: we had no place or no time
 * left to ask; `turnedAway`: for a question there was no place at all. `dead`: the name servers of which none has an answer. `unsigned`: the zone has no signatures, though its parent says that it has.
 */
export type Verdict =
  | { kind: 'verified'; via: 'cname' | 'cname-target' | 'addresses' | 'local' }
  | { kind: 'absent'; unregistered?: string; sharedRecord?: string; dname?: string }
  | { kind: 'wrong-target'; record: Hop | undefined; addresses: string[] }
  | { kind: 'wrong-case' | 'typo-in-target' | 'missing-final-dot' | 'target-is-portal'; record: Hop }
  | { kind: 'doubled-host'; at: string; addresses?: string[] }
  | { kind: 'value-in-txt'; text: string }
  | { kind: 'proxied'; by: string; addresses: string[] }
  | { kind: 'apex-not-pointing'; addresses: string[] }
  | { kind: 'mixed-addresses'; ours: string[]; others: string[] }
  | { kind: 'stale-aaaa'; addresses: string[] }
  | { kind: 'loop'; hops: Hop[] }
  | { kind: 'lame-delegation'; zone: string; servers: string[] }
  | { kind: 'servers-disagree'; zone: string; right: string[]; wrong: string[] }
  | { kind: 'dnssec-bogus'; record?: Hop; unsigned?: true }
  | { kind: 'edge-host-broken' }
  | { kind: 'cname-target-broken' }
  | { kind: 'proof-needed'; name: string; proof: string; mistake?: ProofMistake }
  | {
      kind: 'unknown'
      reason: 'silent' | 'failed' | 'bogus' | 'resolver' | 'busy'
      turnedAway?: true
      record?: Hop
      dead?: { zone: string; servers: string[] }
    }

const TYPO_LETTERS_MAX = 2

/** Judges one source's view. The specification's comparison is exact: a target that differs in case only is not verified. */
export function judgeView(hostname: string, view: View, edge: Edge): Verdict {
  if (passesTarget(view.a, edge)) return judgeBehindTarget(view, edge)
  const reached = view.a.hops.find((hop) => hop.target.toLowerCase() === edge.host)
  if (reached) return judgeReached(reached, view, edge)
  if (hostname === edge.host) return judgeResolving(view, edge)
  const mistake = view.a.hops.map((hop) => findMistake(hostname, hop, edge)).find((verdict) => verdict !== undefined)
  // Also of a circle: a wildcard record whose value has the domain appended answers for that value too.
  if (mistake) return mistake
  if (view.a.end === 'loop') return { kind: 'loop', hops: view.a.hops }
  const { end } = view.a
  if (end === 'bogus' || end === 'failed' || end === 'silent') return judgeUnresolved(end, view.a.hops, edge)
  return view.a.hops.length > 0 ? judgeOtherTarget(view) : judgeAddresses(hostname, view, edge)
}

/**
 * Weighs what the zone's authoritative servers say against the resolver's verdict, which may be an old memory. All that answer right: verified.
 * Some right: they disagree. None right: theirs counts, as it is fresher, also where the record that they have leads to what cannot be resolved.
 * Some have addresses of which nobody knows whether they are ours, and none right: that is not the customer's to mend, whatever the others say.
 * None answers at all, and the resolver knows nothing either: they are lame, or dead where one is silent or fails.
 */
export function weigh(
  resolver: Verdict,
  zone: string,
  servers: { name: string; verdict: Verdict | Unsaid }[],
): { verdict: Verdict; from: number | 'resolver' } {
  const named = (wanted: (verdict: Verdict | Unsaid) => boolean) =>
    servers.filter((server) => wanted(server.verdict)).map((server) => server.name)
  const right = named((verdict) => typeof verdict === 'object' && verdict.kind === 'verified')
  const wrong = named((verdict) => typeof verdict === 'object' && verdict.kind !== 'verified' && verdict.kind !== 'unknown')
  if (right.length > 0 && wrong.length > 0)
    return { verdict: { kind: 'servers-disagree', zone, right, wrong }, from: firstOf(servers, wrong) }
  const unsure = servers.findIndex(({ verdict }) => typeof verdict === 'object' && isOurLack(verdict))
  if (right.length === 0 && unsure !== -1) return { verdict: servers[unsure]!.verdict as Verdict, from: unsure }
  if (right.length > 0 || wrong.length > 0) {
    const from = firstOf(servers, right.length > 0 ? right : wrong)
    return { verdict: servers[from]!.verdict as Verdict, from }
  }
  const leading = servers.findIndex(({ verdict }) => typeof verdict === 'object' && verdict.kind === 'unknown' && verdict.record)
  if (leading !== -1) return { verdict: servers[leading]!.verdict as Verdict, from: leading }
  const lame = named((verdict) => verdict === 'lame')
  const without = named((verdict) => typeof verdict === 'string')
  if (resolver.kind === 'unknown' && !resolver.record && !isOurLack(resolver) && without.length > 0 && without.length === servers.length) {
    if (lame.length === servers.length) return { verdict: { kind: 'lame-delegation', zone, servers: lame }, from: 'resolver' }
    return { verdict: { ...resolver, dead: { zone, servers: without } }, from: 'resolver' }
  }
  return { verdict: resolver, from: 'resolver' }
}

/** There is an answer, and all that is unknown is whether the addresses in it are ours. */
function isOurLack(verdict: Verdict): boolean {
  return verdict.kind === 'unknown' && verdict.reason === 'resolver'
}

/** Whether the hostname has an NS record with the edge host, which makes it a zone of its own that nobody serves. */
export function isOursByMistake(verdict: Verdict, hostname: string, edge: Edge): boolean {
  const delegated = verdict.kind === 'lame-delegation' ? verdict : verdict.kind === 'unknown' ? verdict.dead : undefined
  return delegated?.zone === hostname && delegated.servers.some((server) => server === edge.host || server === edge.target)
}

/** Whether a record leads to where nothing is to be changed: into the edge host's own domain, or to the vendor's target. */
export function leadsToOurs({ target }: Hop, edge: Edge): boolean {
  return inOneDomain(target.toLowerCase(), edge.host) || target.toLowerCase() === edge.target
}

/** Whether a name is led to the vendor's own target, where there is one. */
export function passesTarget(walk: Walk, edge: Edge): boolean {
  return edge.target !== edge.host && walk.hops.some((hop) => hop.target.toLowerCase() === edge.target)
}

/** Puts the proof, where one is needed, on top of a verdict. */
export function weighProof(verdict: Verdict, proof: { name: string; value: string } & FoundProof): Verdict {
  if (verdict.kind !== 'verified' || proof.found === 'yes') return verdict
  if (proof.found === 'unknown') return { kind: 'unknown', reason: 'failed' }
  const { name, value, mistake } = proof
  return { kind: 'proof-needed', name, proof: value, ...(mistake && { mistake }) }
}

/** What a look-up did not see because it was kept waiting may be the record that is right: that the hostname leads here is all that is believed then. */
export function weighWait(verdict: Verdict, budget: Budget): Verdict {
  if (verdict.kind === 'verified' || !wasKeptWaiting(budget)) return verdict
  return { kind: 'unknown', reason: 'busy', ...(budget.turns.wereTurnedAway && { turnedAway: true }) }
}

function firstOf(servers: { name: string }[], names: string[]): number {
  return servers.findIndex((server) => server.name === names[0])
}

/** The customer's record is right. The target leads on to the edge host, or has its addresses alone; else its owner has to mend that. */
function judgeBehindTarget(view: View, edge: Edge): Verdict {
  const { a, aaaa } = view
  const verified: Verdict = { kind: 'verified', via: 'cname-target' }
  if (a.hops.some((hop) => hop.target.toLowerCase() === edge.host)) {
    const verdict = judgeResolving(view, edge)
    return verdict.kind === 'verified' ? verified : verdict
  }
  const reason = [a.end, aaaa?.end].find((end) => end === 'silent' || end === 'failed' || end === 'bogus')
  if (reason) return { kind: 'unknown', reason, record: a.hops.find((hop) => hop.target.toLowerCase() === edge.target)! }
  // Without an alias before them, AAAA addresses are the customer's own.
  const addresses = [...a.addresses, ...(aaaa && aaaa.hops.length > 0 ? aaaa.addresses : [])]
  const whose = addresses.map((address) => whoseIs(address, edge))
  if (whose.length === 0 || whose.includes('elsewhere')) return { kind: 'cname-target-broken' }
  return whose.includes('unknown') ? { kind: 'unknown', reason: 'resolver' } : verified
}

function judgeReached(hop: Hop, view: View, edge: Edge): Verdict {
  return hop.target === edge.host ? judgeResolving(view, edge) : { kind: 'wrong-case', record: hop }
}

/** The hostname leads to the edge host, or is it: what is left to say is whether that resolves. */
function judgeResolving(view: View, edge: Edge): Verdict {
  if (edge.isLocal || addressesOf(view).length > 0) return { kind: 'verified', via: 'cname' }
  return view.a.end === 'silent' || view.aaaa?.end === 'silent' ? { kind: 'unknown', reason: 'silent' } : { kind: 'edge-host-broken' }
}

function findMistake(hostname: string, hop: Hop, edge: Edge): Verdict | undefined {
  if (hop.dname) return undefined
  const target = hostNameIn(hop.target)
  if (edge.portalHosts.has(target)) return { kind: 'target-is-portal', record: hop }
  if (isNearly(withoutDomain(target, hostname), edge)) return { kind: 'missing-final-dot', record: hop }
  return isNearly(target, edge) ? { kind: 'typo-in-target', record: hop } : undefined
}

function isNearly(name: string | undefined, { host, target }: Edge): boolean {
  return name !== undefined && [host, target].some((wanted) => editDistance(name, wanted, TYPO_LETTERS_MAX) <= TYPO_LETTERS_MAX)
}

/**
 * The zone of the hostname has answered once there is a hop, so the failure is not its own. The first record is the customer's, and is right once it has
 * the edge host as its value, whatever became of the other name. A chain into the edge host's own domain may be right as it is.
 */
function judgeUnresolved(reason: 'silent' | 'failed' | 'bogus', hops: Hop[], edge: Edge): Verdict {
  const ours = hops.find((hop) => leadsToOurs(hop, edge))
  if (ours) return { kind: 'unknown', reason, record: ours }
  const record = hops[0] && { record: hops[0] }
  // Wrong signatures were refused twice: that is no moment's failure.
  return reason === 'bogus' ? { kind: 'dnssec-bogus', ...record } : { kind: 'unknown', reason, ...record }
}

function judgeOtherTarget(view: View): Verdict {
  const addresses = addressesOf(view)
  const [first] = view.a.hops
  const by = first!.dname ? undefined : proxyBehind(view.a.hops.at(-1)!.target)
  return by === undefined ? { kind: 'wrong-target', record: first, addresses } : { kind: 'proxied', by, addresses }
}

function judgeAddresses(hostname: string, view: View, edge: Edge): Verdict {
  const all = addressesOf(view)
  const aaaa = view.aaaa?.addresses ?? []
  const ours = all.filter((address) => whoseIs(address, edge) === 'ours')
  const others = all.filter((address) => whoseIs(address, edge) === 'elsewhere')
  if (all.length === 0) return judgeNothing(hostname, view, edge)
  if (ours.length === all.length) return judgeOnlyOurs(view)
  // Those that are left may be ours: they are not to be removed, and no proof that all is right.
  if (others.length === 0) return { kind: 'unknown', reason: 'resolver' }
  if (ours.length > 0 && others.length === aaaa.length && others.every((address) => aaaa.includes(address)))
    return { kind: 'stale-aaaa', addresses: aaaa }
  if (ours.length > 0) return { kind: 'mixed-addresses', ours, others }
  const by = proxyOf(all)
  if (by !== undefined) return { kind: 'proxied', by, addresses: all }
  const text = edgeText(view, edge)
  if (text !== undefined) return { kind: 'value-in-txt', text }
  const doubled = judgeDoubled(view, edge)
  if (doubled) return { ...doubled, addresses: others }
  return view.isApex ? { kind: 'apex-not-pointing', addresses: others } : { kind: 'wrong-target', record: undefined, addresses: others }
}

/** All known addresses are ours; whether there are others is unknown while one family could not be asked for. */
function judgeOnlyOurs(view: View): Verdict {
  const end = view.aaaa?.end
  if (end === 'bogus') return { kind: 'dnssec-bogus' }
  return end === 'failed' || end === 'silent' ? { kind: 'unknown', reason: end } : { kind: 'verified', via: 'addresses' }
}

function judgeNothing(hostname: string, view: View, edge: Edge): Verdict {
  const text = edgeText(view, edge)
  if (text !== undefined) return { kind: 'value-in-txt', text }
  const doubled = judgeDoubled(view, edge)
  if (doubled) return doubled
  const end = view.aaaa?.end
  if (end === 'failed' || end === 'silent') return { kind: 'unknown', reason: end }
  if (view.dname !== undefined) return { kind: 'absent', dname: view.dname }
  const unregistered = view.a.end === 'no-such-name' && view.a.zone !== undefined && isPublicSuffix(view.a.zone)
  return unregistered ? { kind: 'absent', unregistered: registeredDomain(hostname) } : { kind: 'absent' }
}

function judgeDoubled({ doubled }: View, edge: Edge): (Verdict & { kind: 'doubled-host' }) | undefined {
  return doubled && leadsToEdge(doubled.walk, edge) ? { kind: 'doubled-host', at: doubled.at } : undefined
}

/** Whether a name leads to the edge, by an alias or by its addresses. */
export function leadsToEdge(walk: Walk, edge: Edge): boolean {
  const ours = walk.addresses.length > 0 && walk.addresses.every((address) => whoseIs(address, edge) === 'ours')
  return ours || walk.hops.some((hop) => hop.target.toLowerCase() === edge.host)
}

function edgeText(view: View, edge: Edge): string | undefined {
  return view.texts?.find((text) => [edge.host, edge.target].some((name) => text.toLowerCase().includes(name)))
}

function addressesOf(view: View): string[] {
  return [...view.a.addresses, ...(view.aaaa?.addresses ?? [])]
}
