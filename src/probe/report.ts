import type { ApexAlias } from './apex-alias.ts'
import type { CaaFinding } from './caa.ts'
import type { Delegation } from './delegation.ts'
import type { Finding } from './lookup.ts'
import { whoseIs } from './own-addresses.ts'
import { inOneDomain, isWithin, placeOf, registeredDomain } from './place.ts'
import { describe, describeApexAlias, mayBeCname, type Subject } from './sentence.ts'
import { type Edge, passesTarget, type Verdict } from './verdict.ts'
import { behindDnames, type Walk } from './walk.ts'

export type DnsState = Verdict['kind']
export type DnsRecord = { name: string; type: 'CNAME' | 'DNAME' | 'ALIAS' | 'A' | 'AAAA' | 'TXT'; value: string }
export type DnsWarning = { kind: 'caa-forbids' | 'aaaa-elsewhere' | 'cname-at-apex'; sentence: string }

/** What a check hands out: `expected` are the records to add, `found` is what is there now, hop by hop. `checkedAt` is ISO 8601 in UTC. */
export type DnsReport = {
  state: DnsState
  sentence: string
  expected: DnsRecord[]
  found: DnsRecord[]
  warnings: DnsWarning[]
  checkedAt: string
  /** Where the records are entered; null of local names. Its servers tell the DNS provider, and are looked for while a record is to be added. */
  zone: string | null
  nameServers: string[]
  /** Where challenges can be delegated to us. */
  delegation?: Delegation
  /** Nothing was found out for want of room here, which says nothing of the hostname. */
  turnedAway?: true
  evidence: object
}

/** Where another value is all that a wildcard record needs. */
const MENDED_IN_PLACE: readonly Verdict['kind'][] = ['wrong-case', 'typo-in-target', 'missing-final-dot', 'target-is-portal']
const NOT_TO_MEND: readonly Verdict['kind'][] = ['verified', 'edge-host-broken', 'cname-target-broken', 'servers-disagree']

const RECORDS_SHOWN_MAX = 32
const TEXT_SHOWN_CHARS_MAX = 300
const NAME_SERVERS_SHOWN_MAX = 8
const EVIDENCE_ITEMS_MAX = 8
const CAA_SHOWN_MAX = 4

export type ReportParts = {
  hostname: string
  finding: Finding
  edge: Edge
  proof: { name: string; value: string } | undefined
  caa: { finding: CaaFinding; issuers: readonly string[]; challenges: readonly string[] }
  apexAlias: ApexAlias | undefined
  delegation: Delegation | undefined
  nameServers: string[]
  checkedAt: Date
}

/** What the sentence of a finding is about. */
export function subjectOf(hostname: string, { view, zone }: Finding, edge: Edge): Subject {
  const { isApex = false, byWildcard, twin, a } = view ?? {}
  return { hostname, isApex, byWildcard, twin, behindDnames: behindDnames(hostname, a?.hops ?? []), zone, edge }
}

export function createReport(parts: ReportParts): DnsReport {
  const { hostname, finding, edge } = parts
  const subject = { ...subjectOf(hostname, finding, edge), nameServers: parts.nameServers }
  const { byWildcard } = subject
  const { kind, ...details } = finding.verdict
  return {
    state: kind,
    sentence: describe(finding.verdict, subject),
    expected: expectedRecords(subject, finding.verdict, parts.proof),
    found: foundRecords(hostname, finding, byWildcard).slice(0, RECORDS_SHOWN_MAX),
    warnings: [
      ...warnOfAddresses(hostname, finding, edge),
      ...warnOfApexAlias(parts.apexAlias, subject),
      ...warnOfCaa(hostname, finding, parts.caa, edge),
    ],
    checkedAt: parts.checkedAt.toISOString(),
    zone: finding.view ? placeOf(hostname, finding.zone).zone : null,
    nameServers: parts.nameServers.slice(0, NAME_SERVERS_SHOWN_MAX),
    ...(parts.delegation && { delegation: parts.delegation }),
    ...(finding.verdict.kind === 'unknown' && finding.verdict.turnedAway && { turnedAway: true }),
    evidence: {
      ...bounded(details),
      ...(byWildcard !== undefined && { byWildcard }),
      zone: finding.zone ?? null,
      servers: finding.servers,
    },
  }
}

/**
 * The same records as the sentence names: at an apex our addresses or, where we have none to enter, an alias that is no CNAME; of a mistake in a wildcard
 * record that one, unless a proof is wanted too, below which no wildcard record answers.
 */
function expectedRecords(subject: Subject, verdict: Verdict, proof: ReportParts['proof']): DnsRecord[] {
  const { edge, byWildcard } = subject
  const hostname = byWildcard !== undefined && !proof && MENDED_IN_PLACE.includes(verdict.kind) ? byWildcard : subject.hostname
  const addresses = [...edge.addresses].map((value): DnsRecord => ({ name: hostname, type: typeOf(value), value }))
  const type = mayBeCname(verdict, subject) ? 'CNAME' : 'ALIAS'
  const pointing: DnsRecord[] = type === 'ALIAS' && addresses.length > 0 ? addresses : [{ name: hostname, type, value: edge.target }]
  return proof ? [...pointing, { name: proof.name, type: 'TXT', value: proof.value }] : pointing
}

/** Whoever looks for a record to mend finds a wildcard record under its own name. One that is right stands under the hostname: nobody looked which it is. */
function foundRecords(hostname: string, { verdict, view }: Finding, byWildcard: string | undefined): DnsRecord[] {
  if (!view) return []
  const blamed = (('record' in verdict && verdict.record?.name) || hostname).toLowerCase()
  const isTold = byWildcard !== undefined && !NOT_TO_MEND.includes(verdict.kind)
  const records = [...recordsOf(hostname, view.a), ...recordsOf(hostname, view.aaaa)].map((record) =>
    isTold && record.name.toLowerCase() === blamed ? { ...record, name: byWildcard } : record,
  )
  if (verdict.kind === 'absent' && verdict.dname !== undefined) records.push({ name: hostname, type: 'DNAME', value: verdict.dname })
  if (verdict.kind === 'value-in-txt') records.push({ name: hostname, type: 'TXT', value: shortened(verdict.text) })
  if (verdict.kind === 'proof-needed') records.push(...proofRecords(verdict))
  if (verdict.kind === 'doubled-host') records.push(...recordsOf(verdict.at, view.doubled?.walk))
  return records.filter((record, n) => records.findIndex((other) => isSame(record, other)) === n)
}

function proofRecords({ name, proof, mistake }: Verdict & { kind: 'proof-needed' }): DnsRecord[] {
  switch (mistake?.kind) {
    case 'text':
      return [{ name, type: 'TXT', value: mistake.text }]
    case 'cname':
      return [{ name, type: 'CNAME', value: proof }]
    case 'name':
      return [{ name: mistake.at, type: 'TXT', value: proof }]
    default:
      return []
  }
}

function recordsOf(name: string, walk: Walk | undefined): DnsRecord[] {
  if (!walk) return []
  const last = walk.hops.at(-1)?.target ?? name
  return [
    ...walk.hops.map(({ name: from, target, dname }): DnsRecord => {
      return dname ? { name: dname.name, type: 'DNAME', value: dname.target } : { name: from, type: 'CNAME', value: target }
    }),
    ...walk.addresses.slice(0, RECORDS_SHOWN_MAX).map((value): DnsRecord => ({ name: last, type: typeOf(value), value })),
  ]
}

function isSame(one: DnsRecord, other: DnsRecord): boolean {
  return one.name.toLowerCase() === other.name.toLowerCase() && one.type === other.type && one.value === other.value
}

/** A provider that flattens a CNAME for A and answers AAAA from elsewhere sends visitors with IPv6 astray though the CNAME is right. */
function warnOfAddresses(hostname: string, { verdict, view }: Finding, edge: Edge): DnsWarning[] {
  const elsewhere = view?.aaaa?.hops.length === 0 ? view.aaaa.addresses.filter((address) => whoseIs(address, edge) === 'elsewhere') : []
  const reached = view && (passesTarget(view.a, edge) || view.a.hops.some((hop) => hop.target.toLowerCase() === edge.host))
  if (!reached || elsewhere.length === 0 || verdict.kind === 'stale-aaaa') return []
  const shown = elsewhere.slice(0, 2).join(', ')
  return [
    { kind: 'aaaa-elsewhere', sentence: `Remove the AAAA record (${shown}) of ${hostname}: visitors with IPv6 are sent elsewhere by it.` },
  ]
}

function warnOfApexAlias(found: ApexAlias | undefined, subject: Subject): DnsWarning[] {
  return found ? [{ kind: 'cname-at-apex', sentence: describeApexAlias(found.mailServers, subject) }] : []
}

/** Of an alias the records of its target count, so those of our own zone may be what forbids. */
function warnOfCaa(hostname: string, { zone }: Finding, caa: ReportParts['caa'], edge: Edge): DnsWarning[] {
  const { finding, issuers, challenges } = caa
  if (finding.kind !== 'forbids') return []
  const { label, zone: domain } = placeOf(finding.at, isWithin(finding.at, hostname) ? zone : undefined)
  const { because, tag, found } = finding
  if (inOneDomain(finding.at, edge.host) && !inOneDomain(hostname, edge.host)) {
    const sentence = `The CAA records of ${finding.at}, which are ours, do not allow a certificate for ${hostname}: we must repair them, and nothing is to be done about it.`
    return [{ kind: 'caa-forbids', sentence }]
  }
  if (inOneDomain(finding.at, edge.target) && !inOneDomain(hostname, edge.target)) {
    const sentence = `The CAA records of ${finding.at} do not allow a certificate for ${hostname}: whoever owns ${registeredDomain(edge.target)} must mend them, and nothing is to be done in the DNS of ${hostname}.`
    return [{ kind: 'caa-forbids', sentence }]
  }
  if (because === 'not-understood') {
    const sentence = `The CAA records of ${finding.at} (${inSentence(found)}) have a critical property that certificate authorities do not understand, so none may issue: remove it, or its flag 128, in the DNS of ${domain}.`
    return [{ kind: 'caa-forbids', sentence }]
  }
  const mayAdd = (parameters = '') =>
    `add a CAA record named "${label}" in the DNS of ${domain} with the value 0 ${tag} "${issuers[0]}${parameters}"`
  if (because === 'method') {
    const methods = inSentence(finding.methods ?? []) || 'nothing'
    const sentence = `The CAA records of ${finding.at} allow certificates only where control is proven by ${methods}, and here it is proven by ${challenges.join(' or ')}: ${mayAdd(`; validationmethods=${challenges.join(',')}`)}.`
    return [{ kind: 'caa-forbids', sentence }]
  }
  const allowed = finding.allowed.length > 0 ? `allow only ${inSentence(finding.allowed)}` : 'allow nobody'
  return [{ kind: 'caa-forbids', sentence: `The CAA records of ${finding.at} ${allowed} to issue certificates: ${mayAdd()}.` }]
}

function inSentence(values: readonly string[]): string {
  return values.slice(0, CAA_SHOWN_MAX).map(shortened).join(', ')
}

/** A verdict's lists and texts can be as long as a DNS answer; evidence is stored for every domain. */
function bounded(details: object): object {
  return JSON.parse(
    JSON.stringify(details, (_key, value) => {
      if (Array.isArray(value)) return value.slice(0, EVIDENCE_ITEMS_MAX)
      return typeof value === 'string' ? shortened(value) : value
    }),
  )
}

function shortened(text: string): string {
  return text.slice(0, TEXT_SHOWN_CHARS_MAX)
}

function typeOf(address: string): 'A' | 'AAAA' {
  return address.includes(':') ? 'AAAA' : 'A'
}
