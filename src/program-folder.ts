import { mkdirSync, openSync, readdirSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { basename, dirname, join, parse } from 'node:path'
import { commandOf, isRunning } from './processes.ts'
import { canEnter, type ServiceUser } from './service-user.ts'

// Libraries load parts of themselves when they first need them, long after a child has given root up. A program that lies where only root
// can enter, as below /root, is therefore run through a folder of links to descriptors of its parts, which every child holds open:
// /proc/self/fd/<n> leads to an open folder without walking those above it. Node must then not resolve links, or it would be back at the
// path that cannot be walked.

/**
 * How children reach the program: its script, words for `node` before it, the descriptors that must stand from `firstFd` on, and the folder that they
 * start in, where that is not this process's.
 */
export type ProgramAccess = { script: string; options: string[]; fds: number[]; folder?(): string | undefined }

const LINKS = 'program'
const READ_AND_ENTER = 0o005

/**
 * Makes the program of `script` (in a folder of the program's own) reachable for the service user, through links in `dataDir` where need be.
 * Throws when the program's files themselves are root's alone.
 */
export function openProgram(script: string, dataDir: string, user: ServiceUser | undefined, firstFd: number): ProgramAccess {
  const program = dirname(dirname(script))
  if (!user || canEnter(user, dirname(script))) return { script, options: [], fds: [] }
  if ((statSync(dirname(script)).mode & READ_AND_ENTER) !== READ_AND_ENTER) {
    throw new Error(
      `${program} can be read by root alone, and the user ${user.name} is to run it: chmod -R go+rX ${program}, or start as an ordinary user`,
    )
  }
  const links = join(dataDir, LINKS, String(process.pid)) // those of a release that still drains lead elsewhere
  mkdirSync(dirname(links), { recursive: true, mode: 0o755 })
  for (const name of readdirSync(dirname(links))) {
    if (Number(name) === process.pid || !isRunning(Number(name))) rmSync(join(dirname(links), name), { recursive: true, force: true })
  }
  mkdirSync(links, { mode: 0o755 })
  const parts = readdirSync(program).filter((name) => !name.startsWith('.'))
  const fds = parts.map((name, i) => {
    symlinkSync(`/proc/self/fd/${firstFd + i}`, join(links, name))
    return openSync(join(program, name), 'r')
  })
  return { script: join(links, inside(script)), options: ['--preserve-symlinks', '--preserve-symlinks-main'], fds }
}

/** Whether the process runs the script of this release, from its sources or built, started in either way. */
export function runsScript(pid: number, script: string): boolean {
  const program = dirname(dirname(script))
  const { name } = parse(script)
  const forms = [script, join(program, 'src', `${name}.ts`), join(program, 'dist', `${name}.js`)]
  const isOurs = (word: string) => forms.some((form) => word === form || (word.includes(`/${LINKS}/`) && word.endsWith(`/${inside(form)}`)))
  return commandOf(pid).some(isOurs)
}

function inside(script: string): string {
  return join(basename(dirname(script)), basename(script))
}
