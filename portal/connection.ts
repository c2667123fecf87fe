import { isWildcard } from './dns-names.ts'
import type { Connect, Delegation, Dns, DnsRecord } from './records.ts'

/** By the service's own word alone: a 404 may be of a proxy whose service is being started, a 403 of a firewall. */
const LINK_ENDED: readonly unknown[] = ['connect_link_invalid', 'domain_not_found']
const NOTHING_TO_CORRECT: readonly string[] = ['absent', 'unknown']
/** Also where a wildcard record answers for the hostname: it is what has the mistake, or another one is to be renamed. */
const MENDED_IN_PLACE: readonly string[] = ['wrong-case', 'typo-in-target', 'missing-final-dot', 'target-is-portal', 'doubled-host']

/** Whether the code of a problem says that a customer's link has ended: it expired, or its hostname is no longer claimed. */
export function endsLink(code: unknown): boolean {
  return LINK_ENDED.includes(code)
}

/** The record by which its certificates are issued, while it is not there. */
export function furtherRecord({ dns: { delegation } }: Connect): Delegation | undefined {
  return delegation && delegation.state !== 'present' ? delegation : undefined
}

/** The further record of a name with a star, which is served with the certificate that this one alone makes possible. */
export function certificateRecord(connect: Connect): Delegation | undefined {
  return isWildcard(connect.hostname) ? furtherRecord(connect) : undefined
}

/** A type of record as a form calls it. An alias that may stand at a domain itself has a name of its own at each DNS provider. */
export function typeShown({ type }: DnsRecord, aliasType: string): string {
  return type === 'ALIAS' ? aliasType : type
}

export function recordsToAdd(connect: Connect): DnsRecord[] {
  const further = certificateRecord(connect)
  return further ? [...connect.dns.expected, further] : connect.dns.expected
}

/**
 * Whether nothing but a wildcard record answers for the hostname, and it may stay: then a record of the hostname's own is to be added, though something
 * was found.
 */
export function lacksOwnRecord({ state, expected, found: [first] }: Dns): boolean {
  if (!first || !isWildcard(first.name) || MENDED_IN_PLACE.includes(state)) return false
  return expected.every(({ name }) => name !== first.name)
}

/** Whether that is all that is to be done: no proof is owed beside it. */
export function lacksOwnRecordAlone(dns: Dns): boolean {
  return lacksOwnRecord(dns) && dns.state !== 'proof-needed'
}

/**
 * Which of the words stands over the expected records and the `further` one. Where something is there already, "to add" would have a second record set beside
 * a wrong one.
 */
export function recordsTitle(dns: Dns, further?: Delegation) {
  const { state, expected, found } = dns
  const isWrong = found.length > 0 || !NOTHING_TO_CORRECT.includes(state) || further?.state === 'elsewhere'
  const isThere = isWrong && !lacksOwnRecord(dns)
  const isMany = expected.length + (further ? 1 : 0) > 1
  if (isThere) return isMany ? 'correctRecordsTitle' : 'correctRecordTitle'
  return isMany ? 'recordsTitle' : 'recordTitle'
}

/** Whether a record is to be added or changed: also of a wildcard that leads here and lacks the record for its certificate. */
export function isToDo(connect: Connect): boolean {
  const { status } = connect
  return status === 'waiting-for-dns' || status === 'wrong-record' || (status !== 'live' && certificateRecord(connect) !== undefined)
}

/** Whether the hostname works and nothing is in the way of anybody. */
export function isDone(connect: Connect): boolean {
  return connect.status === 'live' && hindranceOf(connect) === undefined
}

/** Whether nothing is the customer's to do: their record is right, and what is wrong is behind it, with the vendor's own name. */
export function isVendorsToMend(connect: Connect): boolean {
  return connect.dns.state === 'cname-target-broken' && certificateRecord(connect) === undefined
}

/** What something else in the DNS is in the way of, though the record is right: some visitors or the certificate, or the domain's mail alone. */
export function hindranceOf(connect: Connect): 'visitors' | 'mail' | undefined {
  const warnings = isToDo(connect) ? [] : (connect.dns.warnings ?? [])
  if (warnings.length === 0) return undefined
  return warnings.every(({ kind }) => kind === 'cname-at-apex') ? 'mail' : 'visitors'
}
