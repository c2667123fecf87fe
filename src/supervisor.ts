import { readFileSync } from 'node:fs'
import { isIPv6 } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { FIRST_FREE_FD, type Output } from './child.ts'
import type { Address, Config } from './config.ts'
import { prepareData, prepareFile } from './data-directory.ts'
import { setUpDatabase } from './database-setup.ts'
import { findEdgeRuntime } from './edge-runtime.ts'
import { startEmbeddedPostgres } from './embedded-postgres.ts'
import { descriptorShortage, fileDescriptorsMax } from './file-descriptors.ts'
import { bindSockets, handedSockets } from './listening-sockets.ts'
import type { Log } from './log.ts'
import { keepOwnSecret } from './own-secret.ts'
import { openProgram } from './program-folder.ts'
import { currentGeneration } from './replica/copy-files.ts'
import { createRoleTree, type Role, type RoleTree, wantedSockets } from './role-tree.ts'
import { copyPath } from './roles/copy-place.ts'
import { prepareRun } from './run-directory.ts'
import { findServiceUser } from './service-user.ts'
import { takeStartLock } from './start-lock.ts'
import type { Running } from './start-screen.ts'
import { listenForStop, type StopSignal } from './stop-signal.ts'

export type SuperviseParts = {
  config: Config
  roles: readonly Role[]
  /** Also runs the example vendor application, with a project, a token and a hostname for it. */
  demo: boolean
  env: Readonly<Record<string, string | undefined>>
  log: Log
  /** Called once, when every process serves. */
  onRunning(running: Running): void
  /** Where the children's log lines go. */
  output: Output
  /** Whether a person sits in front. */
  terminal: boolean
  /** What the children run, as `node <script> <role>`. */
  script?: string
}

/** What every role process runs, as `node <script> <role>`. */
export const MAIN_SCRIPT = fileURLToPath(new URL('main.ts', import.meta.url))

/**
 * Runs the whole tree until SIGTERM or Ctrl-C: holds the sockets, runs PostgreSQL where none is configured, keeps the processes of the roles
 * running, and ends everything in reverse. Resolves with the exit code. Rejects when the tree cannot be started, and leaves nothing behind.
 * SIGHUP replaces the edge processes one by one; a second Ctrl-C ends everything at once.
 */
export async function supervise(parts: SuperviseParts): Promise<number> {
  const stop = listenForStop(parts.terminal, (name) => {
    parts.log.info(
      `${name}: stopping. Running requests have 30 seconds to end${parts.terminal ? '; Ctrl-C again ends everything at once' : ''}`,
    )
  })
  const undo = new AsyncDisposableStack()
  undo.defer(stop.close)
  try {
    await startTree(parts, stop, undo)
    await stop.asked
  } catch (error) {
    if (!stop.gently.aborted) throw error // what was cut short by the stop is no failure
  } finally {
    await undo.disposeAsync()
  }
  return stop.atOnce.aborted ? 130 : 0
}

/** Each step leaves its undoing on the stack, so that stopping is starting in reverse. Returns early when told to stop meanwhile. */
async function startTree(parts: SuperviseParts, stop: StopSignal, undo: AsyncDisposableStack): Promise<void> {
  const { config, log, output } = parts
  const script = parts.script ?? MAIN_SCRIPT
  const edgeRuntime = findEdgeRuntime(parts.roles.includes('edge') ? config : { edgeRuntime: 'node' }, parts.env.PATH)
  const user = findServiceUser()
  const dataDir = prepareData(config.dataDir, user)
  const lock = takeStartLock(dataDir)
  undo.defer(lock.release)
  prepareFile(join(dataDir, 'ca.pem'), 0o644, user)
  if (parts.demo) prepareFile(join(dataDir, 'demo-token'), 0o600, user)
  const runDir = prepareRun(dataDir, user)
  const shortage = parts.roles.includes('edge') && descriptorShortage(config.edgeConnections, fileDescriptorsMax())
  if (shortage) log.warn(shortage)

  const sockets = await bindSockets(wantedSockets(parts), handedSockets(parts.env, process.pid), script)
  undo.defer(sockets.close)

  const postgres = config.databaseUrl ? undefined : await startEmbeddedPostgres({ dataDir, runDir, user, log, giveUp: stop.gently })
  if (postgres) undo.defer(() => postgres.stop(stop.atOnce.aborted))

  const url = config.databaseUrl ?? postgres!.url
  const secrets = config.secrets.length > 0 ? config.secrets : [keepOwnSecret(dataDir)]
  const upstream = parts.demo ? `http://127.0.0.1:${sockets.portOf('demo')}` : undefined
  const env = {
    ...parts.env,
    ...{ LISTEN_PID: undefined, LISTEN_FDS: undefined, LISTEN_FDNAMES: undefined },
    NAMESAKE_DATA_DIR: dataDir,
    NAMESAKE_RUN_DIR: runDir,
    NAMESAKE_DATABASE_URL: url,
    NAMESAKE_EDGE_ADDRESS: config.edgeAddress ?? (postgres && ownAddress(config.httpsAddr)),
    NAMESAKE_SECRET: secrets.join(','),
    NAMESAKE_DEMO_UPSTREAM: upstream,
  }
  const program = openProgram(script, dataDir, user, FIRST_FREE_FD)
  const hasCopy = currentGeneration(copyPath({ dataDir })) !== undefined
  const tree = createRoleTree({ ...parts, program, edgeRuntime, env, fds: sockets.fds, hasCopy })
  undo.defer(() => tree.stop(stop.atOnce))
  undo.defer(sockets.close) // before the children drain: then nobody accepts any more
  if (!parts.terminal) undo.defer(rollOnHangup(tree, log))

  if (hasCopy) void tree.startEdges() // neither visitors nor the feed wait for what the database's schema needs
  if (!(await setUpDatabase({ url, child: { program, env, output }, log, giveUp: stop.gently, whileDown: tree.startEdges }))) return
  await tree.startEdges()
  tree.startRest()
  await Promise.race([tree.allReady(), stop.asked])
  if (stop.gently.aborted) return
  const demo = upstream === undefined ? undefined : { upstream, token: readFileSync(join(dataDir, 'demo-token'), 'utf8').trim() }
  parts.onRunning({ config, roles: parts.roles, dataDir, database: postgres?.origin ?? 'external', demo })
}

/** Where the only machine of an installation reaches itself. */
function ownAddress({ host, port }: Address): string {
  if (host === '0.0.0.0' || host === '::') return `127.0.0.1:${port}`
  return isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`
}

function rollOnHangup(tree: RoleTree, log: Log): () => void {
  let rolling: Promise<void> | undefined
  const onHangup = () => {
    if (rolling) return
    log.info('SIGHUP: replacing the edge processes one by one')
    rolling = tree.roll().finally(() => {
      rolling = undefined
    })
  }
  process.on('SIGHUP', onHangup)
  return () => void process.off('SIGHUP', onHangup)
}
