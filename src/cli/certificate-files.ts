import { randomBytes } from 'node:crypto'
import { renameSync, rmSync, writeFileSync } from 'node:fs'

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
