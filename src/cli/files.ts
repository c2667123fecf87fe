import { randomBytes } from 'node:crypto'
import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'

const PEM_BYTES_MAX = 100_000

// Each function throws a plain Error that names the file as it was given, and what is wrong with it.

/** Writes a file that its owner alone may read, whole or not at all, in the place of one that is there. */
export function writePrivately(path: string, text: string): void {
  const aside = `${path}.${randomBytes(4).toString('hex')}`
  try {
    writeFileSync(aside, text, { mode: 0o600, flag: 'wx' })
    renameSync(aside, path)
  } catch (error) {
    rmSync(aside, { force: true })
    throw new Error(`${path} cannot be written: ${troubleOf(error)}`)
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
