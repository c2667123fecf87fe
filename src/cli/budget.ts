import { Command } from 'commander'
import type { Config } from '../config.ts'
import { allowDomain, disallowDomain, listExceptions } from '../core/budget-exceptions.ts'
import { type DirectoryBudget, readBudgets, readWaiting } from '../core/budget-report.ts'
import { parseHostname } from '../hostname.ts'
import { ownCommand } from '../own-command.ts'
import { withInstallation } from './installation.ts'
import { printable, show, shownTime, table } from './output.ts'

type Options = { directory?: string; certificates?: string; note?: string; json?: boolean }

/** `namesake budget show|allow|disallow` */
export function budgetCommand(): Command {
  const budget = new Command('budget').description("Show the certificate authorities' limits, and what was agreed with them")
  budget
    .command('show')
    .description('Show what is used of each limit, what waits for room, and the exceptions')
    .option('--json', 'print JSON')
    .action(showBudget)
  budget
    .command('allow')
    .description('Allow a registered domain more certificates a week, as agreed with the authority')
    .argument('<domain>', 'the registered domain, as example.com')
    .requiredOption('--certificates <number>', 'how many in 7 days, instead of the limit')
    .option('--directory <url>', 'which authority (default: the first of NAMESAKE_ACME_DIRECTORY)')
    .option('--note <text>', 'who agreed to it, and where')
    .option('--json', 'print JSON')
    .action(allow)
  budget
    .command('disallow')
    .description("End an exception: the authority's own limit holds again")
    .argument('<domain>')
    .option('--directory <url>', 'which authority (default: the first of NAMESAKE_ACME_DIRECTORY)')
    .option('--json', 'print JSON')
    .action(disallow)
  return budget
}

async function showBudget({ json }: Options): Promise<void> {
  const found = await withInstallation(async ({ db, config }) => ({
    directories: await readBudgets(db, config.acmeDirectories),
    waiting: await readWaiting(db),
    exceptions: await listExceptions(db),
  }))
  show({ json }, found, () => {
    const waiting = found.waiting.map(({ limit, hostnames, nextAt }) => [limit, String(hostnames), shownTime(nextAt)])
    const exceptions = found.exceptions.map((one) => [
      one.registeredDomain,
      String(one.certificates),
      one.directory,
      printable(one.note) || '-',
    ])
    return [
      ...found.directories.flatMap(readable),
      ...(waiting.length > 0 ? ['', ...table(['WAITING FOR', 'HOSTNAMES', 'NEXT ORDER'], waiting)] : ['', 'No hostname waits for room.']),
      ...(exceptions.length > 0 ? ['', ...table(['EXCEPTION FOR', 'A WEEK', 'DIRECTORY', 'NOTE'], exceptions)] : []),
    ]
  })
}

function readable({ directory, account, domains, blocks }: DirectoryBudget): string[] {
  if (!account) return [`${directory}: no limits`]
  const hours = account.windowS / 3_600
  const counts = domains.map(({ registeredDomain, used, max, forNew }) => [registeredDomain, String(used), String(forNew), String(max)])
  return [
    `${directory}: ${account.used} of ${account.max} orders in ${hours} hours, of which new certificates may use ${account.forNew}`,
    ...(counts.length > 0 ? table(['REGISTERED DOMAIN', 'USED IN 7 DAYS', 'FOR NEW', 'LIMIT'], counts) : []),
    ...blocks.map(
      ({ scope, key, until, detail }) => `Refused by the authority until ${shownTime(until)} (${key || scope}): ${printable(detail)}`,
    ),
  ]
}

async function allow(name: string, { directory, certificates, note, json }: Options): Promise<void> {
  const domain = parseHostname(name)
  const exception = await withInstallation(({ db, config }) =>
    allowDomain(db, {
      directory: chosen(config, directory),
      domain,
      certificates: /^\d+$/.test(certificates!) ? Number(certificates) : Number.NaN,
      note,
    }),
  )
  show({ json }, exception, () => [
    `${domain} may have ${exception.certificates} certificates in 7 days from ${exception.directory}. How it stands: ${ownCommand()} budget show`,
  ])
}

async function disallow(name: string, { directory, json }: Options): Promise<void> {
  const domain = parseHostname(name)
  await withInstallation(({ db, config }) => disallowDomain(db, { directory: chosen(config, directory), domain }))
  show({ json }, { registeredDomain: domain, removed: true }, () => [`The authority's own limit holds for ${domain} again.`])
}

function chosen({ acmeDirectories }: Config, directory: string | undefined): string {
  if (directory === undefined) return acmeDirectories[0]!
  if (acmeDirectories.includes(directory)) return directory
  throw new Error(`${directory} is none of NAMESAKE_ACME_DIRECTORY: ${acmeDirectories.join(', ')}`)
}
