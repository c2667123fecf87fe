import { execFile, spawn } from 'node:child_process'
import { chmodSync, mkdtempSync, openSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import pg from 'pg'
import { closeDatabase, connectDatabase } from '../../src/core/db.ts'
import { loadCertificates } from '../../src/core/routes.ts'
import { type Hostname, parseHostname } from '../../src/hostname.ts'
import { createSealer } from '../../src/lib/seal.ts'
import { freePorts } from '../../test/support/ports.ts'
import { administer, sibling, startPostgres } from '../../test/support/postgres-server.ts'
import { eventually } from '../../test/support/tree.ts'
import { visit } from '../../test/support/visitor.ts'
import { LOAD_CORE, MEASURED_CORE, moveToCore, onCore } from './cores.ts'

const LAUNCHER = fileURLToPath(new URL('../../bin/namesake', import.meta.url))
const SECRET = 'the secret of a measurement is longer than 32 bytes'
const READY_TIMEOUT_MS = 60_000
const SERVED_TIMEOUT_MS = 20_000

export type Installation = {
  apiUrl: string
  internalUrl: string
  httpPort: number
  httpsPort: number
  /** Supervisor, follower and the one edge process, which has the measured core to itself. */
  edgeMachine: number[]
  edge: number
  /** The built-in authority's root. */
  ca: string
  token: string
  dataDir: string
  /** What all processes have logged so far, in bytes. */
  logBytes(): number
  /** One statement, on a connection of its own. */
  query<Row>(statement: string): Promise<Row[]>
  claim(hostname: string): Promise<void>
  certificateOf(hostname: Hostname): Promise<{ chainPem: string; keyPem: string }>
  stop(): Promise<void>
}

/** `anyCore`: nothing is held to a core of its own. */
export type InstallationOptions = { upstreamUrl: string; env?: Record<string, string>; anyCore?: boolean }

/** A whole installation as `namesake start` runs it, with a PostgreSQL server of its own, one edge process, and a project for `upstreamUrl`. */
export async function startInstallation(options: InstallationOptions): Promise<Installation> {
  const undo = new AsyncDisposableStack()
  try {
    return await start(options, undo)
  } catch (error) {
    await undo.disposeAsync()
    throw error
  }
}

async function start(options: InstallationOptions, undo: AsyncDisposableStack): Promise<Installation> {
  const postgres = await startPostgres({ durable: false })
  undo.defer(() => postgres.stop())
  await administer(postgres.adminUrl, 'create database namesake')
  const databaseUrl = sibling(postgres.adminUrl, 'namesake')
  const db = connectDatabase(databaseUrl, { applicationName: 'bench', poolMax: 2 })
  undo.defer(() => closeDatabase(db))
  const home = mkdtempSync(join(tmpdir(), 'namesake-bench-'))
  undo.defer(() => rmSync(home, { recursive: true, force: true }))
  chmodSync(home, 0o711) // the service user has its data directory in there
  const dataDir = join(home, 'data')

  const [api, internal, http, https] = (await freePorts(4)) as [number, number, number, number]
  const env = {
    ...process.env,
    NAMESAKE_DATA_DIR: dataDir,
    NAMESAKE_DATABASE_URL: databaseUrl,
    NAMESAKE_SECRET: SECRET,
    NAMESAKE_API_ADDR: `127.0.0.1:${api}`,
    NAMESAKE_INTERNAL_ADDR: `127.0.0.1:${internal}`,
    NAMESAKE_HTTP_ADDR: `127.0.0.1:${http}`,
    NAMESAKE_HTTPS_ADDR: `127.0.0.1:${https}`,
    NAMESAKE_EDGE_WORKERS: '1',
    NAMESAKE_EDGE_CONNECTIONS: '0', // as many as there are descriptors for
    NAMESAKE_CLIENT_CONNECTIONS: '0', // all load comes from one address
    NAMESAKE_ALLOW_PRIVATE_UPSTREAMS: 'true',
    ...options.env,
  }
  const logFile = join(home, 'namesake.log') // a file, as a service manager keeps one: a pipe would make its reader part of the measurement
  const log = openSync(logFile, 'a')
  const [command, args] = options.anyCore ? [LAUNCHER, ['start']] : onCore(LOAD_CORE, [LAUNCHER, 'start'])
  const child = spawn(command, args, { env, stdio: ['ignore', log, log] })
  undo.defer(() => stopped(child))
  const internalUrl = `http://127.0.0.1:${internal}`
  await eventually(async () => child.exitCode !== null || (await fetch(`${internalUrl}/ready`)).status === 200, READY_TIMEOUT_MS)
  if (child.exitCode !== null) throw new Error(`namesake start ended\n${readFileSync(logFile, 'utf8')}`)

  const run = async <T>(...args: string[]): Promise<T> =>
    JSON.parse((await promisify(execFile)(LAUNCHER, [...args, '--json'], { env })).stdout) as T
  await run('projects', 'create', '--name', 'Bench', '--slug', 'bench', '--upstream', options.upstreamUrl)
  const { token } = await run<{ token: string }>('tokens', 'issue', '--project', 'bench')

  const { processes } = (await (await fetch(`${internalUrl}/ready`)).json()) as { processes: { role: string; pid: number }[] }
  const pidOf = (wanted: string) => processes.find(({ role }) => role === wanted)!.pid
  const edge = pidOf('edge')
  if (!options.anyCore) moveToCore(MEASURED_CORE, edge)
  const apiUrl = `http://127.0.0.1:${api}`
  const sealer = createSealer([SECRET], 'certificate-keys')
  return {
    apiUrl,
    internalUrl,
    httpPort: http,
    httpsPort: https,
    edgeMachine: [child.pid!, pidOf('follower'), edge],
    edge,
    ca: readFileSync(join(dataDir, 'ca.pem'), 'utf8'),
    token,
    dataDir,
    logBytes: () => statSync(logFile).size,
    async query<Row>(statement: string) {
      const client = new pg.Client({ connectionString: databaseUrl })
      await client.connect()
      const { rows } = await client.query(statement)
      await client.end()
      return rows as Row[]
    },
    async claim(hostname) {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
      const answer = await fetch(`${apiUrl}/v1/edge/domains`, { method: 'POST', headers, body: JSON.stringify({ hostname }) })
      if (answer.status !== 200) throw new Error(`the claim of ${hostname} was answered with ${answer.status}: ${await answer.text()}`)
    },
    async certificateOf(hostname) {
      const [row] = await loadCertificates(db, [parseHostname(hostname)])
      return { chainPem: row!.chainPem!, keyPem: sealer.open(row!.sealedKey!, hostname).toString() }
    },
    stop: () => undo.disposeAsync(),
  }
}

/** Waits until the hostname answers 200 over HTTPS, with the built-in authority's certificate. */
export async function untilServed({ httpsPort, ca }: Installation, hostname: string): Promise<string> {
  let body = ''
  await eventually(
    async () => {
      const answer = await visit({ port: httpsPort, hostname, ca })
      body = answer.body
      return answer.status === 200
    },
    SERVED_TIMEOUT_MS,
    200,
  )
  return body
}

async function stopped(child: ReturnType<typeof spawn>): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGTERM')
  await gone
}
