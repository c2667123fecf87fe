import { type Child, type ChildParts, type Ending, type FromChild, spawnChild } from './child.ts'
import type { Env } from './config.ts'
import { backOffMs, pause } from './lib/back-off.ts'
import type { Log } from './log.ts'

/** One place in the tree that is always filled: its process is started again whenever it ends. */
export type RoleProcess = {
  role: string
  /** As people read it: `api`, `edge 2`. */
  label: string
  /** Resolves at the first time that it serves. */
  firstReady: Promise<void>
  /** Resolves when its process waits for something of which its predecessor, under another supervisor, must let go. */
  waits: Promise<void>
  current(): Child | undefined
  /** Those that were replaced and still drain. */
  leaving(): Child[]
  isReady(): boolean
  /** Whether its process waits, or waited, for what its predecessor held, which served, and is about to serve. */
  isTakingOver(): boolean
  /**
   * Starts a successor with this `.env`, and when that serves lets the present process drain. One that waits for what the present process holds is given
   * way to as soon as it lacks nothing else. A successor that fails changes nothing, or has its place filled again as after any end.
   */
  replace(dotEnv: Env): Promise<Replacement>
  /** SIGTERM, and SIGKILL to what is left when the signal is aborted. */
  stop(killNow: AbortSignal): Promise<void>
}

/** `kept`, with why the successor does not serve. */
export type Replacement = { kind: 'replaced' } | { kind: 'kept'; reason: string }

export type RoleProcessParts = Omit<ChildParts, 'onMessage'> & {
  label: string
  log: Log
  /** Aborted as soon as the supervisor is told to stop: whoever ends from then on does as it was told, too. */
  giveUp: AbortSignal
  /** Called with each process as it starts. */
  onStart?(child: Child): void
  onMessage(message: FromChild, from: Child): void
}

const BACK_OFF = { firstMs: 100, maxMs: 10_000 }
const STEADY_MS = 10_000
const TOLD_TOO_MS = 100 // a signal to the whole process group may reach a child before it reaches us
const SUCCESSOR_TIMEOUT_MS = 60_000
const DRAIN_MS_MAX = 40_000 // the 30 seconds that running requests are given, and a margin

/** Starts the process and keeps its place filled until `stop` or `giveUp`, with back-off between failures. */
export function startRoleProcess(parts: RoleProcessParts): RoleProcess {
  const stopping = new AbortController()
  const over = AbortSignal.any([stopping.signal, parts.giveUp])
  const alive = new Set<Child>()
  const draining = new Set<Child>()
  const firstReady = Promise.withResolvers<void>()
  const waits = Promise.withResolvers<void>()
  let current: Child | undefined
  let ready = false
  let takesOver = false
  let failures = 0
  let restart = Promise.resolve()

  let { dotEnv } = parts // what has served once is what a restart gets, whatever the file says by then
  const spawn = (given: Env): Child => {
    const child: Child = spawnChild({ ...parts, dotEnv: given, onMessage: (message) => parts.onMessage(message, child) })
    alive.add(child)
    parts.onStart?.(child)
    void child.waits.then(waits.resolve)
    void child.ended.then(() => alive.delete(child))
    return child
  }
  const drain = (child: Child) => {
    child.signal('SIGTERM')
    const late = setTimeout(() => {
      parts.log.warn({ process: child.pid }, `the former process of ${parts.label} did not end in time: ending it`)
      child.signal('SIGKILL')
    }, DRAIN_MS_MAX)
    draining.add(child)
    void child.ended.then(() => {
      clearTimeout(late)
      draining.delete(child)
    })
  }
  const seat = (child: Child) => {
    const begun = performance.now()
    current = child
    ready = false
    void child.ready.then((serves) => {
      if (!serves || current !== child) return
      ready = true
      firstReady.resolve()
    })
    void child.ended.then(async (ending) => {
      if (current !== child) return
      current = undefined
      failures = ready && performance.now() - begun > STEADY_MS ? 1 : failures + 1
      ready = false
      if (looksTold(ending)) await pause(TOLD_TOO_MS, over)
      if (over.aborted) return
      const waitMs = backOffMs(failures, BACK_OFF)
      parts.log.error({ process: child.pid }, `${parts.label} ended (${ending.reason}): starting it again in ${waitMs} ms`)
      restart = pause(waitMs, over).then(() => {
        if (!over.aborted && !current) seat(spawn(dotEnv)) // a successor may have taken the place
      })
    })
  }
  seat(spawn(dotEnv))

  return {
    role: parts.role,
    label: parts.label,
    firstReady: firstReady.promise,
    waits: waits.promise,
    current: () => current,
    leaving: () => [...draining].filter((child) => child !== current),
    isReady: () => ready,
    isTakingOver: () => takesOver,
    async replace(next) {
      const former = current
      const successor = spawn(next)
      const patience = new AbortController()
      const late = pause(SUCCESSOR_TIMEOUT_MS, AbortSignal.any([patience.signal, stopping.signal])).then(() => false)
      const waits = successor.waits.then(() => 'waits' as const)
      const kept = async (): Promise<Replacement> => {
        patience.abort()
        const reason = await whyNot(successor, stopping.signal)
        drain(successor) // and where it sits by then, its place is filled again
        return { kind: 'kept', reason }
      }
      const came = await Promise.race([successor.ready, waits, late])
      if (came === false || stopping.signal.aborted) return kept()
      // The place may have been filled anew meanwhile, after a crash: whoever sits there now makes room.
      const sitting = current ?? former
      takesOver = ready
      seat(successor)
      if (sitting && sitting !== successor) drain(sitting)
      const serves = await Promise.race([successor.ready, late])
      takesOver = false
      if (!serves) return kept()
      patience.abort()
      dotEnv = next
      return { kind: 'replaced' }
    },
    async stop(killNow) {
      stopping.abort()
      await restart
      const kill = () => {
        for (const child of alive) child.signal('SIGKILL')
      }
      if (killNow.aborted) kill()
      else killNow.addEventListener('abort', kill, { once: true })
      for (const child of alive) child.signal('SIGTERM')
      await Promise.all([...alive].map((child) => child.ended))
      killNow.removeEventListener('abort', kill)
    },
  }
}

/** Of a process that does not serve: how it ended, or that it took too long or is not wanted any more. */
async function whyNot(child: Child, stopping: AbortSignal): Promise<string> {
  if (stopping.aborted) return 'the service stops'
  const late = `it did not serve within ${SUCCESSOR_TIMEOUT_MS / 1_000} seconds`
  return Promise.race([child.ended.then(({ reason }) => reason), pause(0).then(() => late)])
}

/** As a process ends that obeys a signal to stop, or that died of it before it could. */
function looksTold({ code, reason }: Ending): boolean {
  return code === 0 || reason === 'SIGTERM' || reason === 'SIGINT' || reason === 'SIGHUP'
}
