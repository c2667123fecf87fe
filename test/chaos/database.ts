import { appendFileSync, chownSync, globSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { eventually } from '../support/tree.ts'
import type { Folders } from './folders.ts'
import type { Network, Place } from './network.ts'
import { type Program, runToEnd, startProgram } from './processes.ts'

export const DATABASE_PORT = 5432
const NOBODY = 65_534 // PostgreSQL refuses to run as root
const READY_TIMEOUT_MS = 30_000
const SETTINGS = [
  ...["password_encryption = 'scram-sha-256'", 'max_connections = 200', 'fsync = off', 'wal_keep_size = 256MB'],
  "wal_retrieve_retry_interval = '500ms'", // else commits wait up to 5 s for the standby after a restart of the primary
]

export type Server = {
  place: 'db1' | 'db2'
  /** What runs, or ran last; undefined before the first start. */
  program(): Program | undefined
  start(): Promise<void>
  /** One statement as superuser, from the run itself; in the database `postgres` unless told. */
  query<Row>(statement: string, database?: string): Promise<Row[]>
}

/** A primary and its synchronous standby. Which of the two is which changes at a failover. */
export type Databases = {
  primary(): Server
  standby(): Server
  /** The standby takes over; the former primary is to be dead by then. */
  promote(): Promise<void>
  /** Makes whoever is not the primary a standby of it, from nothing, and waits until commits wait for it. */
  renewStandby(): Promise<void>
  /** A physical copy of the primary as it is now. */
  takeBackup(): Promise<void>
  /** The primary's files become those of the backup; it is to be stopped by then. Without `asRecovery` PostgreSQL does not know that time went backwards. */
  restoreBackup(asRecovery: boolean): void
  stop(): Promise<void>
}

/** Starts both, with Debian's newest PostgreSQL. */
export async function startDatabases(network: Network, { home, logs }: Folders): Promise<Databases> {
  const binaries = globSync('/usr/lib/postgresql/*/bin').sort().at(-1)
  if (!binaries) throw new Error('PostgreSQL is not installed: apt-get install postgresql-15')
  const unprivileged = process.getuid?.() === 0 ? ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups', '--'] : []
  const folder = join(home, 'postgres')
  mkdirSync(folder)
  if (unprivileged.length > 0) chownSync(folder, NOBODY, NOBODY)
  const dataOf = (place: string) => join(folder, place)
  const as = (place: Place, program: string, ...args: string[]) => [
    ...network.within(place),
    ...unprivileged,
    join(binaries, program),
    ...args,
  ]
  const backup = dataOf('backup')

  const serverAt = (place: 'db1' | 'db2'): Server => {
    let program: Program | undefined
    const query: Server['query'] = async (statement, database = 'postgres') => {
      const client = new pg.Client({
        host: network.addressOf(place),
        port: DATABASE_PORT,
        user: 'postgres',
        database,
        ...SHORT,
      })
      client.on('error', () => {})
      await client.connect()
      try {
        return (await client.query(statement)).rows as never
      } finally {
        await client.end()
      }
    }
    return {
      place,
      program: () => program,
      query,
      async start() {
        const flags = [
          '-c',
          `listen_addresses=${network.addressOf(place)}`,
          '-c',
          `port=${DATABASE_PORT}`,
          '-c',
          'unix_socket_directories=',
        ]
        program = startProgram(as(place, 'postgres', '-D', dataOf(place), ...flags), { logFile: join(logs, `${place}.log`), cwd: '/' })
        await eventually(async () => program!.hasEnded() || (await query('select 1')).length === 1, READY_TIMEOUT_MS, 50)
        if (program.hasEnded()) throw new Error(`PostgreSQL on ${place} did not start: see ${join(logs, `${place}.log`)}`)
      },
    }
  }
  const copyOf = (source: 'db1' | 'db2', target: string, ...options: string[]) =>
    runToEnd(
      as(
        source,
        'pg_basebackup',
        '-h',
        network.addressOf(source),
        '-U',
        'postgres',
        '-D',
        target,
        '-X',
        'stream',
        '-c',
        'fast',
        ...options,
      ),
      { cwd: '/' },
    )

  let [primary, standby] = [serverAt('db1'), serverAt('db2')]
  const demandStandby = async (names: string) => {
    await primary.query(`alter system set synchronous_standby_names = '${names}'`)
    await primary.query('select pg_reload_conf()')
  }
  const isStreaming = async () => {
    const states = await primary.query<{ sync_state: string }>('select sync_state from pg_stat_replication')
    return states.some(({ sync_state: state }) => state === 'sync' || state === 'quorum')
  }
  const databases: Databases = {
    primary: () => primary,
    standby: () => standby,
    async promote() {
      await standby.query('select pg_promote()')
      ;[primary, standby] = [standby, primary]
      await demandStandby('') // there is none any more: no commit must wait for it
    },
    async renewStandby() {
      await standby.program()?.kill()
      await demandStandby('')
      rmSync(dataOf(standby.place), { recursive: true, force: true })
      await copyOf(primary.place, dataOf(standby.place), '--write-recovery-conf')
      await standby.start()
      await demandStandby('*')
      await eventually(isStreaming, READY_TIMEOUT_MS, 50)
    },
    async takeBackup() {
      rmSync(backup, { recursive: true, force: true })
      await copyOf(primary.place, backup)
    },
    restoreBackup(asRecovery) {
      rmSync(dataOf(primary.place), { recursive: true, force: true })
      renameSync(backup, dataOf(primary.place))
      const settings = join(dataOf(primary.place), 'postgresql.auto.conf')
      appendFileSync(settings, "synchronous_standby_names = ''\n") // no commit must wait for a standby that is still to be made
      if (!asRecovery) return
      writeFileSync(join(dataOf(primary.place), 'recovery.signal'), '')
      appendFileSync(settings, "restore_command = 'false'\n")
    },
    async stop() {
      await Promise.all([primary, standby].map((server) => server.program()?.stop('SIGINT')))
    },
  }

  await runToEnd(as('db1', 'initdb', '-D', dataOf('db1'), '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync'), {
    cwd: '/',
  })
  appendFileSync(join(dataOf('db1'), 'postgresql.conf'), `${SETTINGS.join('\n')}\n`)
  appendFileSync(join(dataOf('db1'), 'pg_hba.conf'), 'host all all 0.0.0.0/0 trust\nhost replication all 0.0.0.0/0 trust\n')
  await primary.start()
  await primary.query('create database namesake')
  await databases.renewStandby()
  return databases
}

const SHORT = { connectionTimeoutMillis: 3_000, query_timeout: 10_000 }
