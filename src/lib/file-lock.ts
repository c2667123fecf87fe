import { DatabaseSync } from 'node:sqlite'
import { isSqliteError } from './sqlite-error.ts'

/**
 * Locks the file for this process, until `close`; undefined when another process holds it. The kernel keeps the lock: it also stands between
 * containers that share a disk and no process ids, and falls when its holder dies, however it dies. Node has no other call for one than SQLite's.
 */
export function lockFile(path: string): DatabaseSync | undefined {
  const lock = new DatabaseSync(path, { timeout: 0 })
  try {
    lock.exec('begin exclusive')
    return lock
  } catch (error) {
    lock.close()
    if (isSqliteError(error, 'busy')) return undefined
    throw new Error(`${path} cannot be used: ${(error as Error).message}`, { cause: error })
  }
}
