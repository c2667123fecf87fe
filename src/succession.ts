import { spawn } from 'node:child_process'
import { pause } from './lib/back-off.ts'
import type { InheritedSocket } from './listening-sockets.ts'
import type { RollOutcome } from './role-tree.ts'
import type { ServiceUser } from './service-user.ts'
import { standing, type WorkingFolder } from './working-folder.ts'

// How one supervisor takes over from another. The first process of a start stays for as long as the service runs, since whoever started it
// (systemd, a container, a terminal) knows it by its number; it starts each successor as its child and passes signals on.

/** What a successor can be asked to do with what it runs. */
export type Task = 'reload' | 'yieldDatabase' | 'yieldCopy' | 'resume' | 'takeCharge' | 'retire'

/** The processes that serve at present, as whoever replaces them sees them: those of this supervisor, or those of its successor. */
export type Generation = Record<Exclude<Task, 'reload'>, () => Promise<void>> & {
  version: string
  /** Whether it runs an embedded database, as its settings say. */
  hasDatabase: boolean
  /** Replaces every process, one after the other. */
  reload(): Promise<RollOutcome>
  /** Ends all of it, the embedded database too. */
  stop(atOnce: AbortSignal): Promise<void>
}

/** How the next release is started: the program on disk, in the same words and the same folder. */
export type Launch = { command: string; args: readonly string[]; folder: WorkingFolder }

/** What a predecessor hands over to its successor, which finds it in its environment. */
type Inheritance = {
  protocol: number
  dataDir: string
  /** Who its processes run as where it is root; undefined of releases that do not say, too. */
  user: ServiceUser | undefined
  /** A hash of its database's URL and secrets; undefined of releases that do not say. */
  setUpWith: string | undefined
  sockets: Record<string, InheritedSocket>
  /** Whether the predecessor runs an embedded database, and goes on doing so until its successor takes charge. */
  hasDatabase: boolean
}

type FromSuccessor =
  | { type: 'waiting' }
  | { type: 'ready'; version: string; hasDatabase?: boolean }
  | { type: 'failed'; message: string }
  | Done
type Done = { type: 'done'; id: number; outcome?: RollOutcome }
type ToSuccessor = { type: 'do'; id: number; task: Task }

const PROTOCOL = 1
const HAS_DATABASE = true // of releases that do not say
const FIRST_SOCKET_FD = 4
const ABANDON_TIMEOUT_MS = 45_000 // while its processes drain; the database is its predecessor's
const STOP_TIMEOUT_MS = 80_000 // so long they drain, and its database may take another half minute
const TASK_TIMEOUT_MS = 300_000 // a reload waits for every process

export type Successor = Generation & {
  /** Everything of it serves but what waits for the local copy. */
  waiting: Promise<void>
  /** All of it serves. */
  ready: Promise<void>
  ended: Promise<{ reason: string }>
  /** Rejects with why it is not in charge; then it has ended. */
  takeCharge(): Promise<void>
  /** Ends it although it never took charge. */
  abandon(): Promise<void>
}

/** Starts the program on disk as this supervisor's successor, with the listening sockets as its descriptors. */
export function startSuccessor(
  launch: Launch,
  env: Readonly<Record<string, string | undefined>>,
  inheritance: Omit<Inheritance, 'protocol'>,
): Successor {
  const held = Object.entries(inheritance.sockets)
  const sockets = Object.fromEntries(held.map(([name, socket], i) => [name, { ...socket, fd: FIRST_SOCKET_FD + i }]))
  const child = spawn(launch.command, launch.args, {
    cwd: standing([launch.folder.name, launch.folder.path], launch.folder, inheritance.dataDir),
    env: { ...env, NAMESAKE_SUCCESSION: JSON.stringify({ ...inheritance, protocol: PROTOCOL, sockets } satisfies Inheritance) },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc', ...held.map(([, { fd }]) => fd)],
  })
  const waiting = Promise.withResolvers<void>()
  const ready = Promise.withResolvers<void>()
  const ended = Promise.withResolvers<{ reason: string }>()
  const asked = new Map<number, (done: Done | undefined) => void>()
  let cause: string | undefined
  let version = 'unknown'
  let hasDatabase = HAS_DATABASE
  let nextId = 0
  child.on('message', (message: FromSuccessor) => {
    if (message.type === 'waiting') waiting.resolve()
    if (message.type === 'failed') cause = message.message
    if (message.type === 'done') asked.get(message.id)?.(message)
    if (message.type !== 'ready') return
    version = message.version
    hasDatabase = message.hasDatabase ?? HAS_DATABASE
    ready.resolve()
  })
  const hasEnded = (how: string) => {
    ended.resolve({ reason: cause ?? how })
    for (const settle of asked.values()) settle(undefined)
  }
  child.once('error', (error) => hasEnded(error.message))
  child.once('close', (code, killedBy) => hasEnded(killedBy ?? `exit code ${code}`))

  /** Undefined when it ends instead, or takes too long. */
  const perform = async (task: Task): Promise<Done | undefined> => {
    const id = nextId++
    const { promise, resolve } = Promise.withResolvers<Done | undefined>()
    asked.set(id, resolve)
    if (child.connected) child.send({ type: 'do', id, task } satisfies ToSuccessor, () => {})
    else resolve(undefined)
    const patience = new AbortController()
    const done = await Promise.race([promise, pause(TASK_TIMEOUT_MS, patience.signal).then(() => undefined)])
    patience.abort()
    asked.delete(id)
    return done
  }
  const end = async (withinMs: number) => {
    child.kill('SIGTERM')
    const patience = new AbortController()
    await Promise.race([ended.promise, pause(withinMs, patience.signal)])
    patience.abort()
    child.kill('SIGKILL')
    await ended.promise
  }
  const task = (name: Task) => async () => void (await perform(name))
  return {
    get version() {
      return version
    },
    get hasDatabase() {
      return hasDatabase
    },
    waiting: waiting.promise,
    ready: ready.promise,
    ended: ended.promise,
    abandon: () => end(ABANDON_TIMEOUT_MS),
    reload: async () => (await perform('reload'))?.outcome ?? { kind: 'kept', label: 'the supervisor' },
    yieldDatabase: task('yieldDatabase'),
    yieldCopy: task('yieldCopy'),
    resume: task('resume'),
    async takeCharge() {
      if (await perform('takeCharge')) return
      await end(ABANDON_TIMEOUT_MS)
      throw new Error((await ended.promise).reason)
    },
    async retire() {
      void perform('retire')
      await ended.promise
    },
    async stop(atOnce) {
      const hurry = () => void child.kill('SIGINT')
      atOnce.addEventListener('abort', hurry, { once: true })
      await end(STOP_TIMEOUT_MS)
      atOnce.removeEventListener('abort', hurry)
    },
  }
}

/** The successor's end: whose place it takes, and what it says to it. */
export type Predecessor = Omit<Inheritance, 'protocol'> & {
  sayWaiting(): void
  sayReady(generation: Pick<Generation, 'version' | 'hasDatabase'>): void
  sayFailed(message: string): void
  /** Does with this generation what the predecessor asks; `onGone` is called when that has died. */
  obey(generation: Generation, onGone: () => void): void
  close(): void
}

/** Whose successor this process is to be, if it is one. Throws when that speaks in a way which this release does not know. */
export function findPredecessor(env: Readonly<Record<string, string | undefined>>): Predecessor | undefined {
  if (env.NAMESAKE_SUCCESSION === undefined || !process.send) return undefined
  const { protocol, hasDatabase = HAS_DATABASE, ...inheritance } = JSON.parse(env.NAMESAKE_SUCCESSION) as Inheritance
  if (protocol !== PROTOCOL) throw new Error('the running release cannot be replaced while it serves: stop it, and start this one')
  const say = (message: FromSuccessor) => void (process.connected && process.send?.(message, undefined, undefined, () => {}))
  return {
    ...inheritance,
    hasDatabase,
    sayWaiting: () => say({ type: 'waiting' }),
    sayReady: ({ version, hasDatabase }) => say({ type: 'ready', version, hasDatabase }),
    sayFailed: (message) => say({ type: 'failed', message }),
    obey(generation, onGone) {
      const perform = async ({ id, task }: ToSuccessor) => {
        const outcome = await generation[task]()
        say({ type: 'done', id, ...(outcome && { outcome }) })
      }
      process.on('message', (message) => void perform(message as ToSuccessor))
      process.once('disconnect', onGone)
      if (!process.connected) onGone()
    },
    close() {
      process.removeAllListeners('message').removeAllListeners('disconnect')
      if (process.connected) process.disconnect()
    },
  }
}
