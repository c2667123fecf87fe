import { CommanderError } from 'commander'
import { ConfigError } from '../config.ts'
import { ServiceError } from '../errors.ts'
import { createProgram } from './program.ts'
import { startCommand } from './start.ts'

const FAILED = 1
const USAGE = 2

try {
  // Visitors wait for a start: it does not read the code of the other commands.
  const commands = process.argv[2] === 'start' ? [startCommand()] : (await import('./commands.ts')).allCommands()
  await createProgram(commands).parseAsync()
} catch (error) {
  process.exitCode = exitCodeFor(error)
}

/** Commander has printed its own complaint already; of any other failure the message is what its reader can act on, a program the code. */
function exitCodeFor(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : USAGE
  const { message } = error as Error
  if (process.connected) process.send?.({ type: 'failed', message }) // to the supervisor whose successor this was to be
  if (process.argv.includes('--json')) console.error(JSON.stringify({ code: codeOf(error), detail: message }))
  else console.error(error instanceof ConfigError ? message : message.replace(/^/gm, 'namesake: '))
  return FAILED
}

function codeOf(error: unknown): string {
  if (error instanceof ServiceError) return error.code
  return error instanceof ConfigError ? 'setting_invalid' : 'failed'
}
