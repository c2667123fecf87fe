import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const PROJECT = fileURLToPath(new URL('../../', import.meta.url))
const RELEASES = join(PROJECT, 'test/releases')
const SUFFIX = '.tar.gz'

export type FormerRelease = { version: string; folder: string; launcher: string; migrations: string[]; remove(): void }

/** Unpacks the archive of the release before this one; it runs with today's packages. */
export function unpackFormerRelease(): FormerRelease {
  const archive = readdirSync(RELEASES).find((name) => name.endsWith(SUFFIX))
  if (!archive) throw new Error(`no release is kept in ${RELEASES}: see tools/archive-release.ts`)
  const folder = mkdtempSync(join(tmpdir(), 'namesake-former-'))
  chmodSync(folder, 0o755) // the service user runs it
  execFileSync('tar', ['xzf', join(RELEASES, archive), '-C', folder])
  mkdirSync(join(folder, 'portal/dist'), { recursive: true })
  symlinkSync(join(PROJECT, 'node_modules'), join(folder, 'node_modules'))
  return {
    version: basename(archive, SUFFIX),
    folder,
    launcher: join(folder, 'bin/namesake'),
    migrations: readdirSync(join(folder, 'sql')).filter((name) => /^\d/.test(name)),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}
