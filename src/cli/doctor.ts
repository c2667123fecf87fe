import { Command } from 'commander'
import { type Config, ConfigError, readConfig } from '../config.ts'
import { checkCertificates } from './certificate-checks.ts'
import { checkDnsZone } from './dns-zone-check.ts'
import {
  type Check,
  checkAllocator,
  checkAuthorities,
  checkDatabase,
  checkEdgeDns,
  checkIpv6,
  checkMail,
  checkPorts,
  checkSources,
} from './installation-checks.ts'
import { printableLines, show, styled } from './output.ts'
import { checkPlans } from './plan-check.ts'
import { checkSecret } from './secret-check.ts'

const SIGNS = { good: styled('green', '✓'), doubtful: styled('yellow', '!'), bad: styled('red', '✗') }

/** `namesake doctor` */
export function doctorCommand(): Command {
  return new Command('doctor')
    .description(
      'Look for what is wrong: settings, database, secret, plans, ports, source addresses, mail, memory allocator, DNS of the edge host and of our own zone, certificate authorities',
    )
    .option('--json', 'print JSON')
    .action(run)
}

async function run({ json }: { json?: boolean }): Promise<void> {
  const checks = await examine()
  show({ json }, checks, () =>
    checks.map(
      ({ name, state, sentence }) =>
        `${SIGNS[state]} ${styled('bold', name.padEnd(12))} ${printableLines(sentence).replaceAll('\n', `\n${' '.repeat(15)}`)}`,
    ),
  )
  if (checks.some(({ state }) => state === 'bad')) process.exitCode = 1
}

async function examine(): Promise<Check[]> {
  let read: { config: Config; warnings: string[] }
  try {
    read = readConfig(process.env, process.cwd())
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return [{ name: 'settings', state: 'bad', sentence: error.message }]
  }
  const { config, warnings } = read
  const settings: Check[] = warnings.map((sentence) => ({ name: 'settings', state: 'doubtful', sentence }))
  if (settings.length === 0)
    settings.push({ name: 'settings', state: 'good', sentence: `all usable; customers point their CNAME at ${config.edgeHost}` })
  const found = await Promise.all([
    checkDatabase(config),
    checkSecret(config),
    checkPlans(config),
    checkPorts(config),
    checkIpv6(config),
    checkSources(config),
    checkMail(config),
    checkAllocator(config),
    checkEdgeDns(config),
    checkDnsZone(config),
    checkAuthorities(config),
    checkCertificates(config),
  ])
  return [...settings, ...found.flat()]
}
