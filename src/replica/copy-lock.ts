import { accessSync, constants } from 'node:fs'
import { dirname } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { lockFile } from '../lib/file-lock.ts'
import { shellWord } from '../lib/shell-word.ts'

/** The copy has one writer, and another process is it. */
export class CopyInUseError extends Error {}

/** The copy's folder, or a file in it, is closed to the user of this process. The message says which, and how to open it. */
export class CopyClosedError extends Error {}

/** Makes this process the copy's one writer. The operating system lets go of the lock when its holder dies, however it dies. */
export function takeCopyLock(path: string): DatabaseSync {
  const file = `${path}.lock`
  const closed = [dirname(path), file].find(isClosed)
  if (closed) throw new CopyClosedError(howToOpen(closed, dirname(path)))
  const lock = lockFile(file)
  if (!lock) throw new CopyInUseError(`another process writes the copy at ${path}`)
  return lock
}

function isClosed(path: string): boolean {
  try {
    accessSync(path, constants.R_OK | constants.W_OK)
    return false
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EACCES'
  }
}

function howToOpen(closed: string, folder: string): string {
  const word = shellWord(folder)
  const [uid, gid] = [process.getuid!(), process.getgid!()]
  return `${closed} cannot be read and written by the user with the number ${uid}, to whom ${folder} and all in it must belong: chown -R ${uid}:${gid} ${word} && chmod -R u+rwX ${word}`
}
