import { spawn } from 'node:child_process'
import { chmodSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { closeDatabase, connectDatabase } from '../../src/core/db.ts'
import { migrate, readMigrations } from '../../src/core/migrations.ts'
import { createProject } from '../../src/core/projects.ts'
import type { Hostname } from '../../src/hostname.ts'
import { freePorts } from '../../test/support/ports.ts'
import { administer, sibling, startPostgres } from '../../test/support/postgres-server.ts'
import { eventually } from '../../test/support/tree.ts'
import type { BulkCertificate } from '../support/bulk-certificates.ts'
import { claimInBulk, keepCertificatesInBulk } from '../support/bulk-names.ts'
import { LOAD_CORE, MEASURED_CORE, moveToCore, onCore } from '../support/cores.ts'
import { processorUsOf } from '../support/measure.ts'
import type { Peer } from '../support/peers.ts'

/** A way to run our edge. Each is measured as a proxy of its own. `ownHttp2`: by our framing, which the targets are meant for. */
export type Variant = { name: string; runtime: 'node' | 'bun'; ownHttp2: boolean; env: Readonly<Record<string, string>> }

/** Ours. A further runtime is a further line. */
export const VARIANTS: readonly Variant[] = [
  { name: 'namesake', runtime: 'node', ownHttp2: true, env: { NAMESAKE_HTTP2_ENGINE: 'own' } },
  { name: 'namesake, Bun', runtime: 'bun', ownHttp2: true, env: { NAMESAKE_HTTP2_ENGINE: 'own', NAMESAKE_EDGE_RUNTIME: 'bun' } },
  { name: 'namesake, node:http2', runtime: 'node', ownHttp2: false, env: { NAMESAKE_HTTP2_ENGINE: 'node' } },
]

/** A project that holds `count` hostnames, counted up from `first`. */
export type Project = { slug: string; upstreamUrl: string; first: Hostname; count: number; certificates: readonly BulkCertificate[] }

export type Service = {
  /** A machine of its own with the role edge: its copy of all that is in the database, one edge process on the measured core. */
  startEdge(variant: Variant): Promise<Peer & { stop(): Promise<void>; readyMs: number }>
  stop(): Promise<void>
}

const LAUNCHER = fileURLToPath(new URL('../../bin/namesake', import.meta.url))
const MIGRATIONS = new URL('../../sql/', import.meta.url)
const SECRET = 'the secret of a measurement is longer than 32 bytes'
const READY_TIMEOUT_MS = 300_000 // a million hostnames are copied first
const QUIET_US = 20_000 // of processor a second; an edge that waits uses less
const QUIET_TIMEOUT_MS = 180_000 // a million names are read into memory by and by

/** A database that holds these projects with their hostnames and certificates, for any number of edges. */
export async function startService(projects: readonly Project[]): Promise<Service> {
  const postgres = await startPostgres({ durable: false })
  try {
    await administer(postgres.adminUrl, 'create database namesake')
    const databaseUrl = sibling(postgres.adminUrl, 'namesake')
    const db = connectDatabase(databaseUrl, { applicationName: 'bench', poolMax: 2 })
    try {
      await migrate(db, await readMigrations(MIGRATIONS))
      for (const { slug, upstreamUrl, first, count, certificates } of projects) {
        const rules = { plans: new Map([['unlimited', 0]]), checkUpstream: async () => {}, checkCnameTarget: async () => {} }
        const { id: projectId } = await createProject(db, { name: slug, slug, upstreamUrl, plan: 'unlimited' }, rules)
        await claimInBulk(databaseUrl, { projectId, first, count })
        await keepCertificatesInBulk(databaseUrl, { projectId, secret: SECRET, certificates })
      }
    } finally {
      await closeDatabase(db)
    }
    return { startEdge: (variant) => startEdge(variant, databaseUrl), stop: postgres.stop }
  } catch (error) {
    await postgres.stop()
    throw error
  }
}

async function startEdge(variant: Variant, databaseUrl: string) {
  const home = mkdtempSync(join(tmpdir(), 'namesake-bench-'))
  chmodSync(home, 0o711) // the service user has its data directory in there
  const [internal, http, https] = (await freePorts(3)) as [number, number, number]
  const env = {
    ...process.env,
    NAMESAKE_DATA_DIR: join(home, 'data'),
    NAMESAKE_DATABASE_URL: databaseUrl,
    NAMESAKE_SECRET: SECRET,
    NAMESAKE_INTERNAL_ADDR: `127.0.0.1:${internal}`,
    NAMESAKE_HTTP_ADDR: `127.0.0.1:${http}`,
    NAMESAKE_HTTPS_ADDR: `127.0.0.1:${https}`,
    NAMESAKE_EDGE_WORKERS: '1',
    NAMESAKE_ALLOW_PRIVATE_UPSTREAMS: 'true',
    NAMESAKE_EDGE_CONNECTIONS: '0', // ten thousand from one machine are what is measured
    NAMESAKE_CLIENT_CONNECTIONS: '0',
    ...variant.env,
  }
  const logFile = join(home, 'namesake.log') // a file, as a service manager keeps one: a pipe would make its reader part of the measurement
  const log = openSync(logFile, 'a')
  const startedAt = performance.now()
  const child = spawn(...onCore(LOAD_CORE, [LAUNCHER, 'start', '--roles', 'edge']), { env, stdio: ['ignore', log, log] })
  const exited = new Promise((resolve) => child.once('exit', resolve))
  const stop = async () => {
    child.kill('SIGTERM')
    await exited
    rmSync(home, { recursive: true, force: true })
  }
  try {
    const ready = `http://127.0.0.1:${internal}/ready`
    await eventually(async () => child.exitCode !== null || (await fetch(ready)).status === 200, READY_TIMEOUT_MS)
    if (child.exitCode !== null) throw new Error(`${variant.name} ended with ${child.exitCode}`)
    const readyMs = performance.now() - startedAt
    const { processes } = (await (await fetch(ready)).json()) as { processes: { role: string; pid: number }[] }
    const pidOf = (wanted: string) => processes.find(({ role }) => role === wanted)!.pid
    moveToCore(MEASURED_CORE, pidOf('edge'))
    const machine = [child.pid!, pidOf('follower'), pidOf('edge')]
    await untilQuiet(machine)
    return { name: variant.name, port: https, processes: () => machine, stop, readyMs }
  } catch (error) {
    const said = readFileSync(logFile, 'utf8').slice(-2_000)
    await stop()
    throw new Error(`${(error as Error).message}\n${said}`)
  }
}

/** What a start leaves to be done later, as the check of the copy, would count as work on requests. */
async function untilQuiet(pids: readonly number[]): Promise<void> {
  let before = 0 // the first look finds nobody quiet
  const isQuiet = async () => {
    const now = processorUsOf(pids)
    const used = now - before
    before = now
    return used < QUIET_US
  }
  await eventually(isQuiet, QUIET_TIMEOUT_MS, 1_000)
}
