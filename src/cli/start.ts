import { Command, InvalidArgumentError, Option } from 'commander'
import { readConfig } from '../config.ts'
import { leave } from '../log.ts'
import { LAUNCHER } from '../own-command.ts'
import { defaultRoles, ROLES, type Role } from '../role-tree.ts'
import { doubtMail } from '../roles/mailing.ts'
import { startFacts, startScreen } from '../start-screen.ts'
import { supervise } from '../supervisor.ts'
import { doubtSources } from '../upstream-sources.ts'
import { readWorkingFolder } from '../working-folder.ts'
import { createSupervisorLog, shorten } from './supervisor-log.ts'

type Options = { demo?: boolean; roles?: Role[]; json?: boolean }

/** `namesake start` */
export function startCommand(): Command {
  return new Command('start')
    .summary('Run the service')
    .description(
      'Run the service until Ctrl-C or SIGTERM; SIGHUP replaces every process (reload; from a terminal it stops the service), SIGUSR2 lets the program on disk take over (upgrade)',
    )
    .option('--demo', 'with a demo project: a token, an application, and the hostname hello.localhost')
    .addOption(
      new Option(
        '--roles <roles>',
        `the roles to run here, of ${ROLES.join(',')} (default: all of them, dns where NAMESAKE_DNS_ZONE is set)`,
      ).argParser(parseRoles),
    )
    .option('--json', 'print what runs where as one line of JSON')
    .action(run)
}

async function run({ demo = false, roles: chosen, json }: Options): Promise<void> {
  const { config, warnings, dotEnv } = readConfig(process.env, process.cwd())
  const roles = chosen ?? defaultRoles(config)
  if (roles.includes('dns') && !config.dnsZone)
    throw new Error('the role dns answers for a zone: set NAMESAKE_DNS_ZONE, for example to acme.example.com, or leave the role out')
  if (demo && !config.local)
    throw new Error(`--demo is for a local start, and NAMESAKE_EDGE_HOST is ${config.edgeHost}: leave out one of the two`)
  const terminal = process.stderr.isTTY === true
  const log = createSupervisorLog({ level: config.logLevel, terminal })
  for (const warning of [...warnings, ...doubtMail(config, roles), ...doubtSources(config, roles)]) log.warn(warning)
  await leave(
    await supervise({
      config,
      roles,
      demo,
      env: process.env,
      dotEnv,
      log,
      onRunning(running) {
        if (json) console.log(JSON.stringify(startFacts(running)))
        else for (const line of startScreen(running, process.stdout.isTTY === true)) console.log(line)
      },
      output: terminal ? { write: (line) => console.error(shorten(line)) } : { fd: 2 },
      terminal,
      launch: {
        command: process.env.NAMESAKE_LAUNCHER ?? LAUNCHER,
        args: process.argv.slice(2),
        folder: readWorkingFolder(process.env.PWD),
      },
    }),
  )
}

function parseRoles(text: string): Role[] {
  const named = text.split(',').map((role) => role.trim())
  const unknown = named.find((role) => !ROLES.some((known) => known === role))
  if (unknown !== undefined) throw new InvalidArgumentError(`"${unknown}" is none of ${ROLES.join(', ')}.`)
  return ROLES.filter((role) => named.includes(role))
}
