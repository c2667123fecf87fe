import { openSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { commandOf } from './processes.ts'
import { canEnter, type ServiceUser } from './service-user.ts'

// Libraries load parts of themselves when they first need them, long after a child has given root up. Where the program lies below a folder
// that only root can enter, as /root, it is therefore started through a descriptor of its own folder: /proc/self/fd/<n> leads there without
// walking the folders above. Node must then not resolve links, or it would be back at the path that cannot be walked.

/** The program's folder, opened, when the service user cannot walk to it; undefined when it can. */
export function openProgramFolder(folder: string, user: ServiceUser | undefined): number | undefined {
  return user && !canEnter(user, folder) ? openSync(folder, 'r') : undefined
}

/** The words for `node` that run a script of the folder two levels up, which the new process will hold open as this descriptor. */
export function throughDescriptor(script: string, descriptor: number): string[] {
  const inside = join(basename(dirname(script)), basename(script))
  return ['--preserve-symlinks', '--preserve-symlinks-main', `/proc/self/fd/${descriptor}/${inside}`]
}

/** Whether the process runs the script, started in either way. */
export function runsScript(pid: number, script: string): boolean {
  const inside = `/${join(basename(dirname(script)), basename(script))}`
  return commandOf(pid).some((word) => word === script || (word.startsWith('/proc/self/fd/') && word.endsWith(inside)))
}
