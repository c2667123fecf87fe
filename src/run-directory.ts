import { lstatSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { hashOf, prepareFolder } from './data-directory.ts'
import type { ServiceUser } from './service-user.ts'

const SOCKET_PATH_BYTES_MAX = 107 // sun_path of unix(7), without its final NUL
const LONGEST_SOCKET = '/.s.PGSQL.5432'

/** The folder of this installation's Unix sockets: in the data folder, or in /tmp when that makes a path which is too long for a socket. */
export function locateRun(dataDir: string): string {
  const inside = join(dataDir, 'run')
  return Buffer.byteLength(inside + LONGEST_SOCKET) <= SOCKET_PATH_BYTES_MAX ? inside : `/tmp/namesake-${hashOf(dataDir)}`
}

/**
 * Makes that folder with mode 0700: who may enter it may use the database. Throws when somebody else has made it first, as anybody could
 * in /tmp.
 */
export function prepareRun(dataDir: string, user: ServiceUser | undefined): string {
  const folder = locateRun(dataDir)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const made = lstatSync(folder)
  const owners = [process.getuid!(), user?.uid]
  if (!made.isDirectory() || !owners.includes(made.uid)) {
    throw new Error(`${folder} belongs to somebody else: remove it, or choose a shorter NAMESAKE_DATA_DIR`)
  }
  prepareFolder(folder, user)
  return folder
}
