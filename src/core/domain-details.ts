import { sql } from 'kysely'
import { getDomain } from 'tldts'
import type { Hostname } from '../hostname.ts'
import { unmapped } from '../lib/addresses.ts'
import { type Db, rows } from './db.ts'
import { challengeNameOf, delegationLabel } from './delegation.ts'
import { type DnsProvider, recogniseProvider } from './dns-providers.ts'
import type { DelegationReport, DnsRecord, DnsReport, DnsState } from './dns-report.ts'
import { DOMAIN, type DomainRecord, type DomainRow, live, toDomainRecord } from './domain-record.ts'
import { LIVE_TRIES_MAX } from './live-checks.ts'
import type { Project } from './projects.ts'
import { proofName, proofNeeded } from './proof.ts'
import { type RenewalColumns, type RenewalPlan, renewalPlanOf } from './renewal-plan.ts'

/**
 * How the hostname's DNS stands; `expected` are the records to add, `delegation` the one more that gives certificates before cut-over, null where no
 * zone is configured. Times in ISO 8601, null for what has not happened.
 */
export type DnsDetails = {
  state: DnsState
  sentence: string
  expected: DnsRecord[]
  found: DnsRecord[]
  warnings: DnsReport['warnings']
  delegation: (DelegationReport & { type: 'CNAME' }) | null
  checkedAt: string | null
  nextCheckAt: string | null
}

/** `origin` is null while there is no certificate; an imported one stays as long as it is valid, so `renewAt` is its end. `attempts` counts since the last success; `lastError` holds the authority's own words and is null once an attempt has succeeded; `nextAttemptAt` is when it is over. `nextIssuanceAt` is when a limit of the authority lets the hostname have its next order; null when none holds it back. */
export type CertificateDetails = {
  state: 'none' | 'pending' | 'issued' | 'failed'
  origin: 'ordered' | 'imported' | null
  issuer: string | null
  serial: string | null
  notBefore: string | null
  notAfter: string | null
  renewAt: string | null
  attempts: number
  lastAttemptAt: string | null
  lastError: { sentence: string; problem: object } | null
  nextAttemptAt: string | null
  nextIssuanceAt: string | null
  nextIssuanceReason: string | null
  renewal: RenewalPlan | null
}

/** Our own request over HTTPS: when one last came through, and why the last one did not; null where there was none, or the other is the case. */
export type LiveDetails = { seenAt: string | null; sentence: string | null }

/** `zone` is where its records are entered, `provider` who runs the DNS of that zone; null for what is not known, as before the first check. */
export type DomainDetails = DomainRecord & {
  dns: DnsDetails
  certificate: CertificateDetails
  zone: string | null
  provider: DnsProvider | null
  live: LiveDetails
}

/** What records of customers lead to, where their vendor has no CNAME target. */
export type OwnNames = { edgeHost: Hostname; edgeIps: readonly string[]; dnsZone?: Hostname | undefined }

type DetailsRow = DomainRow &
  CertificateColumns & {
    proofNeeded: boolean
    cnameTarget: Hostname | null
    report: DnsReport | null
    nextProbeAt: Date | null
    liveAt: Date | null
    liveSentence: string | null
  }

export type CertificateColumns = { [column in 'issuer' | 'serial' | 'sentence' | 'nextIssuanceReason']: string | null } & {
  [time in 'notBefore' | 'notAfter' | 'renewAt' | 'lastAttemptAt' | 'nextAttemptAt' | 'nextIssuanceAt']: Date | null
} & {
  state: 'pending' | 'issued' | 'failed' | null
  attempts: number | null
  problem: object | null
} & RenewalColumns

const IMPORTED_ENDS_SOON = '30 days'

/** The columns that `certificateOf` reads, of a row called `c`. */
export const CERTIFICATE = sql<CertificateColumns>`c.state, case when c.chain_pem is not null then c.origin end as origin, c.issuer, c.serial, c.not_before as "notBefore", c.not_after as "notAfter",
  c.renew_at as "renewAt", c.attempts, c.last_attempt_at as "lastAttemptAt", c.last_problem as problem, c.last_sentence as sentence,
  case when c.last_problem is not null or c.postponed_until > now() then c.next_attempt_at end as "nextAttemptAt",
  case when c.postponed_until > now() then c.postponed_until end as "nextIssuanceAt",
  case when c.postponed_until > now() then c.postponed_reason end as "nextIssuanceReason",
  c.wished_from is not null as wished, c.not_after <= now() as "hasEnded", c.not_after <= now() + interval ${sql.lit(IMPORTED_ENDS_SOON)} as "endsSoon",
  c.explanation_url as "explanationUrl", c.ari_checked_at as "ariCheckedAt", c.dns_left_at as "dnsLeftAt", c.renewal_stopped_at as "stoppedAt"`

export async function findDetails(db: Db, project: Project, hostname: Hostname, names: OwnNames): Promise<DomainDetails | undefined> {
  const [row] = await rows(
    db,
    sql<DetailsRow>`
      select ${DOMAIN}, ${proofNeeded(sql`now()`)} as "proofNeeded", o.cname_target as "cnameTarget", p.report, p.next_probe_at as "nextProbeAt", p.live_at as "liveAt",
        case when p.live_tries = 0 or p.live_tries >= ${LIVE_TRIES_MAX} then p.live_sentence end as "liveSentence",
        ${CERTIFICATE}
      from domains d
      join projects o on o.id = d.project_id
      left join probes p on p.domain_id = d.id
      left join certificates c on c.hostname = d.hostname and c.project_id = d.project_id
      where ${live(project, hostname)}`,
  )
  if (!row) return undefined
  return {
    ...toDomainRecord(row, project),
    dns: dnsOf(row, project, names),
    certificate: certificateOf(row),
    zone: row.report?.zone ?? null,
    live: { seenAt: iso(row.liveAt), sentence: row.liveSentence },
    provider: recogniseProvider(row.report?.nameServers ?? []),
  }
}

function dnsOf(row: DetailsRow, project: Project, names: OwnNames): DnsDetails {
  const { dnsZone } = names
  const nextCheckAt = iso(row.nextProbeAt)
  const delegation = dnsZone ? delegationOf(row, project, dnsZone) : null
  if (!row.report) return { ...beforeFirstCheck(row, project, names), delegation, nextCheckAt }
  const { state, found, warnings, checkedAt } = row.report
  return { state, ...wantedNow(row.report, targetOf(row, names)), found, warnings, delegation, checkedAt, nextCheckAt }
}

/** What the customer is told to enter: the target of their vendor's own, which does not lead to itself, or the edge host. */
function targetOf({ hostname, cnameTarget }: DetailsRow, { edgeHost }: OwnNames): Hostname {
  return cnameTarget !== null && cnameTarget !== hostname ? cnameTarget : edgeHost
}

/** What a check told to enter, with the target that is wanted now: the vendor may have set another one since. */
function wantedNow({ state, sentence, expected }: DnsReport, target: Hostname): Pick<DnsDetails, 'sentence' | 'expected'> {
  const isAlias = ({ type }: DnsRecord) => type === 'CNAME' || type === 'ALIAS'
  const former = expected.find(isAlias)?.value
  if (former === undefined || former === target) return { sentence, expected }
  const told =
    state === 'verified' ? sentence : sentence.replaceAll(`"${former}"`, `"${target}"`).replaceAll(`"${former}."`, `"${target}."`)
  return { sentence: told, expected: expected.map((record) => (isAlias(record) ? { ...record, value: target } : record)) }
}

/** As the last check found it, if it looked for the very record that is wanted now. */
function delegationOf({ hostname, report }: DetailsRow, project: Project, dnsZone: Hostname): DnsDetails['delegation'] {
  const wanted = {
    name: challengeNameOf(hostname),
    type: 'CNAME' as const,
    value: `${delegationLabel(project.proof, hostname)}.${dnsZone}`,
  }
  const found = report?.delegation?.value === wanted.value ? report.delegation : undefined
  const notYet = `Nobody has looked for it yet; with a CNAME record at ${wanted.name} the certificate is there before visitors are sent here.`
  return { ...wanted, state: found?.state ?? 'unknown', sentence: found?.sentence ?? notYet }
}

/** The records that the check will expect, as far as the name alone tells: no CNAME may stand at a registered domain. */
function pointingRecords(name: Hostname, target: Hostname, { edgeHost, edgeIps }: OwnNames): DnsRecord[] {
  const isLocal = name.endsWith('.localhost') && edgeHost.endsWith('.localhost')
  if (isLocal || getDomain(name) !== name) return [{ name, type: 'CNAME', value: target }]
  const addresses = [...new Set(edgeIps.map(unmapped))]
  if (addresses.length === 0) return [{ name, type: 'ALIAS', value: target }]
  return addresses.map((value) => ({ name, type: value.includes(':') ? 'AAAA' : 'A', value }))
}

function beforeFirstCheck(row: DetailsRow, project: Project, names: OwnNames): Omit<DnsDetails, 'nextCheckAt' | 'delegation'> {
  const expected = pointingRecords(row.hostname, targetOf(row, names), names)
  if (row.proofNeeded) expected.push({ name: proofName(row.hostname), type: 'TXT', value: project.proof })
  return {
    state: 'unknown',
    sentence: 'The first check of this hostname runs within seconds.',
    expected,
    found: [],
    warnings: [],
    checkedAt: null,
  }
}

/** How a certificate stands; every column null where there is none. */
export function certificateOf(row: CertificateColumns): CertificateDetails {
  const { origin, issuer, serial, problem } = row
  return {
    state: row.state ?? 'none',
    origin,
    issuer,
    serial,
    notBefore: iso(row.notBefore),
    notAfter: iso(row.notAfter),
    renewAt: iso(row.renewAt),
    attempts: row.attempts ?? 0,
    lastAttemptAt: iso(row.lastAttemptAt),
    lastError: problem && { sentence: row.sentence ?? '', problem },
    nextAttemptAt: iso(row.nextAttemptAt),
    nextIssuanceAt: iso(row.nextIssuanceAt),
    nextIssuanceReason: row.nextIssuanceReason,
    renewal: renewalPlanOf(row),
  }
}

function iso(time: Date | null): string | null {
  return time?.toISOString() ?? null
}
