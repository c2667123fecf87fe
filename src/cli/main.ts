import { readFileSync } from 'node:fs'
import { Command, CommanderError } from 'commander'
import { ConfigError } from '../config.ts'
import { caCommand } from './ca.ts'
import { doctorCommand } from './doctor.ts'
import { domainsCommand } from './domains.ts'
import { migrateCommand } from './migrate.ts'
import { projectsCommand } from './projects.ts'
import { startCommand } from './start.ts'
import { tokensCommand } from './tokens.ts'

const FAILED = 1
const USAGE = 2

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string }

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

try {
  await program.parseAsync()
} catch (error) {
  process.exitCode = exitCodeFor(error)
}

/** Commander has printed its own complaint already; of any other failure the message is what its reader can act on. */
function exitCodeFor(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : USAGE
  const { message } = error as Error
  console.error(error instanceof ConfigError ? message : `namesake: ${message}`)
  return FAILED
}

function letErrorsThrough(command: Command): void {
  command.exitOverride()
  for (const sub of command.commands) letErrorsThrough(sub)
}
