import { CommanderError } from 'commander'
import { ConfigError } from '../config.ts'
import { ServiceError } from '../errors.ts'
import { escapeControls } from '../lib/control-characters.ts'
import { printableLines, watchOutput } from './output.ts'
import { createProgram } from './program.ts'
import { startCommand } from './start.ts'

const FAILED = 1
const USAGE = 2

const inJson = process.argv.includes('--json')
const isStart = process.argv[2] === 'start'

if (!isStart) watchOutput((detail) => say('failed', detail)) // a start goes on without its output
try {
  // Visitors wait for a start: it does not read the code of the other commands.
  const commands = isStart ? [startCommand()] : (await import('./commands.ts')).allCommands()
  await createProgram(commands, { isQuiet: inJson }).parseAsync()
} catch (error) {
  process.exitCode = exitCodeFor(error)
}

/** Commander has printed its own complaint already; of any other failure the message is what its reader can act on, a program the code. */
function exitCodeFor(error: unknown): number {
  const { message } = error as Error
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return 0
    if (inJson) sayInJson('usage_invalid', message.replace(/^error: /, ''))
    return USAGE
  }
  if (process.connected) process.send?.({ type: 'failed', message }) // to the supervisor whose successor this was to be
  if (error instanceof ConfigError && !inJson) console.error(printableLines(message))
  else say(codeOf(error), message)
  return FAILED
}

function say(code: string, detail: string): void {
  if (inJson) sayInJson(code, detail)
  else console.error(`namesake: ${printableLines(detail).replaceAll('\n', '\nnamesake: ')}`)
}

function sayInJson(code: string, detail: string): void {
  console.error(escapeControls(JSON.stringify({ code, detail })))
}

function codeOf(error: unknown): string {
  if (error instanceof ServiceError) return error.code
  return error instanceof ConfigError ? 'setting_invalid' : 'failed'
}
