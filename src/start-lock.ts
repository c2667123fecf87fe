import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { lockFile } from './lib/file-lock.ts'
import { identify, isStill, type ProcessIdentity } from './processes.ts'

const TRIES_MAX = 5

/** The running supervisor of a data folder, if there is one. */
export function findSupervisor(dataDir: string): ProcessIdentity | undefined {
  const holder = readHolder(join(dataDir, 'lock'))
  return holder && isStill(holder) ? holder : undefined
}

/**
 * Makes this process the only supervisor of the data folder; `release` ends that. A lock whose process has died is taken over.
 * Throws when another supervisor runs, also one whose process cannot be seen from here, as in another container on the same volume.
 */
export function takeStartLock(dataDir: string): { release(): void } {
  const held = holdAcrossContainers(dataDir)
  try {
    const named = nameHolder(dataDir)
    return {
      release() {
        named.release()
        held.close()
      },
    }
  } catch (error) {
    held.close()
    throw error
  }
}

/** The process id in the other lock says nothing where processes are numbered anew, so the kernel is asked first. */
function holdAcrossContainers(dataDir: string): { close(): void } {
  const path = join(dataDir, 'start.lock')
  try {
    writeFileSync(path, '', { flag: 'wx', mode: 0o600 }) // whoever may read it could hold a lock on it
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw sayWhatIsFull(dataDir, error)
  }
  const lock = lockFile(path)
  if (lock) return lock
  const holder = findSupervisor(dataDir)
  if (holder) throw alreadyRunning(dataDir, holder)
  throw new Error(
    `already running on ${dataDir}, in another container or machine that shares it, whose processes cannot be seen from here: stop it there first, or set another NAMESAKE_DATA_DIR`,
  )
}

/** Says who the supervisor is, for the commands that send it signals; releases without the kernel's lock know this one alone. */
function nameHolder(dataDir: string): { release(): void } {
  const path = join(dataDir, 'lock')
  const mine = `${path}.${process.pid}`
  try {
    writeFileSync(mine, JSON.stringify(identify(process.pid)), { mode: 0o644 })
    for (let tries = 0; tries < TRIES_MAX; tries += 1) {
      if (linkUnlessThere(mine, path)) return { release: () => releaseIfMine(path) }
      const holder = readHolder(path)
      if (holder && isStill(holder)) throw alreadyRunning(dataDir, holder)
      removeStale(path, holder)
    }
    throw new Error(`${path} could not be taken: others start at the same time`)
  } catch (error) {
    throw sayWhatIsFull(dataDir, error)
  } finally {
    rmSync(mine, { force: true })
  }
}

function alreadyRunning(dataDir: string, { pid }: ProcessIdentity): Error {
  return new Error(`already running on ${dataDir} (process ${pid}): stop it first, or set another NAMESAKE_DATA_DIR`)
}

function sayWhatIsFull(dataDir: string, error: unknown): unknown {
  if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') return error
  return new Error(`the disk of ${dataDir} is full: a start needs a few kilobytes there. Make room, and start again`, { cause: error })
}

function linkUnlessThere(from: string, to: string): boolean {
  try {
    linkSync(from, to) // appears whole or not at all, and never replaces
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

/** Two starters may both find the lock stale: what is moved away is looked at again, and put back if it is the other's new one. */
function removeStale(path: string, stale: ProcessIdentity | undefined): void {
  const aside = `${path}.stale.${process.pid}`
  try {
    renameSync(path, aside)
  } catch {
    return
  }
  const moved = readHolder(aside)
  if (moved && moved.pid !== stale?.pid) linkUnlessThere(aside, path)
  rmSync(aside, { force: true })
}

function releaseIfMine(path: string): void {
  if (readHolder(path)?.pid === process.pid) rmSync(path, { force: true })
}

function readHolder(path: string): ProcessIdentity | undefined {
  try {
    const { pid, startedAt } = JSON.parse(readFileSync(path, 'utf8')) as Partial<ProcessIdentity>
    return typeof pid === 'number' && typeof startedAt === 'string' ? { pid, startedAt } : undefined
  } catch {
    return undefined
  }
}
