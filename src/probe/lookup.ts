import { RCODE } from '../lib/dns-message.ts'
import type { Authorities, NameServer, Statement, Unsaid } from './authority.ts'
import { type Budget, openBudgetAside } from './budget.ts'
import { learnOwnAddresses } from './own-addresses.ts'
import { isWithin, placeOf, registeredDomain } from './place.ts'
import { textsOf } from './proof.ts'
import type { Reply, Resolver } from './resolver.ts'
import { sampleUnder } from './sample.ts'
import { lookAtSignatures, type Signatures } from './signatures.ts'
import {
  type Edge,
  isOursByMistake,
  judgeView,
  leadsToEdge,
  leadsToOurs,
  passesTarget,
  type Verdict,
  type View,
  weigh,
  weighWait,
} from './verdict.ts'
import { type AskName, askForAlias, type Walk, walk } from './walk.ts'
import { findWildcardRecord, wildcardIn } from './wildcard-record.ts'

/** A verdict with what it rests on. `servers` says what each authoritative server holds; empty when none had to be, or could be, asked. */
export type Finding = {
  verdict: Verdict
  view: View | undefined
  zone: string | undefined
  servers: { name: string; address: string; says: string }[]
}

export type Lookup = {
  /**
   * Looks a hostname up and judges it. A verdict other than verified is confirmed at the zone's authoritative servers where they can be reached; that
   * they find it verified after all is believed where they say so over TCP too. A `sample` stands for a wildcard, so it is no news that a wildcard
   * record answers for it. Where nothing could be found out, it says whether that is our own resolver's fault.
   */
  examine(hostname: string, budget: Budget, sample?: 'sample'): Promise<Finding>
}

type Witness = { server: NameServer; view: View | undefined; verdict: Verdict | Unsaid }
type Heard = { finding: Finding; from: number | 'resolver'; answering: NameServer | undefined }

/** `sureAuthorities` ask over TCP: whoever has had us ask a server of theirs knows our ports, and could forge what others say over UDP. */
export function createLookup(parts: { resolver: Resolver; authorities: Authorities; sureAuthorities: Authorities; edge: Edge }): Lookup {
  const { resolver, authorities, sureAuthorities, edge } = parts

  async function examine(hostname: string, budget: Budget, sample?: 'sample'): Promise<Finding> {
    if (edge.isLocal && hostname.endsWith('.localhost')) {
      return { verdict: { kind: 'verified', via: 'local' }, view: undefined, zone: undefined, servers: [] }
    }
    const judged = await judge(hostname, budget, sample)
    const finding = { ...judged, verdict: weighWait(judged.verdict, budget) }
    const isBlind = foundNothingOut(finding.verdict) && !edge.isLocal && !(await resolverAnswers())
    return isBlind ? { ...finding, verdict: { kind: 'unknown', reason: 'resolver' } } : finding
  }

  /** A resolver that gives no answer for our own name either says nothing of the customer's servers. */
  async function resolverAnswers(): Promise<boolean> {
    const control = await resolver.resolve({ name: edge.host, type: 'A' }, openBudgetAside())
    return control.kind === 'answer' || (control.kind === 'refused' && control.rcode !== RCODE.refused)
  }

  async function judge(hostname: string, budget: Budget, sample: 'sample' | undefined): Promise<Finding> {
    const ask: AskName = (asking) => resolver.resolve(asking, budget)
    const askBriefly: AskName = (asking) => resolver.resolve(asking, briefly(budget))
    const [view] = await Promise.all([viewOfResolver(hostname, edge, ask, askBriefly), learnOwnAddresses(edge, resolver)])
    const verdict = judgeView(hostname, view, edge)
    if (isBogus(verdict)) return withSignatures(view, await lookAtSignatures(hostname, ask))
    if (isFinal(verdict)) return { verdict, view, zone: view.a.zone, servers: [] }
    let heard = await hear(authorities, hostname, { view, verdict }, budget)
    if (heard.finding.verdict.kind === 'verified') {
      heard = await hear(sureAuthorities, hostname, { view, verdict }, budget)
      // None of them can be asked over TCP: the resolver will know within the hour.
      if (heard.from === 'resolver') return { ...heard.finding, verdict: { kind: 'unknown', reason: 'silent' } }
    }
    const { finding, answering } = heard
    const askZone: AskName = (asking) => (answering ? authorities.ask(answering, asking, budget) : resolver.resolve(asking, budget))
    const explained = await explain(hostname, finding, askZone, budget)
    return sample ? explained : lookForWildcard(explained, blamedName(hostname, explained.verdict, edge), askZone, budget)
  }

  async function hear(asked: Authorities, hostname: string, known: { view: View; verdict: Verdict }, budget: Budget): Promise<Heard> {
    const { view, verdict } = known
    const zone = view.a.zone
    const testimony = await asked.consult(hostname, { hint: zone, isAlias: view.a.hops.length > 0 }, budget)
    const witnesses = await Promise.all(
      (testimony?.statements ?? []).map((statement) => question(asked, hostname, testimony!.zone, statement, budget)),
    )
    const servers = witnesses.map(({ server, verdict: says }) => ({ name: server.name, verdict: says }))
    const weighed = weigh(verdict, testimony?.zone ?? zone ?? registeredDomain(hostname), servers)
    const finding = {
      verdict: weighed.verdict,
      view: weighed.from === 'resolver' ? view : witnesses[weighed.from]!.view!,
      zone: isOursByMistake(weighed.verdict, hostname, edge) ? undefined : (testimony?.zone ?? zone),
      servers: witnesses.map(({ server, verdict: says }) => ({ ...server, says: typeof says === 'string' ? says : says.kind })),
    }
    return { finding, from: weighed.from, answering: witnesses.find((witness) => witness.view !== undefined)?.server }
  }

  async function question(asked: Authorities, hostname: string, zone: string, statement: Statement, budget: Budget): Promise<Witness> {
    const { server } = statement
    const ask: AskName = (asking) => resolver.resolve(asking, budget)
    if (statement.kind !== 'answer') return { server, view: undefined, verdict: statement.kind }
    const a = await walk(hostname, 'A', ask, statement)
    const view: View = { a, isApex: hostname === zone || hostname === registeredDomain(hostname) }
    const last = a.hops.at(-1)?.target
    if (last !== undefined && (a.end === 'no-data' || (a.end === 'addresses' && passesTarget(a, edge)))) {
      const rest = await walk(last, 'AAAA', ask)
      view.aaaa = { ...rest, hops: [...a.hops, ...rest.hops] }
    }
    if (last === undefined && a.end !== 'no-such-name') {
      view.aaaa = await walk(hostname, 'AAAA', ask, await asked.ask(server, { name: hostname, type: 'AAAA' }, budget))
    }
    return { server, view, verdict: judgeView(hostname, view, edge) }
  }

  /** Where nothing is right, looks for the usual mistakes that the hostname's own address records cannot show. */
  async function explain(hostname: string, finding: Finding, askZone: AskName, budget: Budget): Promise<Finding> {
    const { verdict, view } = finding
    if (!view || !lacksCause(verdict)) return finding
    const explained = { ...view }
    if (view.a.end !== 'no-such-name') explained.texts = textsOf(await askZone({ name: hostname, type: 'TXT' }))
    if (view.a.end === 'no-data') explained.dname = dnameAt(hostname, await askZone({ name: hostname, type: 'DNAME' }))
    explained.doubled = await lookForDoubled(hostname, finding, askZone, budget)
    explained.twin = await lookForTwin(hostname, finding, askZone, budget)
    return { ...finding, view: explained, verdict: judgeView(hostname, explained, edge) }
  }

  async function lookForDoubled(hostname: string, finding: Finding, askZone: AskName, budget: Budget): Promise<View['doubled']> {
    const { zone } = placeOf(hostname, finding.zone)
    const at = `${hostname}.${zone}`
    if (at.length > 253) return undefined
    const follow = (name: string) => followFrom(name, askZone, budget)
    const found = await follow(at)
    if (!leadsToEdge(found, edge)) return undefined
    // The zone's wildcard record answers for names of any number of labels (RFC 4592 §2.2.1), so for this one too.
    const sample = await follow(sampleUnder(zone))
    const isItsOwn = !leadsToEdge(sample, edge) && sample.end !== 'silent' && sample.end !== 'failed'
    return isItsOwn ? { at, walk: found } : undefined
  }

  async function lookForTwin(hostname: string, finding: Finding, askZone: AskName, budget: Budget): Promise<string | undefined> {
    const twin = twinOf(hostname, finding.zone)
    return twin !== undefined && leadsToEdge(await followFrom(twin, askZone, budget), edge) ? twin : undefined
  }

  async function followFrom(name: string, askZone: AskName, budget: Budget): Promise<Walk> {
    return walk(name, 'A', (asking) => resolver.resolve(asking, budget), await askZone({ name, type: 'A' }))
  }

  /** Where a record is to be changed or removed, looks whether it is a wildcard record: others may live by that. */
  async function lookForWildcard(finding: Finding, name: string | undefined, askZone: AskName, budget: Budget): Promise<Finding> {
    const { view, zone } = finding
    if (!view || name === undefined) return finding
    const ask: AskName = zone !== undefined && isWithin(zone, name) ? askZone : (asking) => resolver.resolve(asking, budget)
    const byWildcard = wildcardIn(await findWildcardRecord(name, view, zone, ask))
    return byWildcard === undefined ? finding : { ...finding, view: { ...view, byWildcard } }
  }

  return { examine }
}

/** `askBriefly` is asked where the resolver keeps silent: one that waits for a dead zone behind a CNAME has the CNAME itself at hand. */
async function viewOfResolver(hostname: string, edge: Edge, ask: AskName, askBriefly: AskName): Promise<View> {
  let a = await walk(hostname, 'A', ask)
  if (a.end === 'silent' && a.hops.length === 0) {
    const message = await askForAlias(hostname, askBriefly)
    if (message) a = await walk(hostname, 'A', ask, { kind: 'answer', message })
  }
  const view: View = { a, isApex: hostname === registeredDomain(hostname) || a.zone === hostname }
  if (tellsMoreInAaaa(a, edge)) view.aaaa = await walk(hostname, 'AAAA', ask)
  return view
}

/** A name that does not exist has no AAAA either, and where a CNAME leads elsewhere to addresses, more of them change nothing. */
function tellsMoreInAaaa(a: Walk, edge: Edge): boolean {
  if (a.end === 'no-data') return true
  const leadsHere = passesTarget(a, edge) || a.hops.some((hop) => hop.target.toLowerCase() === edge.host)
  return a.end === 'addresses' && (a.hops.length === 0 || leadsHere)
}

/** A single query, which has little time. */
function briefly(budget: Budget): Budget {
  return { ...budget, queriesLeft: 1 }
}

/** Verified needs no confirmation; a silent resolver leaves no time and no way to ask, unless it gave a record. */
function isFinal(verdict: Verdict): boolean {
  return verdict.kind === 'verified' || (verdict.kind === 'unknown' && verdict.reason === 'silent' && !verdict.record)
}

function foundNothingOut(verdict: Verdict): boolean {
  return verdict.kind === 'unknown' && verdict.reason !== 'busy' && !verdict.record && !verdict.dead
}

/** Of the hostname's own zone, which would be right at its own servers. */
function isBogus(verdict: Verdict): boolean {
  return verdict.kind === 'dnssec-bogus' && !verdict.record
}

function withSignatures(view: View, { zone, unsigned }: Signatures): Finding {
  return { verdict: { kind: 'dnssec-bogus', ...(unsigned && { unsigned }) }, view, zone, servers: [] }
}

function lacksCause(verdict: Verdict): boolean {
  return (
    verdict.kind === 'absent' || verdict.kind === 'apex-not-pointing' || (verdict.kind === 'wrong-target' && verdict.record === undefined)
  )
}

function dnameAt(name: string, reply: Reply): string | undefined {
  const answers = reply.kind === 'answer' ? reply.message.answers : []
  return answers.find((record) => record.type === 'DNAME' && record.name.toLowerCase() === name)?.value
}

/** The name that people take for the same: a domain with www before it, or without. */
function twinOf(hostname: string, zone: string | undefined): string | undefined {
  const { label, zone: domain } = placeOf(hostname, zone)
  return label === '@' ? `www.${domain}` : label === 'www' ? domain : undefined
}

/** The name of the record that has the mistake, or that leads elsewhere. */
function blamedName(hostname: string, verdict: Verdict, edge: Edge): string | undefined {
  const record = verdict.kind === 'loop' ? verdict.hops[0] : 'record' in verdict ? verdict.record : undefined
  if (record?.dname) return undefined // whether a wildcard record is where it leads
  switch (verdict.kind) {
    case 'wrong-case':
    case 'typo-in-target':
    case 'missing-final-dot':
    case 'target-is-portal':
      return verdict.record.name.toLowerCase()
    case 'unknown':
      return verdict.record && !leadsToOurs(verdict.record, edge) ? hostname : undefined
    case 'dnssec-bogus':
      return verdict.record && hostname
    case 'doubled-host':
      return verdict.addresses && hostname
    case 'wrong-target':
    case 'proxied':
    case 'mixed-addresses':
    case 'stale-aaaa':
    case 'loop':
      return hostname
    default:
      return undefined
  }
}
