import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { shellWord } from './lib/shell-word.ts'
import { ownFile } from './own-files.ts'

/** The launcher of this release. */
export const LAUNCHER = fileURLToPath(ownFile('bin/namesake'))

/** How the command line is called from the working folder, so that a command which a message offers works as it is copied. */
export function ownCommand(): string {
  const path = relative(process.cwd(), LAUNCHER)
  return shellWord(path.startsWith('..') ? LAUNCHER : path)
}
