import { Command } from 'commander'
import { connectUrl, createConnectLink } from '../core/connect-links.ts'
import type { DnsRecord } from '../core/dns-report.ts'
import type { DomainDetails } from '../core/domain-details.ts'
import type { DomainRecord } from '../core/domain-record.ts'
import { findDomain, listDomains, registerDomain, removeDomain } from '../core/domains.ts'
import { createLinkSigner } from '../core/link-signer.ts'
import { nextProbeInS } from '../core/probe-interval.ts'
import { findProbeTarget, recordProbes } from '../core/probes.ts'
import { findProject } from '../core/projects.ts'
import { inBothForms, parseClaimName, unicodeOf } from '../hostname.ts'
import { recordTypeShown } from '../lib/record-type.ts'
import { ownCommand } from '../own-command.ts'
import { claimRules } from '../roles/claim-rules.ts'
import { ensureOwnKeys } from '../roles/own-keys.ts'
import { createServiceProbe } from '../roles/service-probe.ts'
import { type Installation, withInstallation } from './installation.ts'
import { printable, shellWord, show, shownTime, showText, styled, table } from './output.ts'

type Options = { project: string; metadata?: string; json?: boolean }

/** `namesake domains add|list|remove|check|show|link` */
export function domainsCommand(): Command {
  const domains = new Command('domains').description("Claim, list, check and remove a project's hostnames")
  const command = (name: string, description: string) =>
    domains.command(name).description(description).requiredOption('--project <slug>', 'which project').option('--json', 'print JSON')
  command('add', 'Claim a hostname for the project')
    .argument('<hostname>')
    .option('--metadata <json>', 'a JSON object kept with it', '{}')
    .action(add)
  command('list', "List the project's hostnames").action(list)
  command('remove', 'Give a hostname up; within a second it is no longer served').argument('<hostname>').action(remove)
  command('check', "Look the hostname's DNS up now").argument('<hostname>').action(check)
  command('show', 'Show a hostname with its DNS and its certificate').argument('<hostname>').action(showOne)
  command('link', 'Make a page for the owner of the hostname, who needs no account; 30 days').argument('<hostname>').action(link)
  return domains
}

async function add(name: string, { project: slug, metadata, json }: Options): Promise<void> {
  const details = await withInstallation(async (installation) => {
    const { db, config, announce } = installation
    const project = await findProject(db, slug)
    const hostname = parseClaimName(name)
    await registerDomain(db, project, { hostname, metadataJson: metadata! }, claimRules(config))
    announce(hostname)
    return { ...(await findDomain(db, project, hostname, config)), localEdge: config.local ? config.edgeHost : undefined }
  })
  const needsNoDns = details.localEdge !== undefined && details.hostname.endsWith('.localhost')
  showText({ json }, recordJson(details), () => [
    `${inBothForms(details.hostname)} is claimed by ${slug}. ${needsNoDns ? 'Under .localhost it needs no DNS record.' : 'Its owner adds this DNS record:'}`,
    ...(needsNoDns ? [] : recordLines(details.dns.expected, 2)),
    ...(details.localEdge && !needsNoDns
      ? [`${details.localEdge} leads all to their own machine: set NAMESAKE_EDGE_HOST to a public name before you tell anybody.`]
      : []),
    `How it stands: ${ownCommand()} domains check --project ${slug} ${shellWord(details.hostname)}`,
  ])
}

async function list({ project: slug, json }: Options): Promise<void> {
  const { domains } = await withInstallation(async ({ db }) => listDomains(db, await findProject(db, slug), {}))
  showText({ json }, domains.length === 0 ? '[]' : `[\n${domains.map((domain) => indented(recordJson(domain))).join(',\n')}\n]`, () => {
    if (domains.length === 0)
      return [`${slug} has no hostname yet. Claim one: ${ownCommand()} domains add --project ${slug} shop.customer.com`]
    const rows = domains.map((domain) => [
      domain.hostname,
      domain.verified ? 'verified' : 'waiting for DNS',
      shownTime(domain.verifiedAt),
      shownTime(domain.createdAt),
    ])
    const headings = ['HOSTNAME', 'STATE', 'VERIFIED', 'CLAIMED']
    const spelt = domains.map(({ hostname }) => unicodeOf(hostname))
    if (spelt.every((name) => name === undefined)) return table(headings, rows)
    // In the last column, as not all letters are as wide as others.
    return table(
      [...headings, 'IN UNICODE'],
      rows.map((row, i) => [...row, spelt[i] ?? '']),
    )
  })
}

async function remove(name: string, { project: slug, json }: Options): Promise<void> {
  const hostname = parseClaimName(name)
  await withInstallation(async ({ db, announce }) => {
    await removeDomain(db, await findProject(db, slug), hostname)
    announce(hostname)
  })
  show({ json }, { hostname, removed: true }, () => [`${inBothForms(hostname)} is given up.`])
}

async function check(name: string, { project: slug, json }: Options): Promise<void> {
  const details = await withInstallation((installation) => probeNow(installation, slug, name))
  showText({ json }, detailsJson(details), () => readable(details))
}

async function probeNow({ db, config, announce }: Installation, slug: string, name: string): Promise<DomainDetails> {
  const project = await findProject(db, slug)
  const hostname = parseClaimName(name)
  const target = await findProbeTarget(db, project, hostname)
  const probe = createServiceProbe(config)
  try {
    const report = await probe.check(hostname, target)
    const verified = await recordProbes(db, [{ probe: target, report, nextProbeInS: nextProbeInS(target, report, config.probeIntervalS) }])
    for (const newly of verified) announce(newly)
  } finally {
    probe.close()
  }
  return findDomain(db, project, hostname, config)
}

async function showOne(name: string, { project: slug, json }: Options): Promise<void> {
  const details = await withInstallation(async ({ db, config }) =>
    findDomain(db, await findProject(db, slug), parseClaimName(name), config),
  )
  showText({ json }, detailsJson(details), () => readable(details))
}

async function link(name: string, { project: slug, json }: Options): Promise<void> {
  const hostname = parseClaimName(name)
  const made = await withInstallation(async ({ db, config }) => {
    await ensureOwnKeys(db, config) // a link that is signed with a wrong secret opens nothing
    const { id, expiresAt } = await createConnectLink(db, await findProject(db, slug), hostname)
    return { url: connectUrl(config.portalUrl, createLinkSigner(config.secrets, 'connect').tokenOf(id)), expiresAt }
  })
  show({ json }, made, () => [made.url])
  if (!json) console.error(`For the owner of ${inBothForms(hostname)}, until ${shownTime(made.expiresAt)}.`) // not with the link, which a script may read
}

function readable({
  hostname,
  projectSlug,
  verified,
  verifiedAt,
  createdAt,
  dns,
  zone,
  provider,
  certificate,
  live,
}: DomainDetails): string[] {
  const state = verified ? styled('green', `verified ${shownTime(verifiedAt)}`) : styled('yellow', 'not verified yet')
  return [
    `${styled('bold', inBothForms(hostname))}  ${state}  (project ${projectSlug}, claimed ${shownTime(createdAt)})`,
    `  DNS          ${dns.state}: ${printable(dns.sentence)}`,
    ...dns.warnings.map(({ sentence }) => `  Warning      ${printable(sentence)}`),
    ...(zone ? [`  Zone         ${inBothForms(zone)}${provider ? `, whose DNS is at ${provider.name}` : ''}`] : []),
    '  Expected',
    ...recordLines(dns.expected, 4),
    ...(dns.delegation
      ? ['  Certificates by DNS', ...recordLines([dns.delegation], 4), `    ${dns.delegation.state}: ${printable(dns.delegation.sentence)}`]
      : []),
    ...(dns.found.length > 0 ? ['  Found', ...recordLines(dns.found, 4)] : []),
    `  Checked      ${shownTime(dns.checkedAt)}, next ${shownTime(dns.nextCheckAt)}`,
    printable(
      `  Certificate  ${certificate.state}${certificate.notAfter ? ` by ${certificate.issuer}, until ${shownTime(certificate.notAfter)}` : ''}`,
    ),
    ...(live.seenAt || live.sentence
      ? [printable(`  Live         ${live.sentence ?? `our own request came through ${shownTime(live.seenAt)}`}`)]
      : []),
    ...(certificate.renewal ? [printable(`  Renewal      ${certificate.renewal.sentence}`)] : []),
    ...(certificate.nextIssuanceAt
      ? [printable(`  Waits        until ${shownTime(certificate.nextIssuanceAt)}: ${certificate.nextIssuanceReason}`)]
      : []),
    ...(certificate.lastError
      ? [printable(`  Last error   ${certificate.lastError.sentence} (next attempt ${shownTime(certificate.nextAttemptAt)})`)]
      : []),
  ]
}

function recordLines(records: DnsRecord[], indent: number): string[] {
  return records.map(({ name, type, value }) => `${' '.repeat(indent)}${printable(name)}  ${recordTypeShown(type)}  ${printable(value)}`)
}

/** The metadata as its owner wrote it: parsed and written anew, the order of its keys could change. */
function recordJson({ hostname, projectSlug, verified, verifiedAt, createdAt, metadataJson }: DomainRecord): string {
  const head = JSON.stringify({ hostname, projectSlug, verified, verifiedAt, createdAt }, null, 2)
  return `${head.slice(0, -2)},\n  "metadata": ${metadataJson}\n}`
}

function detailsJson(details: DomainDetails): string {
  const { dns, certificate, zone, provider, live } = details
  return `${recordJson(details).slice(0, -2)},${JSON.stringify({ dns, certificate, zone, provider, live }, null, 2).slice(1)}`
}

function indented(json: string): string {
  return `  ${json.replaceAll('\n', '\n  ')}` // not /^/gm, which holds after U+2028 too, inside a string
}
