import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { isIPv6 } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { FIRST_FREE_FD, type Output } from './child.ts'
import { type Address, type Config, type Env, readConfig } from './config.ts'
import { prepareData, prepareFile } from './data-directory.ts'
import { setUpDatabase } from './database-setup.ts'
import { createDeploys, type Deploys } from './deploys.ts'
import { findEdgeRuntime } from './edge-runtime.ts'
import { embeddedUrl } from './embedded-postgres.ts'
import { descriptorShortage, fileDescriptorsMax } from './file-descriptors.ts'
import { bequeath, bindSockets, handedSockets, inheritSockets, type ListeningSockets, requireUnmoved } from './listening-sockets.ts'
import type { Log } from './log.ts'
import { createOwnDatabase, type OwnDatabase } from './own-database.ts'
import { ownProgram } from './own-files.ts'
import { keepOwnSecret } from './own-secret.ts'
import { OWN_VERSION } from './own-version.ts'
import { openProgram } from './program-folder.ts'
import { currentGeneration } from './replica/copy-files.ts'
import { createRoleTree, type Role, type RoleTree, wantedSockets } from './role-tree.ts'
import { copyPath } from './roles/copy-place.ts'
import { prepareRun } from './run-directory.ts'
import { findServiceUser } from './service-user.ts'
import { findSupervisor, takeStartLock } from './start-lock.ts'
import type { Running } from './start-screen.ts'
import { listenForStop, type StopSignal } from './stop-signal.ts'
import { findPredecessor, type Generation, type Launch, type Predecessor } from './succession.ts'
import { keepRecord } from './supervisor-record.ts'
import { standing } from './working-folder.ts'

export type SuperviseParts = {
  config: Config
  roles: readonly Role[]
  /** Also runs the example vendor application, with a project, a token and a hostname for it. */
  demo: boolean
  env: Env
  /** What `config` has from a `.env`. */
  dotEnv: Env
  log: Log
  /** How the release is started that is to take over. */
  launch: Launch
  /** Called once, when every process serves; not where this release took over from another. */
  onRunning(running: Running): void
  /** Where the children's log lines go. */
  output: Output
  /** Whether a person sits in front. */
  terminal: boolean
  /** What the children run, as `node <script> <role>`. */
  script?: string
}

/** What every role process runs, as `node <script> <role>`. */
export const MAIN_SCRIPT = fileURLToPath(ownProgram('main'))

/**
 * Runs the whole tree until SIGTERM or Ctrl-C: holds the sockets, runs PostgreSQL where none is configured, keeps the processes of the roles
 * running, and ends everything in reverse. Resolves with the exit code. Rejects when the tree cannot be started, and leaves nothing behind.
 * SIGHUP replaces every process, one after the other; SIGUSR2 lets the program on disk take over, in a supervisor that is a child of this one;
 * a second Ctrl-C ends everything at once.
 */
export async function supervise(parts: SuperviseParts): Promise<number> {
  const stop = listenForStop(parts.terminal, (name) => {
    parts.log.info(
      `${name}: stopping. Running requests have 30 seconds to end${parts.terminal ? '; Ctrl-C again ends everything at once' : ''}`,
    )
  })
  const undo = new AsyncDisposableStack()
  undo.defer(stop.close)
  const wishes = listenForWishes(parts) // until the end, since a signal that nobody listens for kills
  undo.defer(wishes.close)
  const predecessor = findPredecessor(parts.env)
  if (predecessor) undo.defer(predecessor.close)
  try {
    const deploys = await startTree(parts, { stop, wishes }, undo, predecessor)
    const lost = await (deploys ? Promise.race([stop.asked, deploys.lost]) : stop.asked)
    if (lost) throw new Error(`the supervisor that had taken over has ended (${lost.reason}): start again`)
  } catch (error) {
    predecessor?.sayFailed((error as Error).message)
    if (!stop.gently.aborted) throw error // what was cut short by the stop is no failure
  } finally {
    await undo.disposeAsync()
  }
  return stop.atOnce.aborted ? 130 : 0
}

/** Each step leaves its undoing on the stack, so that stopping is starting in reverse. Returns early when told to stop meanwhile. */
async function startTree(
  parts: SuperviseParts,
  { stop, wishes }: { stop: StopSignal; wishes: Wishes },
  undo: AsyncDisposableStack,
  predecessor: Predecessor | undefined,
): Promise<Deploys | undefined> {
  const { config, log, output } = parts
  const script = parts.script ?? MAIN_SCRIPT
  const edgeRuntime = findEdgeRuntime(parts.roles.includes('edge') ? config : { edgeRuntime: 'node' }, parts.env.PATH)
  const user = predecessor?.user ?? findServiceUser() // whose the files are that both releases use, whatever users were made since
  const dataDir = prepareData(config.dataDir, user)
  if (predecessor) requireSameData(predecessor, dataDir)
  else undo.defer(takeStartLock(dataDir).release)
  prepareFile(join(dataDir, 'ca.pem'), 0o644, user)
  if (parts.demo) prepareFile(join(dataDir, 'demo-token'), 0o600, user)
  const runDir = prepareRun(dataDir, user)
  const shortage = parts.roles.includes('edge') && descriptorShortage(config.edgeConnections, fileDescriptorsMax())
  if (shortage) log.warn(shortage)

  const wanted = wantedSockets(parts)
  const sockets = predecessor
    ? inheritSockets(wanted, predecessor.sockets)
    : await bindSockets(wanted, handedSockets(parts.env, process.pid), script)
  undo.defer(sockets.close)

  const database = config.databaseUrl ? undefined : createOwnDatabase({ dataDir, runDir, user, log, giveUp: stop.gently })
  if (database) undo.defer(() => database.stop(stop.atOnce.aborted))

  const url = config.databaseUrl ?? embeddedUrl(runDir)
  const secrets = config.secrets.length > 0 ? config.secrets : [keepOwnSecret(dataDir)]
  const setUpWith = createHash('sha256')
    .update(JSON.stringify([url, secrets]))
    .digest('hex')
  const upstream = parts.demo ? `http://127.0.0.1:${sockets.portOf('demo')}` : undefined
  const env = {
    ...parts.env,
    ...{ LISTEN_PID: undefined, LISTEN_FDS: undefined, LISTEN_FDNAMES: undefined, NAMESAKE_SUCCESSION: undefined },
    NAMESAKE_ROLES: parts.roles.join(','),
    NAMESAKE_DATA_DIR: dataDir,
    NAMESAKE_RUN_DIR: runDir,
    NAMESAKE_SERVICE_USER: user && JSON.stringify(user),
    NAMESAKE_DATABASE_URL: url,
    NAMESAKE_EDGE_ADDRESS: config.edgeAddress ?? (database && ownAddress(config.httpsAddr)),
    NAMESAKE_SECRET: secrets.join(','),
    NAMESAKE_DEMO_UPSTREAM: upstream,
  }
  const { folder } = parts.launch
  const startsIn = () => standing([folder.path, folder.name], folder, dataDir)
  const program = { ...openProgram(script, dataDir, user, FIRST_FREE_FD), folder: startsIn }
  const hasCopy = currentGeneration(copyPath({ dataDir })) !== undefined
  const tree = createRoleTree({
    ...parts,
    program,
    edgeRuntime,
    env,
    fds: sockets.fds,
    hasCopy,
    awaitsCharge: predecessor !== undefined,
    giveUp: stop.gently,
  })
  const held = bequeath(wanted, sockets)
  const readAgain = () => {
    const { config, dotEnv } = readConfig(env, startsIn() ?? process.cwd())
    requireUnmoved(wantedSockets({ ...parts, config }), held)
    return dotEnv
  }
  const own = ownGeneration(tree, database, readAgain)
  const note = { version: own.version, roles: parts.roles, terminal: parts.terminal }
  const record = keepRecord(dataDir, log)
  undo.defer(record.close)
  const deploys = createDeploys({
    ...{ own, launch: parts.launch, env: parts.env, log },
    inheritance: { dataDir, user, setUpWith, sockets: held },
    record: (deploy) => record.write({ ...note, deploy }),
  })
  undo.defer(() => deploys.stop(stop.atOnce))
  undo.defer(sockets.close) // before the children drain: then nobody accepts any more

  if (predecessor) {
    const leave = () => endAtOnce({ sockets, tree, stop })
    const leaveAll = () => {
      database?.yield().catch(() => {}) // to whoever starts next; it rejects where it was not started yet
      leave()
    }
    predecessor.obey({ ...own, retire: async () => leave() }, leaveAll)
    await database?.start(predecessor.hasDatabase)
  }
  if (hasCopy) void tree.startEdges() // neither visitors nor the feed wait for the database, or for what its schema needs
  const servesAlone = !predecessor && hasCopy && parts.roles.includes('edge')
  // The present release of an edge machine serves without its database, and so can the next. Settings that are new may be wrong.
  const isAwaited = predecessor?.setUpWith !== setUpWith || !hasCopy || parts.roles.some((role) => role === 'api' || role === 'worker')
  const origin = predecessor ? undefined : await Promise.race([servesAlone ? database?.startBeside() : database?.start(), stop.asked])
  if (stop.gently.aborted) return
  const setup = {
    url,
    child: { program, env, dotEnv: parts.dotEnv, output },
    log,
    giveUp: stop.gently,
    whileDown: tree.startEdges,
    servesAlone,
    isAwaited,
  }
  if (!(await setUpDatabase(setup))) return
  await tree.startEdges()
  tree.startRest()
  if (predecessor) {
    await Promise.race([tree.allReadyOrWaiting(), stop.asked])
    predecessor.sayWaiting()
  }
  await Promise.race([tree.allReady(), stop.asked])
  if (stop.gently.aborted) return
  if (predecessor) {
    predecessor.sayReady(own)
    return deploys
  }
  record.write(note)
  wishes.grant(deploys)
  const demo = upstream === undefined ? undefined : { upstream, token: readFileSync(join(dataDir, 'demo-token'), 'utf8').trim() }
  parts.onRunning({ config, roles: parts.roles, dataDir, database: origin ?? 'external', demo })
  return deploys
}

/** What this supervisor runs itself, as whoever replaces it sees it. `readAgain` throws where the `.env` as it stands now cannot be taken over. */
function ownGeneration(tree: RoleTree, database: OwnDatabase | undefined, readAgain: () => Env): Generation {
  return {
    version: OWN_VERSION,
    hasDatabase: database !== undefined,
    async reload() {
      let dotEnv: Env
      try {
        dotEnv = readAgain()
      } catch (error) {
        return { kind: 'refused', reason: (error as Error).message }
      }
      return tree.roll(dotEnv)
    },
    yieldDatabase: async () => database?.yield(),
    yieldCopy: tree.yieldCopy,
    async resume() {
      tree.resumeCopy()
      await database?.resume()
    },
    async takeCharge() {
      tree.takeCharge()
      await database?.resume()
    },
    async retire() {
      await tree.retire()
      await database?.stop() // unless it was left to the next release
    },
    stop: tree.stop,
  }
}

/** Where the only machine of an installation reaches itself. */
function ownAddress({ host, port }: Address): string {
  if (host === '0.0.0.0' || host === '::') return `127.0.0.1:${port}`
  return isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`
}

/** The end of a successor whose own successor has come, or whose predecessor has died. */
function endAtOnce({ sockets, tree, stop }: { sockets: ListeningSockets; tree: RoleTree; stop: StopSignal }): void {
  sockets.close() // whoever comes next may have to bind them
  void tree.retire() // all at once, for nobody asks these processes any more; the stop waits for what still drains
  stop.ask()
}

type Wishes = { grant(deploys: Deploys): void; close(): void }

/** The signals that ask for a reload or an upgrade. Before there is somebody to grant them, and in a successor, nothing comes of them. */
function listenForWishes({ terminal, log }: SuperviseParts): Wishes {
  let granting: Deploys | undefined
  const on = (wish: 'reload' | 'upgrade') => () => {
    if (!granting) return log.warn(`${wish}: not before everything serves, and only by the first process of the tree`)
    granting[wish]().catch((error: unknown) => log.error({ err: error }, `${wish}: it went wrong`))
  }
  const wishes = [['SIGUSR2', on('upgrade')] as const, ...(terminal ? [] : [['SIGHUP', on('reload')] as const])]
  for (const [name, listener] of wishes) process.on(name, listener)
  return {
    grant(deploys) {
      granting = deploys
    },
    close() {
      for (const [name, listener] of wishes) process.off(name, listener)
    },
  }
}

function requireSameData(predecessor: Predecessor, dataDir: string): void {
  if (predecessor.dataDir !== dataDir)
    throw new Error(`NAMESAKE_DATA_DIR now leads to ${dataDir}, and what runs works in ${predecessor.dataDir}: stop it, and start again`)
  if (findSupervisor(dataDir)?.pid !== process.ppid) throw new Error(`${dataDir} is not held by the process that started this one`)
}
