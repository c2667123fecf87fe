import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { chown, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { signal } from '../../src/processes.ts'
import { freePorts } from './ports.ts'
import { administer, run, SERVER_USER } from './postgres-server.ts'
import { eventually } from './tree.ts'

/** One server of a pair. `url` leads to the pair's database on this server alone, as superuser. */
export type PairServer = {
  port: number
  url: string
  adminUrl: string
  /** Ends every process of it at once, as a power cut does. */
  kill(): Promise<void>
  pause(): void
  resume(): void
  start(): Promise<void>
  promote(): Promise<void>
  /** Throws its data away and makes it a standby of the other server. */
  becomeStandbyOf(other: PairServer): Promise<void>
}

/** A primary and a streaming standby; commits on the primary wait for the standby once `synchronize` was called. */
export type PostgresPair = {
  primary: PairServer
  standby: PairServer
  /** Both hosts, the primary's first, and what a session there has to be able to do. */
  url(need?: string): string
  synchronize(): Promise<void>
  stop(): Promise<void>
}

const BIN = '/usr/lib/postgresql/15/bin' // Debian's, which has pg_basebackup
const START_TIMEOUT_MS = 30_000

/** Starts two servers on free loopback ports with the database `name`, empty. */
export async function startPostgresPair(name: string): Promise<PostgresPair> {
  const home = await mkdtemp(join(tmpdir(), 'namesake-pair-'))
  if (SERVER_USER.uid !== undefined) await chown(home, SERVER_USER.uid, SERVER_USER.gid!)
  const [first, second] = (await freePorts(2)) as [number, number]
  const primary = createServer(home, name, first)
  const standby = createServer(home, name, second)
  const initdb = ['-D', join(home, String(first)), '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync']
  await run(join(BIN, 'initdb'), initdb, SERVER_USER)
  await primary.start()
  await administer(primary.adminUrl, `create database ${name}`)
  await standby.becomeStandbyOf(primary)
  return {
    primary,
    standby,
    url: (need) =>
      `postgres://postgres@127.0.0.1:${first},127.0.0.1:${second}/${name}${need === undefined ? '' : `?target_session_attrs=${need}`}`,
    async synchronize() {
      await administer(primary.adminUrl, `alter system set synchronous_standby_names = '*'`)
      await administer(primary.adminUrl, 'select pg_reload_conf()')
    },
    async stop() {
      await Promise.all([primary.kill(), standby.kill()])
      await rm(home, { recursive: true, force: true })
    },
  }
}

function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number)
}

function createServer(home: string, name: string, port: number): PairServer {
  const dataDir = join(home, String(port))
  const adminUrl = `postgres://postgres@127.0.0.1:${port}/postgres`
  let child: ChildProcess | undefined
  // Each of its processes has a group of its own; once the first is stopped, there are no more than these.
  const toAll = (...names: NodeJS.Signals[]) => {
    const pid = child?.pid
    if (pid === undefined || child!.exitCode !== null || child!.signalCode !== null) return
    if (names[0] !== 'SIGCONT') signal(pid, 'SIGSTOP')
    for (const name of names) for (const one of [...childrenOf(pid), pid]) signal(one, name)
  }
  const server: PairServer = {
    port,
    adminUrl,
    url: `postgres://postgres@127.0.0.1:${port}/${name}`,
    async start() {
      const settings = [`port=${port}`, 'listen_addresses=127.0.0.1', `unix_socket_directories=${home}`, 'max_connections=200', 'fsync=on']
      const flags = [...settings, 'log_min_messages=fatal', 'hot_standby_feedback=on'].flatMap((setting) => ['-c', setting])
      child = spawn(join(BIN, 'postgres'), ['-D', dataDir, ...flags], { ...SERVER_USER, stdio: 'ignore' })
      await eventually(() => administer(adminUrl, 'select 1').then(() => true), START_TIMEOUT_MS)
    },
    async kill() {
      if (!child || child.exitCode !== null || child.signalCode !== null) return
      const gone = once(child, 'exit')
      toAll('SIGKILL')
      await gone
    },
    pause: () => void toAll('SIGSTOP'),
    resume: () => void toAll('SIGCONT'),
    promote: () => administer(adminUrl, 'select pg_promote(wait => true)'),
    async becomeStandbyOf(other) {
      await server.kill()
      await rm(dataDir, { recursive: true, force: true })
      const source = `host=127.0.0.1 port=${other.port} user=postgres application_name=standby${port}`
      await run(join(BIN, 'pg_basebackup'), ['-D', dataDir, '-R', '-X', 'stream', '-c', 'fast', '--no-sync', '-d', source], SERVER_USER)
      await server.start()
    },
  }
  return server
}
