import { randomBytes } from 'node:crypto'
import { lstatSync, readFileSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'

const PEM_BYTES_MAX = 100_000

// Each function throws a plain Error that names the file as it was given, and what is wrong with it.

/**
 * Writes a file that its owner alone may read, whole or not at all, in the place of one that is there. Links are followed, and stay; what is no
 * file, as a pipe or a device, is written into as it is.
 */
export function writePrivately(path: string, text: string): void {
  try {
    const place = placeOf(path)
    if (place.isFile) putInPlace(place.path, text)
    else writeFileSync(place.path, text)
  } catch (error) {
    throw new Error(`${path} cannot be written: ${troubleOf(error)}`)
  }
}

function placeOf(path: string): { path: string; isFile: boolean } {
  if (!lstatSync(path, { throwIfNoEntry: false })) return { path, isFile: true }
  const isFile = statSync(path).isFile() // throws for a link that leads nowhere
  return { path: isFile ? realpathSync(path) : path, isFile }
}

function putInPlace(path: string, text: string): void {
  const aside = `${path}.${randomBytes(4).toString('hex')}`
  try {
    writeFileSync(aside, text, { mode: 0o600, flag: 'wx' })
    renameSync(aside, path)
  } catch (error) {
    rmSync(aside, { force: true })
    throw error
  }
}

/** Reads a file that should be PEM. Throws when it is far too large for that. */
export function readPem(path: string): string {
  const { size } = reading(path, () => statSync(path))
  if (size > PEM_BYTES_MAX) throw new Error(`${path} is too large to be a certificate or a key`)
  return readText(path)
}

/** Reads a file as UTF-8. */
export function readText(path: string): string {
  return reading(path, () => readFileSync(path, 'utf8'))
}

function reading<T>(path: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw new Error(`${path} cannot be read: ${troubleOf(error)}`)
  }
}

function troubleOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  if (code === 'ENOENT') return 'there is no such file or folder'
  if (code === 'EISDIR') return 'it is a folder'
  if (code === 'EACCES') return 'this user may not'
  return message
}
