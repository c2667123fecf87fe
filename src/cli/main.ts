import { CommanderError } from 'commander'
import { ConfigError } from '../config.ts'
import { createProgram } from './program.ts'

const FAILED = 1
const USAGE = 2

try {
  await createProgram().parseAsync()
} catch (error) {
  process.exitCode = exitCodeFor(error)
}

/** Commander has printed its own complaint already; of any other failure the message is what its reader can act on. */
function exitCodeFor(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : USAGE
  const { message } = error as Error
  console.error(error instanceof ConfigError ? message : message.replace(/^/gm, 'namesake: '))
  return FAILED
}
