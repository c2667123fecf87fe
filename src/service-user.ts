import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/** The unprivileged user that does the work when root has started us. */
export type ServiceUser = { name: string; uid: number; gid: number }

const NAMES = ['namesake', 'nobody']
const OVERFLOW_ID = 65_534 // what the kernel shows for nobody

/** The user `namesake` if there is one, else `nobody`; undefined when we are not root and so stay who we are. */
export function findServiceUser(): ServiceUser | undefined {
  if (process.getuid?.() !== 0) return undefined
  const accounts = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
  for (const name of NAMES) {
    const account = accounts.find((fields) => fields[0] === name)
    if (account) return { name, uid: Number(account[2]), gid: Number(account[3]) }
  }
  return { name: `user ${OVERFLOW_ID}`, uid: OVERFLOW_ID, gid: OVERFLOW_ID }
}

/**
 * Gives up root for good: supplementary groups, group, user. Everything that only root can read must be loaded before.
 * Does nothing for an ordinary user. Throws when the kernel refuses; then this process must not serve.
 */
export function dropPrivileges(user: ServiceUser | undefined): void {
  if (!user || process.getuid!() !== 0) return
  process.setgroups!([user.gid])
  process.setgid!(user.gid)
  process.setuid!(user.uid)
  if (process.getuid!() === 0 || process.geteuid!() === 0) throw new Error('root could not be given up')
}

/** Whether the user can enter the folder, as the system itself decides it (modes, access lists, mounts). */
export function canEnter(user: ServiceUser, folder: string): boolean {
  return spawnSync('/bin/sh', ['-c', 'cd -- "$1"', 'sh', folder], { uid: user.uid, gid: user.gid, cwd: '/', stdio: 'ignore' }).status === 0
}
