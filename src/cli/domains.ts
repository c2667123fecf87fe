import { Command } from 'commander'
import type { DomainDetails } from '../core/domain-details.ts'
import type { DomainRecord } from '../core/domain-record.ts'
import { findDomain, listDomains, registerDomain, removeDomain } from '../core/domains.ts'
import { findProbeTarget, recordProbes } from '../core/probes.ts'
import { findProject } from '../core/projects.ts'
import { parseHostname } from '../hostname.ts'
import { claimRules } from '../roles/claim-rules.ts'
import { createServiceProbe } from '../roles/service-probe.ts'
import { type Installation, withInstallation } from './installation.ts'
import { show, shownTime, showText, styled, table } from './output.ts'

type Options = { project: string; metadata?: string; json?: boolean }

/** `namesake domains add|list|remove|check|show` */
export function domainsCommand(): Command {
  const domains = new Command('domains').description("a project's claimed hostnames")
  const command = (name: string, description: string) =>
    domains.command(name).description(description).requiredOption('--project <slug>', 'whose domain').option('--json', 'print JSON')
  command('add', 'claim a hostname for the project')
    .argument('<hostname>')
    .option('--metadata <json>', 'a JSON object kept with it', '{}')
    .action(add)
  command('list', "the project's domains").action(list)
  command('remove', 'give a hostname up').argument('<hostname>').action(remove)
  command('check', "look the hostname's DNS up now").argument('<hostname>').action(check)
  command('show', 'a domain with its DNS and its certificate').argument('<hostname>').action(showOne)
  return domains
}

async function add(name: string, { project: slug, metadata, json }: Options): Promise<void> {
  const details = await withInstallation(async (installation) => {
    const { db, config, announce } = installation
    const project = await findProject(db, slug)
    const hostname = parseHostname(name)
    await registerDomain(db, project, { hostname, metadataJson: metadata! }, claimRules(config))
    announce(hostname)
    return findDomain(db, project, hostname, config.edgeHost)
  })
  showText({ json }, recordJson(details), () => [
    `${details.hostname} is claimed by ${slug}. Its owner adds this DNS record:`,
    ...details.dns.expected.map(({ name: at, type, value }) => `  ${at}  ${type}  ${value}`),
  ])
}

async function list({ project: slug, json }: Options): Promise<void> {
  const { domains } = await withInstallation(async ({ db }) => listDomains(db, await findProject(db, slug), {}))
  showText({ json }, `[${domains.map(recordJson).join(',\n ')}]`, () => {
    if (domains.length === 0) return [`${slug} has no domain yet. Claim one: namesake domains add --project ${slug} shop.customer.com`]
    const rows = domains.map((domain) => [
      domain.hostname,
      domain.verified ? 'verified' : 'waiting for DNS',
      shownTime(domain.verifiedAt),
      shownTime(domain.createdAt),
    ])
    return table(['HOSTNAME', 'STATE', 'VERIFIED', 'CLAIMED'], rows)
  })
}

async function remove(name: string, { project: slug, json }: Options): Promise<void> {
  const hostname = parseHostname(name)
  await withInstallation(async ({ db, announce }) => {
    await removeDomain(db, await findProject(db, slug), hostname)
    announce(hostname)
  })
  show({ json }, { hostname, removed: true }, () => [`${hostname} is given up.`])
}

async function check(name: string, { project: slug, json }: Options): Promise<void> {
  const details = await withInstallation((installation) => probeNow(installation, slug, name))
  showText({ json }, detailsJson(details), () => readable(details))
}

async function probeNow({ db, config, announce }: Installation, slug: string, name: string): Promise<DomainDetails> {
  const project = await findProject(db, slug)
  const hostname = parseHostname(name)
  const target = await findProbeTarget(db, project, hostname)
  const probe = createServiceProbe(config)
  try {
    const report = await probe.check(hostname, target)
    const verified = await recordProbes(db, [{ probe: target, report, nextProbeInS: config.probeIntervalS }])
    for (const newly of verified) announce(newly)
  } finally {
    probe.close()
  }
  return findDomain(db, project, hostname, config.edgeHost)
}

async function showOne(name: string, { project: slug, json }: Options): Promise<void> {
  const details = await withInstallation(async ({ db, config }) =>
    findDomain(db, await findProject(db, slug), parseHostname(name), config.edgeHost),
  )
  showText({ json }, detailsJson(details), () => readable(details))
}

function readable({ hostname, projectSlug, verified, verifiedAt, createdAt, dns, certificate }: DomainDetails): string[] {
  const state = verified ? styled('green', `verified ${shownTime(verifiedAt)}`) : styled('yellow', 'not verified yet')
  const records = (list: DomainDetails['dns']['found']) => list.map(({ name, type, value }) => `    ${name}  ${type}  ${value}`)
  return [
    `${styled('bold', hostname)}  ${state}  (project ${projectSlug}, claimed ${shownTime(createdAt)})`,
    `  DNS          ${dns.state}: ${dns.sentence}`,
    ...dns.warnings.map(({ sentence }) => `  Warning      ${sentence}`),
    '  Expected',
    ...records(dns.expected),
    ...(dns.found.length > 0 ? ['  Found', ...records(dns.found)] : []),
    `  Checked      ${shownTime(dns.checkedAt)}, next ${shownTime(dns.nextCheckAt)}`,
    `  Certificate  ${certificate.state}${certificate.notAfter ? `, from ${certificate.issuer}, until ${shownTime(certificate.notAfter)}` : ''}`,
    ...(certificate.lastError
      ? [`  Last error   ${certificate.lastError.sentence} (next attempt ${shownTime(certificate.nextAttemptAt)})`]
      : []),
  ]
}

/** The metadata as its owner wrote it: parsed and written anew, the order of its keys could change. */
function recordJson({ hostname, projectSlug, verified, verifiedAt, createdAt, metadataJson }: DomainRecord): string {
  return `${JSON.stringify({ hostname, projectSlug, verified, verifiedAt, createdAt }).slice(0, -1)},"metadata":${metadataJson}}`
}

function detailsJson(details: DomainDetails): string {
  const { dns, certificate } = details
  return `${recordJson(details).slice(0, -1)},${JSON.stringify({ dns, certificate }).slice(1)}`
}
