import { randomBytes } from 'node:crypto'
import { closeSync, fsyncSync, openSync, readdirSync, readlinkSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { open, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'

// `path` is a symbolic link to the generation in use. A generation's name is never used twice, so a reader that finds another name in
// the link knows that its open file is no longer the copy; and no generation can meet the write-ahead log of another.

/** The file that readers should have open now; undefined when there is no copy. About 1.5 µs. */
export function currentGeneration(path: string): string | undefined {
  try {
    return join(dirname(path), readlinkSync(path))
  } catch {
    return undefined
  }
}

/** Makes an empty file, closed to other users, for a new generation. */
export function createGeneration(path: string): string {
  const file = `${path}.${randomBytes(8).toString('hex')}`
  closeSync(openSync(file, 'wx', 0o600))
  return file
}

/** Makes the generation the copy, in one step that survives a crash on either side. Its bytes are on the disk first. */
export async function switchToGeneration(path: string, file: string): Promise<void> {
  await syncToDisk(file)
  const link = `${path}.next`
  rmSync(link, { force: true })
  symlinkSync(basename(file), link)
  renameSync(link, path)
  syncFolder(dirname(path))
}

const SUFFIXES = ['', '-wal', '-shm', '-journal']
const READERS_MOVE_ON_MS = 10_000

/** Beside the event loop: freeing a file of half a gigabyte takes a fifth of a second. */
export async function removeGeneration(file: string): Promise<void> {
  for (const suffix of SUFFIXES) await rm(file + suffix, { force: true })
}

/**
 * Removes a generation that was replaced once its readers have moved on: who closes a removed file last waits until it is freed, and that
 * must not be a process that serves. Where this one ends before, the next writer's sweep does it.
 */
export function removeReplaced(file: string): void {
  setTimeout(() => void removeGeneration(file).catch(() => {}), READERS_MOVE_ON_MS).unref()
}

/** Keeps the damaged generation for whoever wants to look at it; an earlier one goes. */
export async function setAside(path: string, file: string): Promise<void> {
  await removeGeneration(`${path}.damaged`)
  for (const suffix of ['', '-wal', '-shm']) {
    try {
      renameSync(file + suffix, `${path}.damaged${suffix}`)
    } catch {
      // Not every file has a log beside it.
    }
  }
}

/** Removes all generations but the one in use: the replaced one, and what a writer that was killed left half built. */
export function sweepGenerations(path: string): void {
  const kept = currentGeneration(path)
  const name = basename(path)
  for (const entry of readdirSync(dirname(path))) {
    const generation = entry.startsWith(name) && /^\.[0-9a-f]{16}/.exec(entry.slice(name.length))?.[0]
    if (!generation || path + generation === kept) continue
    for (const suffix of SUFFIXES) rmSync(path + generation + suffix, { force: true })
  }
}

async function syncToDisk(file: string): Promise<void> {
  const handle = await open(file, 'r+')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

function syncFolder(folder: string): void {
  const descriptor = openSync(folder, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
