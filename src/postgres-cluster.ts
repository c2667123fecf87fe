import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { prepareFolder } from './data-directory.ts'
import { shellWord } from './lib/shell-word.ts'
import type { ServiceUser } from './service-user.ts'

/** The database's superuser, its only user: whoever reaches the socket is it. */
export const POSTGRES_USER = 'namesake'
export const POSTGRES_DATABASE = 'namesake'

const PROGRAM_TIMEOUT_MS = 120_000
const HALF_MADE = 'postgres-half-'

// Sorted by code point, lower() and friends for all of Unicode, and no dependence on the machine's locales.
const INITDB_OPTIONS = [
  ...['--username', POSTGRES_USER, '--auth', 'trust', '--encoding', 'UTF8'],
  ...['--locale-provider', 'builtin', '--builtin-locale', 'C.UTF-8', '--locale', 'C'],
  ...['--data-checksums', '--no-instructions'],
]

/**
 * The folder of the database's files, made if there is none. It is made aside and renamed when whole and on disk, so that a start which was
 * killed half way simply makes it again. Rejects when the files are of another major version of PostgreSQL, or of another user.
 */
export async function ensureCluster(parts: {
  binaries: string
  dataDir: string
  user: ServiceUser | undefined
  version: string
}): Promise<string> {
  const { dataDir, user } = parts
  const folder = join(dataDir, 'postgres')
  for (const name of readdirSync(dataDir))
    if (name.startsWith(HALF_MADE)) rmSync(join(dataDir, name), { recursive: true, force: true, maxRetries: 5 })
  if (existsSync(folder)) return requireOwner(requireVersion(folder, parts.version), user)
  const aside = mkdtempSync(join(dataDir, HALF_MADE)) // a name of its own: an initdb that outlived its supervisor may still write to the last one
  prepareFolder(aside, user)
  await run(join(parts.binaries, 'bin', 'initdb'), ['--pgdata', aside, ...INITDB_OPTIONS], user)
  // The server's own single-user mode reads statements from its standard input.
  await run(join(parts.binaries, 'bin', 'postgres'), ['--single', '-D', aside, 'postgres'], user, `create database ${POSTGRES_DATABASE}\n`)
  renameSync(aside, folder)
  return folder
}

/** PostgreSQL works in no folder of another user's, as one that root has restored. */
function requireOwner(folder: string, user: ServiceUser | undefined): string {
  const { uid } = statSync(folder)
  if (!user || uid === user.uid) return folder
  throw new Error(`${folder} belongs to uid ${uid} and must belong to ${user.name}: chown -R ${user.uid}:${user.gid} ${shellWord(folder)}`)
}

function requireVersion(folder: string, version: string): string {
  const file = join(folder, 'PG_VERSION')
  if (!existsSync(file)) {
    throw new Error(`${folder} holds no database: remove it, and where a volume is mounted there, mount that on the folder above`)
  }
  const made = readFileSync(file, 'utf8').trim()
  const wanted = version.split('.')[0]
  if (made !== wanted) {
    throw new Error(
      `${folder} was made by PostgreSQL ${made}, and this release brings ${wanted}: move the data with pg_dump and psql, or go back to the former release`,
    )
  }
  return folder
}

async function run(program: string, args: string[], user: ServiceUser | undefined, input = ''): Promise<void> {
  const ids = user ? { uid: user.uid, gid: user.gid } : {}
  const child = spawn(program, args, { ...ids, cwd: '/', env: { LC_ALL: 'C', TZ: 'UTC' }, stdio: 'pipe', timeout: PROGRAM_TIMEOUT_MS })
  const output = collect(child)
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  child.once('error', reject)
  child.stdin.on('error', () => {}).end(input)
  child.once('close', (code, killedBy) => {
    if (code === 0) resolve()
    else
      reject(
        new Error(
          `the database could not be made (${killedBy ?? `exit code ${code}`}): ${output().trim().split('\n').slice(-3).join(' ')}`,
        ),
      )
  })
  await promise
}

function collect(child: ChildProcess): () => string {
  let text = ''
  for (const stream of [child.stdout!, child.stderr!])
    stream.setEncoding('utf8').on('data', (chunk: string) => (text = (text + chunk).slice(-4_000)))
  return () => text
}
