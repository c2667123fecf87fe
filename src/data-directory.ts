import { createHash } from 'node:crypto'
import { chmodSync, chownSync, closeSync, existsSync, lstatSync, mkdirSync, openSync, readdirSync, statSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { shellWord } from './lib/shell-word.ts'
import { canEnter, type ServiceUser } from './service-user.ts'

const SYSTEM_FOLDER = '/var/lib/namesake'
const OURS = ['lock', 'start.lock', 'postgres', 'secret', 'copy', 'run']

/**
 * Where the data really lies: the configured folder, or `/var/lib/namesake/<hash of its path>` when the service user cannot get to it,
 * as below /root. The same answer for every process of this installation; makes nothing.
 */
export function locateData(configured: string, user: ServiceUser | undefined): string {
  if (!user || canEnter(user, nearestFolder(dirname(configured)))) return configured
  return join(SYSTEM_FOLDER, hashOf(configured))
}

/**
 * Makes the data folder, and a link to it where it was configured but could not be. With a service user the folder itself stays root's, so
 * that nobody else can put a link in the way of a file that root writes; the service user has folders of its own in it.
 * Throws when the configured folder holds other people's files, or data that has become unreachable.
 */
export function prepareData(configured: string, user: ServiceUser | undefined): string {
  const located = locateData(configured, user)
  if (located === configured) refuseForeign(configured, user)
  else leaveLink(configured, located)
  makeFolder(located)
  if (user) chownSync(located, 0, 0)
  chmodSync(located, user ? 0o711 : 0o700)
  if (user && !canEnter(user, located)) {
    throw new Error(`${located} cannot be entered by the user ${user.name}, who is to work there: look at the folders above it`)
  }
  prepareFolder(join(located, 'copy'), user)
  return located
}

/** Makes a folder that its user alone can enter. */
export function prepareFolder(path: string, user: ServiceUser | undefined): void {
  mkdirSync(path, { recursive: true, mode: 0o700 })
  if (user) chownSync(path, user.uid, user.gid)
  requireOwn(path)
  chmodSync(path, 0o700)
}

/** Nobody but root can give a folder away, or change the mode of another user's, as of one that root has restored. */
function requireOwn(path: string): void {
  const us = process.getuid!()
  const { uid } = statSync(path)
  if (us === 0 || uid === us) return
  const way = `chown -R ${us}:${process.getgid!()} ${shellWord(path)}`
  throw new Error(`${path} belongs to another user (uid ${uid}) than the one who starts (uid ${us}): ${way}`)
}

/** Makes a file, if there is none, that the service user may write in the data folder. */
export function prepareFile(path: string, mode: number, user: ServiceUser | undefined): void {
  closeSync(openSync(path, 'a', mode))
  if (user) chownSync(path, user.uid, user.gid)
}

/** A short name for a path, the same on every start. */
export function hashOf(path: string): string {
  return createHash('sha256').update(path).digest('hex').slice(0, 12)
}

function makeFolder(path: string): void {
  try {
    mkdirSync(dirname(path), { recursive: true })
    mkdirSync(path, { recursive: true, mode: 0o700 })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new Error(`${path} cannot be made (${code}): set NAMESAKE_DATA_DIR to a folder that this user may write`, { cause: error })
  }
}

function leaveLink(configured: string, located: string): void {
  const there = lstatSync(configured, { throwIfNoEntry: false })
  if (there?.isDirectory() && OURS.some((name) => existsSync(join(configured, name)))) {
    throw new Error(
      `${configured} holds data, but the service user can no longer enter the folders above it: let it in (chmod o+x), or move the data to ${located}`,
    )
  }
  if (there) return
  mkdirSync(dirname(configured), { recursive: true })
  symlinkSync(located, configured)
}

/** A folder that was not meant for us, as with NAMESAKE_DATA_DIR=/home, is left as it is. */
function refuseForeign(folder: string, user: ServiceUser | undefined): void {
  const there = statSync(folder, { throwIfNoEntry: false })
  if (!there) return
  if (!there.isDirectory()) throw new Error(`NAMESAKE_DATA_DIR=${folder} is a file: name a folder`)
  const database = statSync(join(folder, 'postgres'), { throwIfNoEntry: false })
  if (user && database && ![user.uid, 0].includes(database.uid)) {
    throw new Error(`${folder} was made by another user (uid ${database.uid}): start as that user, or name another NAMESAKE_DATA_DIR`)
  }
  const us = process.getuid!()
  if (us !== 0 && there.uid !== us) {
    throw new Error(
      `${folder} belongs to another user (uid ${there.uid}): was it made by a start as root? Start as root again, or set NAMESAKE_DATA_DIR`,
    )
  }
  const names = readdirSync(folder).filter((name) => name !== 'lost+found') // as on a disk of its own
  if (names.length > 0 && !OURS.some((name) => names.includes(name))) {
    throw new Error(`NAMESAKE_DATA_DIR=${folder} holds other files: name a folder that is empty or does not exist yet`)
  }
}

function nearestFolder(path: string): string {
  return existsSync(path) ? path : nearestFolder(dirname(path))
}
