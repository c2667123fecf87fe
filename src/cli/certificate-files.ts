import { randomBytes } from 'node:crypto'
import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'

const PEM_BYTES_MAX = 100_000

/** Writes a file that its owner alone may read, whole or not at all, in the place of one that is there. */
export function writePrivately(path: string, text: string): void {
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
  if (statSync(path).size > PEM_BYTES_MAX) throw new Error(`${path} is too large to be a certificate or a key`)
  return readFileSync(path, 'utf8')
}
