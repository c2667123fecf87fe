import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import { caCommand } from './ca.ts'
import { doctorCommand } from './doctor.ts'
import { domainsCommand } from './domains.ts'
import { migrateCommand } from './migrate.ts'
import { projectsCommand } from './projects.ts'
import { startCommand } from './start.ts'
import { tokensCommand } from './tokens.ts'

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string }

/** The command line, every command in the order of its help. A wrong use throws a CommanderError, its complaint printed already. */
export function createProgram(): Command {
  const program = new Command('namesake')
    .description("Serve your customers' own hostnames from your application: one CNAME, HTTPS by itself.")
    .version(version)
    .showHelpAfterError('(add --help to see what there is)')
  for (const command of [
    startCommand(),
    projectsCommand(),
    tokensCommand(),
    domainsCommand(),
    migrateCommand(),
    caCommand(),
    doctorCommand(),
  ]) {
    program.addCommand(command)
  }
  letErrorsThrough(program)
  return program
}

function letErrorsThrough(command: Command): void {
  command.exitOverride()
  for (const sub of command.commands) letErrorsThrough(sub)
}
