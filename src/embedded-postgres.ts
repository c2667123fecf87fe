import { spawn } from 'node:child_process'
import { closeSync, fchownSync, openSync, readFileSync, realpathSync, rmSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { closeDatabase, connectDatabase, databaseIsReachable } from './core/db.ts'
import { backOffMs, pause } from './lib/back-off.ts'
import type { Log } from './log.ts'
import { findPostgresPackage, type PostgresPackage, preparePostgresBinaries } from './postgres-binaries.ts'
import { ensureCluster, POSTGRES_DATABASE, POSTGRES_USER } from './postgres-cluster.ts'
import {
  hasEnded,
  identify,
  isRunning,
  isStill,
  listProcesses,
  type ProcessIdentity,
  programOf,
  signal,
  workingFolderOf,
} from './processes.ts'
import type { ServiceUser } from './service-user.ts'

export type EmbeddedPostgres = {
  url: string
  /** How the server was come by at the start. */
  origin: 'started' | 'adopted'
  pid(): number | undefined
  /** Leaves the server to another supervisor, which adopts it: from now on it is neither watched nor stopped from here. */
  yield(): Promise<void>
  /** Takes it (back), started again if it has ended meanwhile. Does nothing where it was never left to another. */
  resume(): Promise<void>
  /** Ends every connection and the server; `immediately` leaves the tidying to the next start, and loses nothing either. */
  stop(immediately?: boolean): Promise<void>
}

export type EmbeddedPostgresParts = {
  dataDir: string
  /** Folder of the socket, closed to everybody but us: who gets in may use the database. */
  runDir: string
  /** Who the server runs as when we are root: it refuses to be root. */
  user: ServiceUser | undefined
  log: Log
  package?: PostgresPackage
  /** Ends a start under way, which then rejects. */
  giveUp?: AbortSignal
  /** How often a server that ends at once is started before the start rejects. */
  startsMax?: number
  /** Another supervisor keeps the server running, and nothing is started here before `resume`. */
  yielded?: boolean
}

const PORT = 5432 // only names the socket file
const START_TIMEOUT_MS = 600_000 // a start after a crash replays what was written since the last checkpoint; cut short, it begins anew
const READY_POLL_MS = 25
const ADOPTION_TIMEOUT_MS = 10_000
const SLOW_START_MS = 3_000
const STARTS_AT_FIRST_MAX = 12
const FAST_STOP_MS = 20_000
const QUIT_STOP_MS = 5_000
const WATCH_MS = 100
const LOG_BYTES_MAX = 5_000_000
const LAST_BYTES_MAX = 64 * 1024
const BACK_OFF = { firstMs: 100, maxMs: 10_000 }

const SETTINGS = {
  listen_addresses: '',
  port: PORT,
  max_connections: 200,
  shared_buffers: '128MB',
  fsync: 'on',
  full_page_writes: 'on',
  synchronous_commit: 'on',
  max_wal_size: '1GB',
  checkpoint_timeout: '5min',
  random_page_cost: 1.1,
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_checkpoints: 'off',
  log_min_messages: 'log', // a refused duplicate claim is no news for the operator, and its values belong in no log
  log_line_prefix: '%m [%p] ',
}

/** The address of the embedded server whose socket lies in the folder. */
export function embeddedUrl(runDir: string): string {
  return `postgres://${POSTGRES_USER}@localhost:${PORT}/${POSTGRES_DATABASE}?host=${encodeURIComponent(runDir)}`
}

/**
 * Starts this installation's own PostgreSQL on a Unix socket, or adopts one that outlived its supervisor, and keeps it running: a server
 * that dies is started again, with back-off, until `stop`. There is no password: the 0700 folder around the socket is the door, and whoever
 * passes it could read the files of the database too. Rejects when it cannot be started at all.
 */
export async function startEmbeddedPostgres(parts: EmbeddedPostgresParts): Promise<EmbeddedPostgres> {
  const found = parts.package ?? findPostgresPackage()
  const binaries = preparePostgresBinaries(found, parts.dataDir, parts.user)
  const made = await ensureCluster({ binaries, dataDir: parts.dataDir, user: parts.user, version: found.version })
  const files = realpathSync(made) // as the system shows the folder that a server works in
  const server: Server = { ...parts, binaries, files }

  let isOurs = !parts.yielded
  const adopted = isOurs ? await adopt(server) : undefined
  const start = () => startWithPatience(server, parts.startsMax ?? STARTS_AT_FIRST_MAX, parts.giveUp)
  let running = isOurs ? (adopted ?? (await start())) : undefined

  const watch = async (until: AbortSignal) => {
    while (!until.aborted) {
      if (running && isStill(running)) await pause(WATCH_MS, until)
      else {
        parts.log.error({ pid: running?.pid }, 'the embedded PostgreSQL has ended: starting it again')
        running = await startWithPatience(server, Number.POSITIVE_INFINITY, until)
      }
    }
  }
  let stopping = new AbortController()
  let watching = isOurs ? watch(stopping.signal) : Promise.resolve()
  let resuming: Promise<void> = Promise.resolve()
  const resume = async () => {
    isOurs = true
    running = await adopt(server)
    stopping = new AbortController()
    watching = watch(stopping.signal)
  }

  return {
    url: embeddedUrl(parts.runDir),
    origin: isOurs && !adopted ? 'started' : 'adopted',
    pid: () => running?.pid,
    async yield() {
      await resuming.catch(() => {})
      isOurs = false
      stopping.abort()
      await watching.catch(() => {})
    },
    async resume() {
      if (!isOurs) resuming = resume()
      await resuming
    },
    async stop(immediately = false) {
      await resuming.catch(() => {})
      if (!isOurs) return
      stopping.abort()
      if (immediately && running && isStill(running)) signal(running.pid, 'SIGQUIT')
      await watching.catch(() => {})
      if (running) await stopServer(running, immediately)
    },
  }
}

type Server = EmbeddedPostgresParts & { binaries: string; files: string }

/** A live server on these files, if it answers within ten seconds; one that does not is ended. */
async function adopt(server: Server): Promise<ProcessIdentity | undefined> {
  const pid = readServerPid(server.files)
  const found = pid === undefined ? undefined : identify(pid)
  const begun = performance.now()
  do {
    if (!found || !isServerOn(server.files, found.pid)) return undefined
    if (await connects(server.runDir)) return found
    await pause(READY_POLL_MS)
  } while (performance.now() - begun < ADOPTION_TIMEOUT_MS)
  server.log.warn({ pid }, 'ending an embedded PostgreSQL of an earlier start that does not answer')
  await stopServer(found, false)
  return undefined
}

async function startWithPatience(server: Server, triesMax: number, giveUp?: AbortSignal): Promise<ProcessIdentity> {
  for (let failures = 0; ; ) {
    try {
      return await startOnce(server, giveUp)
    } catch (error) {
      failures += 1
      // The shared memory of a killed server stays taken while a backend of it still runs.
      if (failures >= 2) endLeftovers(server.files)
      if (giveUp?.aborted || failures >= triesMax) throw error
      server.log.warn({ failures, reason: (error as Error).message }, 'the embedded PostgreSQL did not start: trying again')
      await pause(backOffMs(failures, BACK_OFF), giveUp)
    }
  }
}

/** Rejects with the last lines of the server's log when it ends before it answers. */
async function startOnce(server: Server, giveUp?: AbortSignal): Promise<ProcessIdentity> {
  clearStaleFiles(server)
  const logFile = join(server.dataDir, 'postgres.log')
  const out = openLog(logFile, server.user)
  const before = statSync(logFile).size
  const options = Object.entries({ ...SETTINGS, unix_socket_directories: quoted(server.runDir) }).flatMap(([name, value]) => [
    '-c',
    `${name}=${value}`,
  ])
  const ids = server.user ? { uid: server.user.uid, gid: server.user.gid } : {}
  // In a session of its own: Ctrl-C on the terminal must not end it before those who use it.
  const child = spawn(join(server.binaries, 'bin', 'postgres'), ['-D', server.files, ...options], {
    ...ids,
    cwd: server.dataDir,
    env: { LC_ALL: 'C', TZ: 'UTC' },
    detached: true,
    stdio: ['ignore', out, out],
  })
  closeSync(out)
  let failure: Error | undefined
  child.once('error', (error) => (failure = error))
  child.once('exit', () => (failure ??= new Error(lastLines(logFile, before))))
  child.unref()
  const started = child.pid === undefined ? undefined : identify(child.pid)

  const begun = performance.now()
  for (let said = false; performance.now() - begun < START_TIMEOUT_MS; await pause(READY_POLL_MS)) {
    if (failure) throw failure
    if (started && (await connects(server.runDir)) && !failure) return started
    if (giveUp?.aborted) break
    if (!said && performance.now() - begun > SLOW_START_MS) {
      said = true
      server.log.info('the embedded PostgreSQL is recovering what was written before it was killed')
    }
  }
  if (started) await stopServer(started, true)
  throw new Error('the embedded PostgreSQL did not answer in time')
}

/** The number of one that has ended may be a stranger's by now, so it is looked at before each signal. */
async function stopServer(server: ProcessIdentity, immediately: boolean): Promise<void> {
  const fast = ['SIGINT', FAST_STOP_MS] as const // ends the connections, writes a checkpoint
  const atOnce = [['SIGQUIT', QUIT_STOP_MS] as const, ['SIGKILL', QUIT_STOP_MS] as const]
  for (const [name, waitMs] of immediately ? atOnce : [fast, ...atOnce]) {
    if (!isStill(server)) return
    signal(server.pid, name)
    await hasEnded(server.pid, waitMs)
  }
}

/**
 * A killed server leaves its process id behind, and PostgreSQL refuses to start while a process of that number lives, which after a restart
 * of the container is anybody. We look closer than it can: only a PostgreSQL that works in these files is a server of ours.
 */
function clearStaleFiles({ files, runDir }: Server): void {
  const pid = readServerPid(files)
  if (pid !== undefined && isServerOn(files, pid)) throw new Error(`another PostgreSQL (process ${pid}) still runs on ${files}`)
  rmSync(join(files, 'postmaster.pid'), { force: true })
  rmSync(join(runDir, `.s.PGSQL.${PORT}.lock`), { force: true })
  rmSync(join(runDir, `.s.PGSQL.${PORT}`), { force: true })
}

function endLeftovers(files: string): void {
  for (const pid of listProcesses()) if (isServerOn(files, pid)) signal(pid, 'SIGQUIT')
}

function isServerOn(files: string, pid: number): boolean {
  const program = programOf(pid)?.replace(/ \(deleted\)$/, '') // as when another release has taken its place
  return isRunning(pid) && workingFolderOf(pid) === files && program !== undefined && basename(program) === 'postgres'
}

function readServerPid(files: string): number | undefined {
  try {
    const pid = Number.parseInt(readFileSync(join(files, 'postmaster.pid'), 'utf8'), 10)
    return pid > 0 ? pid : undefined
  } catch {
    return undefined
  }
}

async function connects(runDir: string): Promise<boolean> {
  const db = connectDatabase(embeddedUrl(runDir), { applicationName: 'namesake supervisor', poolMax: 1 })
  try {
    return await databaseIsReachable(db)
  } finally {
    await closeDatabase(db)
  }
}

function openLog(path: string, user: ServiceUser | undefined): number {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0
  const fd = openSync(path, size > LOG_BYTES_MAX ? 'w' : 'a', 0o600)
  if (user) fchownSync(fd, user.uid, user.gid)
  return fd
}

/** What the server wrote last. Its log may have been taken away meanwhile, or have grown beyond what one string holds. */
function lastLines(logFile: string, from: number): string {
  let said = ''
  try {
    said = readFileSync(logFile).subarray(from).subarray(-LAST_BYTES_MAX).toString().trim()
  } catch (error) {
    return `the embedded PostgreSQL ended, and why cannot be read: ${(error as Error).message}`
  }
  const fatal = said
    .split('\n')
    .filter((line) => /FATAL|PANIC|DETAIL|HINT/.test(line))
    .map((line) => line.replace(/^.*?(FATAL|PANIC|DETAIL|HINT):\s+/, ''))
  return fatal.join(' ') || said.split('\n').slice(-2).join(' ') || 'the embedded PostgreSQL ended without a word'
}

/** As an entry of a list setting: a comma in the path separates nothing. */
function quoted(path: string): string {
  return `"${path.replaceAll('"', '""')}"`
}
