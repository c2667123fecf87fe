import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { identify, isStill, type ProcessIdentity } from './processes.ts'

const TRIES_MAX = 5

/** The running supervisor of a data folder, if there is one. */
export function findSupervisor(dataDir: string): ProcessIdentity | undefined {
  const holder = readHolder(join(dataDir, 'lock'))
  return holder && isStill(holder) ? holder : undefined
}

/**
 * Makes this process the only supervisor of the data folder; `release` ends that. A lock whose process has died is taken over.
 * Throws when another supervisor runs.
 */
export function takeStartLock(dataDir: string): { release(): void } {
  const path = join(dataDir, 'lock')
  const mine = `${path}.${process.pid}`
  try {
    writeFileSync(mine, JSON.stringify(identify(process.pid)), { mode: 0o644 })
    for (let tries = 0; tries < TRIES_MAX; tries += 1) {
      if (linkUnlessThere(mine, path)) return { release: () => releaseIfMine(path) }
      const holder = readHolder(path)
      if (holder && isStill(holder))
        throw new Error(`already running on ${dataDir} (process ${holder.pid}): stop it first, or set another NAMESAKE_DATA_DIR`)
      removeStale(path, holder)
    }
    throw new Error(`${path} could not be taken: others start at the same time`)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
    throw new Error(`the disk of ${dataDir} is full: a start needs a few kilobytes there. Make room, and start again`, { cause: error })
  } finally {
    rmSync(mine, { force: true })
  }
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
