import { randomBytes } from 'node:crypto'
import { closeSync, fsyncSync, openSync, readdirSync, readlinkSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { open } from 'node:fs/promises'
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

export function removeGeneration(file: string): void {
  for (const suffix of ['', '-wal', '-shm', '-journal']) rmSync(file + suffix, { force: true })
}

/** Keeps the damaged generation for whoever wants to look at it; an earlier one goes. */
export function setAside(path: string, file: string): void {
  removeGeneration(`${path}.damaged`)
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
    if (generation && path + generation !== kept) removeGeneration(path + generation)
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
