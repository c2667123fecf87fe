import { unicodeOf } from '../hostname.ts'
import { recordTypeShown } from '../lib/record-type.ts'
import { domainBelow, isRegistered, type Place, parentOf, placeOf, registeredDomain } from './place.ts'
import { hostNameIn } from './target.ts'
import { type Edge, isOursByMistake, leadsToOurs, type Verdict } from './verdict.ts'
import type { Hop } from './walk.ts'
import { chain, list, lowerFirst, plural, show } from './wording.ts'

/**
 * What a sentence is about: `zone` is the DNS zone of the hostname, where it is known. `byWildcard`: the name of the wildcard record that what was found
 * there is from, or that has the mistake. `nameServers`: those that the zone is delegated to, where they are known.
 */
export type Subject = {
  hostname: string
  isApex: boolean
  byWildcard: string | undefined
  zone: string | undefined
  /** The name with or without www before it, where that leads here. */
  twin?: string | undefined
  /** Where DNAME records lead it, or the hostname itself. */
  behindDnames?: string
  nameServers?: readonly string[]
  edge: Edge
}

/** Where a wildcard record may stay beside a record of the hostname's own. A mistake in one that was meant to lead here is to be mended. */
const WILDCARD_MAY_STAY: readonly Verdict['kind'][] = [
  'wrong-target',
  'proxied',
  'mixed-addresses',
  'stale-aaaa',
  'loop',
  'dnssec-bogus',
  'unknown',
]

/** One sentence that the owner of the hostname, who need not be technical, can act on: which record, at which name, with which value. */
export function describe(verdict: Verdict, subject: Subject): string {
  const sentence = describeInAscii(verdict, subject)
  if (verdict.kind === 'verified') return sentence
  // Whoever owns bücher.com has perhaps never seen how the DNS writes it.
  const labels = [...new Set(subject.hostname.split('.'))].filter((label) => sentence.includes(label))
  const spelt = labels.flatMap((label) => {
    const unicode = unicodeOf(label)
    return unicode === undefined ? [] : [`${label} is how the DNS writes ${unicode}`]
  })
  return spelt.length === 0 ? sentence : `${sentence.slice(0, -1)}; ${spelt.join(', and ')}.`
}

function describeInAscii(verdict: Verdict, subject: Subject): string {
  const { hostname, edge } = subject
  if (subject.byWildcard !== undefined && WILDCARD_MAY_STAY.includes(verdict.kind))
    return describeByWildcard(verdict, subject.byWildcard, subject)
  if (isOursByMistake(verdict, hostname, edge))
    return `${hostname} holds our address in an NS record, where it has no effect: remove it, then ${lowerFirst(addRecord(subject))}.`
  const blamed = blamedRecord(verdict, edge)
  if (blamed?.dname) return describeByDname(verdict, blamed.dname, subject)
  if (subject.isApex && blamed?.name.toLowerCase() === hostname) return describeMisplaced(blamed, subject)
  switch (verdict.kind) {
    case 'verified':
      return `The DNS of ${hostname} is right: it leads ${edge.target === edge.host || verdict.via === 'cname-target' ? `to ${edge.target}` : 'here'}.`
    case 'absent':
      if (verdict.dname !== undefined) return describeOwnDname(verdict.dname, subject)
      return verdict.sharedRecord === undefined
        ? describeAbsent(verdict.unregistered, subject)
        : describeShared(verdict.sharedRecord, subject)
    case 'wrong-target':
      return verdict.record ? `${change(verdict.record, subject)} ${withValue(edge)}.` : `${exchangeAddresses(verdict.addresses, subject)}.`
    case 'wrong-case':
      return `${change(verdict.record, subject)} ${withValue(edge)}, written in lower-case letters exactly like this.`
    case 'typo-in-target':
      return `There is a typing mistake in a record: ${lowerFirst(change(verdict.record, subject))} ${withValue(edge)}${hostNameIn(verdict.record.target) === edge.target ? ', with nothing before or after it' : ''}.`
    case 'missing-final-dot':
      return `${change(verdict.record, subject)} "${edge.target}." with a dot at its end, because without that dot the DNS provider has appended the domain.`
    case 'target-is-portal':
      return `${change(verdict.record, subject)} ${withValue(edge)}, because ${show(verdict.record.target)} is our website and does not serve customers' hostnames.`
    case 'doubled-host':
      return describeDoubled(verdict.at, verdict.addresses ?? [], subject)
    case 'value-in-txt':
      return `${hostname} holds our address in a TXT record, where it has no effect: ${lowerFirst(addRecord(subject))}, instead of the TXT record.`
    case 'proxied':
      return describeProxied(verdict.by, subject)
    case 'apex-not-pointing':
      return `${exchangeAddresses(verdict.addresses, subject)}.`
    case 'mixed-addresses':
      return describeMixed(verdict, subject)
    case 'stale-aaaa':
      return `Remove the AAAA ${plural(verdict.addresses, 'record')} ${list(verdict.addresses)} of ${hostname}: visitors with IPv6 are sent elsewhere by it.`
    case 'loop':
      return describeLoop(verdict.hops, subject)
    case 'lame-delegation':
      return `The name servers that are entered for ${verdict.zone} ${keeperOf(verdict.zone)} (${list(verdict.servers)}) do not know it: set up ${verdict.zone} at the DNS provider they belong to, or enter the name servers of your DNS provider there.`
    case 'servers-disagree':
      return `The name servers of ${verdict.zone} give different answers: ${list(verdict.wrong)} ${verdict.wrong.length === 1 ? 'does' : 'do'} not yet have the record of ${hostname} that ${list(verdict.right)} ${verdict.right.length === 1 ? 'has' : 'have'}, so wait some minutes, and if it stays so, add the record there too, or ask your DNS provider to bring them in step.`
    case 'dnssec-bogus':
      return verdict.record ? describeBogusTarget(verdict.record, subject) : describeBogus(verdict.unsigned ?? false, subject)
    case 'edge-host-broken':
      return `The record of ${hostname} is right and nothing is to be done there: ${edge.host}, which is ours, does not resolve at the moment, and we must repair it.`
    case 'cname-target-broken':
      return describeTarget('does not lead here at present, and', subject)
    case 'proof-needed':
      return describeProof(verdict, subject)
    case 'unknown':
      if (verdict.record) return describeUnresolved(verdict.record, subject)
      if (verdict.dead) return describeDead(verdict.dead)
      if (verdict.reason === 'resolver')
        return `We cannot see at present where ${hostname} leads, as we get no answer for ${edge.host}, which is ours to mend: nothing is to be done now, and we look again soon.`
      if (verdict.reason === 'busy')
        return `We have more hostnames to look at than we can at present, so we have not seen yet where ${hostname} leads: nothing is to be done now, and we look again soon.`
      return verdict.reason === 'silent'
        ? `The DNS servers of ${hostname} did not answer in time: we look again soon, and if it stays so, ask your DNS provider why they do not answer.`
        : `The DNS servers of ${hostname} answered with an error: we look again soon, and if it stays so, ask your DNS provider why ${hostname} cannot be resolved.`
  }
}

/** The record that is to be changed: of a circle the first, and none of a chain into our own domain, where nothing is to be done. */
function blamedRecord(verdict: Verdict, edge: Edge): Hop | undefined {
  if (verdict.kind === 'loop') return verdict.hops[0]
  const record = 'record' in verdict ? verdict.record : undefined
  return record && verdict.kind === 'unknown' && leadsToOurs(record, edge) ? undefined : record
}

/** A CNAME at an apex is not made right by another value. */
function describeMisplaced(record: Hop, subject: Subject): string {
  const { label, zone } = placeOf(subject.hostname, subject.zone)
  const misplaced = `Remove the CNAME record named "${label}" in the DNS of ${zone}, which leads to ${show(record.target)} and may not stand at a domain itself`
  return `${misplaced}, then ${lowerFirst(addRecord(subject))}.`
}

/** No record may stand below a DNAME record (RFC 6672 §2.4), by which other names may live. */
function describeByDname(verdict: Verdict, dname: Hop, subject: Subject): string {
  const { hostname, behindDnames: at = hostname, edge } = subject
  const { label, zone } = placeOf(dname.name.toLowerCase(), subject.zone)
  const record = `The DNAME record named "${label}" in the DNS of ${zone} leads`
  const own = lowerFirst(addRecord(subject))
  if (verdict.kind === 'loop') return `${record} ${hostname} in a circle: remove it, then ${own}.`
  const lead = `${record} all names below it to ${show(dname.target)}, so that ${hostname} can have no record of its own`
  return `${lead}: give ${at} a CNAME record with the value ${withValue(edge)}, or remove the DNAME record, if no other name needs it, and ${own}.`
}

/** It leads names below its own alone (RFC 6672 §2.3). Other records may stand beside it, and no CNAME record (§2.4). */
function describeOwnDname(target: string, subject: Subject): string {
  const { hostname, isApex } = subject
  const { label, zone } = placeOf(hostname, subject.zone)
  const record = `DNAME record named "${label}" in the DNS of ${zone} leads only names below ${hostname} to ${show(target)}, and never ${hostname} itself`
  if (isApex) return `${addRecord(subject)}: the ${record}, and may stay.`
  return `The ${record}: remove it, if no name below needs it, and ${lowerFirst(addRecord(subject))}.`
}

function describeAbsent(unregistered: string | undefined, subject: Subject): string {
  const add = lowerFirst(addRecord(subject))
  const check = 'check its spelling, and that it is registered and has not expired'
  if (unregistered !== undefined) return `The domain ${unregistered} does not exist in the DNS: ${check}, then ${add}.`
  const domain = domainBelow(subject.hostname, subject.zone)
  if (domain === undefined) return `${addRecord(subject)}${whereItCounts(subject)}.`
  return `${domain} is not in the DNS as a domain of its own: if it is meant to be one, ${check}, else ${add}${whereItCounts(subject)}.`
}

function describeShared(wildcard: string, subject: Subject): string {
  const { label } = placeOf(wildcard, subject.zone)
  return `${addRecord(whereLed(subject))}: so far only the wildcard record ("${label}") leads ${subject.hostname} here, which does not say for whom, as others are served in the same domain too; it may stay.`
}

/** Who sees no record that they have added may have added it for www, or at a DNS provider that the domain has left. */
function whereItCounts(subject: Subject): string {
  const { hostname, zone, twin, nameServers = [] } = subject
  if (twin !== undefined) return besideTwin(subject)
  if (nameServers.length === 0) return ''
  return `; the DNS of ${placeOf(hostname, zone).zone} is what ${list(nameServers)} ${nameServers.length === 1 ? 'says' : 'say'}, and a record elsewhere has no effect`
}

function besideTwin({ hostname, twin }: Subject): string {
  return twin === undefined ? '' : `; the record of ${twin} is right, but ${hostname} needs one of its own`
}

/** `addresses`: what the hostname has meanwhile, to be removed unless it is a wildcard record's. */
function describeDoubled(at: string, addresses: string[], subject: Subject): string {
  const { hostname, byWildcard, isApex, edge } = subject
  const { label, zone } = placeOf(hostname, subject.zone)
  const created = `The record was created at ${at}, with the domain twice`
  const isOld = addresses.length > 0 && byWildcard === undefined
  const old = `the address ${plural(addresses, 'record')} ${list(addresses)} of ${hostname}`
  if (isApex) return `${created}: remove it${isOld ? ` and ${old}` : ''}, then ${lowerFirst(addRecord(subject))}.`
  return `${created}: ${isOld ? `remove ${old} and ` : ''}name it "${label}" in the DNS of ${zone}, with the value "${edge.target}".`
}

/** Where ours are of IPv6 alone, nothing would be left for visitors with IPv4 once the others are gone. */
function describeMixed({ ours, others }: Verdict & { kind: 'mixed-addresses' }, subject: Subject): string {
  const { hostname, edge } = subject
  const wrong = ofIpv4(others)
  const right = ofIpv4(edge.addresses)
  if (wrong.length === 0 || ofIpv4(ours).length > 0 || !edge.ours.get('A')?.size)
    return `Remove the address ${plural(others, 'record')} ${list(others)} of ${hostname}, so that only ${list(ours)} ${plural(ours, 'remains', 'remain')}.`
  if (right.length === 0) return `${exchangeAddresses(others, subject)}.`
  const rest = ofIpv6(others)
  const removed = rest.length === 0 ? '' : `, and remove the AAAA ${plural(rest, 'record')} ${list(rest)}`
  return `Replace the A ${plural(wrong, 'record')} ${list(wrong)} of ${hostname} by ${addressRecords(right)}${removed}.`
}

function describeLoop(hops: Hop[], subject: Subject): string {
  const { label, zone } = placeOf(subject.hostname, subject.zone)
  return `The CNAME records of ${subject.hostname} lead in a circle (${chain(hops)}): change the one named "${label}" in the DNS of ${zone} to the value "${subject.edge.target}".`
}

/** `mailServers`: those of MX records that were seen beside the CNAME. */
export function describeApexAlias(mailServers: readonly string[], subject: Subject): string {
  const { hostname, edge } = subject
  const { label, zone } = placeOf(hostname, subject.zone)
  const records = plural([...mailServers], 'its MX record', 'its MX records')
  const others = mailServers.length > 0 ? `${records} (${list([...mailServers])})` : 'the other records that every domain has'
  const record = `The CNAME record named "${label}" in the DNS of ${zone} stands beside ${others}`
  const plain = addressRecords([...edge.addresses])
  const remedy = `replace it by an ALIAS, ANAME or flattened CNAME record with the value "${edge.target}"`
  return `${record}, which DNS does not allow, and mail to ${hostname} can get lost by it: ${remedy}${plain === '' ? '' : `, or by ${plain}`}.`
}

function describeProxied(by: string, subject: Subject): string {
  const { label, zone } = placeOf(subject.hostname, subject.zone)
  const through = `The record named "${label}" in the DNS of ${zone} goes through ${by}'s proxy`
  if (!mayBeCname({ kind: 'proxied', by }, subject)) return `${through}: remove this record, then ${lowerFirst(addRecord(subject))}.`
  return `${through}: set it ${withoutProxy(by)}, as a CNAME with the value "${subject.edge.target}".`
}

/** None may stand at an apex; behind its proxy Cloudflare takes one, and flattens it. */
export function mayBeCname(verdict: { kind: Verdict['kind']; by?: string }, subject: Subject): boolean {
  return !subject.isApex || (verdict.kind === 'proxied' && verdict.by === 'Cloudflare')
}

function withoutProxy(by: string): string {
  return by === 'Cloudflare' ? 'to "DNS only" (the grey cloud)' : 'so that visitors come to us directly'
}

/** A record of the hostname's own goes before the wildcard record, by which other hostnames live. */
function describeByWildcard(verdict: Verdict, wildcard: string, subject: Subject): string {
  const by = verdict.kind === 'proxied' ? verdict.by : undefined
  const [setting, way] = by === undefined ? ['', ''] : [`, set ${withoutProxy(by)}`, ` through ${by}'s proxy`]
  return `${addRecord(subject)}${setting}: at present the wildcard record ("${placeOf(wildcard, subject.zone).label}") answers for ${subject.hostname}${way}, and it may stay${whereItCounts(subject)}.`
}

function describeUnresolved(record: Hop, subject: Subject): string {
  const { hostname, edge } = subject
  const target = show(record.target)
  if (record.target.toLowerCase() === edge.target) return describeTarget('does not resolve at present, and if it stays so,', subject)
  if (leadsToOurs(record, edge))
    return `The record of ${hostname} leads to ${target}, which does not resolve at present: nothing is to be done now, we look again soon.`
  const { label, zone } = placeOf(record.name.toLowerCase(), subject.zone)
  return `The CNAME record named "${label}" in the DNS of ${zone} leads to ${target}, which does not resolve at present: change it to ${withValue(edge)}.`
}

/** Behind a record that is right: `fault` is what the vendor's own target does. */
function describeTarget(fault: string, { hostname, edge: { target } }: Subject): string {
  return `The record of ${hostname} is right and nothing is to be done there: ${target}, to which it leads, ${fault} whoever owns ${registeredDomain(target)} must mend the record of ${target}.`
}

function describeBogusTarget(record: Hop, subject: Subject): string {
  const { label, zone } = placeOf(record.name.toLowerCase(), subject.zone)
  return `The CNAME record named "${label}" in the DNS of ${zone} leads to ${show(record.target)}, where much of the internet refuses all records, as their signatures (DNSSEC) are not valid: change it to ${withValue(subject.edge)}.`
}

/** DNSSEC is switched on in two places, and a zone that was moved to another DNS provider is often left with one of them. */
function describeBogus(unsigned: boolean, subject: Subject): string {
  const { zone } = placeOf(subject.hostname, subject.zone)
  const keeper = keeperOf(zone)
  const off = isRegistered(zone) ? `turn DNSSEC off ${keeper}, which removes the DS record` : `remove the DS record of ${zone} ${keeper}`
  return unsigned
    ? `DNSSEC, by which DNS answers are signed, is on for ${zone} ${keeper}, but its DNS provider does not sign them, so much of the internet refuses all its records: ${off}.`
    : `The signatures of the DNS answers of ${zone} (DNSSEC) are not valid, so much of the internet refuses all its records: have your DNS provider sign ${zone} again, or ${off}.`
}

function describeDead({ zone, servers }: { zone: string; servers: string[] }): string {
  return `The name servers that are entered for ${zone} ${keeperOf(zone)} (${list(servers)}) give no answer for it: we look again soon, and if it stays so, ask your DNS provider, or enter the name servers of your DNS provider there.`
}

/** Where it is entered which name servers a zone has, and whether it is signed. */
function keeperOf(zone: string): string {
  return isRegistered(zone) ? 'at your domain registrar' : `in the DNS of ${parentOf(zone)}`
}

function describeProof(verdict: Verdict & { kind: 'proof-needed' }, subject: Subject): string {
  const { hostname, byWildcard } = subject
  const lead = `The record of ${hostname} is right; to prove that the hostname is yours, ${proveBy(verdict, subject)}`
  if (byWildcard === undefined) return `${lead}.`
  // With a name below it the hostname exists, and no wildcard record answers for it any more (RFC 4592 §2.2.2).
  const wildcard = placeOf(byWildcard, subject.zone).label
  return `${lead}, and ${lowerFirst(addRecord(whereLed(subject)))}, because the wildcard record ("${wildcard}") no longer answers for ${hostname} then.`
}

function proveBy({ name, proof, mistake }: Verdict & { kind: 'proof-needed' }, subject: Subject): string {
  const { label, zone } = placeOf(name, subject.zone)
  const named = `named "${label}" in the DNS of ${zone}`
  switch (mistake?.kind) {
    case 'text':
      return `change the TXT record ${named} from ${show(mistake.text)} to exactly "${proof}"`
    case 'cname':
      return `replace the CNAME record ${named} by a TXT record with the value "${proof}"`
    case 'name':
      return `also add a TXT record ${named} with the value "${proof}", as the one at ${mistake.at} does not count for ${subject.hostname}`
    default:
      return `also add a TXT record ${named} with the value "${proof}"`
  }
}

/** What has a record of its own, where DNAME records lead the hostname. */
function whereLed(subject: Subject): Subject {
  return { ...subject, hostname: subject.behindDnames ?? subject.hostname }
}

function addRecord(subject: Subject): string {
  const { label, zone } = placeOf(subject.hostname, subject.zone)
  const { target, addresses } = subject.edge
  if (!subject.isApex) return `Add a CNAME record named "${label}" in the DNS of ${zone} with the value "${target}"`
  const alias = `Add an ${recordTypeShown('ALIAS')} record named "${label}" in the DNS of ${zone} with the value "${target}"`
  const plain = addressRecords([...addresses])
  return plain === '' ? alias : `${alias}, or ${plain} if your DNS provider has no such record`
}

function addressRecords(addresses: string[]): string {
  const [a, aaaa] = [ofIpv4(addresses), ofIpv6(addresses)]
  const parts = []
  if (a.length > 0) parts.push(`${a.length === 1 ? 'an A record' : 'A records'} with ${list(a)}`)
  if (aaaa.length > 0) parts.push(`${aaaa.length === 1 ? 'an AAAA record' : 'AAAA records'} with ${list(aaaa)}`)
  return parts.join(' and ')
}

function ofIpv4(addresses: Iterable<string>): string[] {
  return [...addresses].filter((address) => !address.includes(':'))
}

function ofIpv6(addresses: Iterable<string>): string[] {
  return [...addresses].filter((address) => address.includes(':'))
}

function exchangeAddresses(addresses: string[], subject: Subject): string {
  return `${subject.hostname} points to ${list(addresses)}, which is not ours: remove ${plural(addresses, 'this record', 'these records')}, then ${lowerFirst(addRecord(subject))}${besideTwin(subject)}`
}

/** `Change the CNAME record named "shop" in the DNS of customer.com from "x" to`, wherever in the chain the record is. */
function change(record: Hop, subject: Subject): string {
  const { label, zone }: Place = placeOf(subject.byWildcard ?? record.name.toLowerCase(), subject.zone)
  return `Change the ${subject.byWildcard === undefined ? '' : 'wildcard '}CNAME record named "${label}" in the DNS of ${zone} from ${show(record.target)} to`
}

function withValue(edge: Edge): string {
  return `"${edge.target}"`
}
