import { randomBytes } from 'node:crypto'
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs'
import { join } from 'node:path'

const SECRET_BYTES = 32

/** The secret of an installation that was given none: made once, kept in the data folder, readable by its owner alone. */
export function readOwnSecret(dataDir: string): string | undefined {
  try {
    return readFileSync(join(dataDir, 'secret'), 'utf8').trim() || undefined
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** As readOwnSecret, but makes it when there is none. It is on disk before anything is sealed with it. */
export function keepOwnSecret(dataDir: string): string {
  const kept = readOwnSecret(dataDir)
  if (kept) return kept
  const secret = randomBytes(SECRET_BYTES).toString('hex')
  const aside = join(dataDir, 'secret.new')
  const file = openSync(aside, 'w', 0o600)
  writeSync(file, `${secret}\n`)
  fsyncSync(file)
  closeSync(file)
  renameSync(aside, join(dataDir, 'secret'))
  const folder = openSync(dataDir, 'r')
  fsyncSync(folder)
  closeSync(folder)
  return secret
}
