import { type Child, type ChildParts, type FromChild, spawnChild } from './child.ts'
import { backOffMs, pause } from './lib/back-off.ts'
import type { Log } from './log.ts'

/** One place in the tree that is always filled: its process is started again whenever it ends. */
export type RoleProcess = {
  role: string
  /** As people read it: `api`, `edge 2`. */
  label: string
  /** Resolves at the first time that it serves. */
  firstReady: Promise<void>
  current(): Child | undefined
  isReady(): boolean
  /** Starts a successor, and when that serves lets the present process drain. A successor that fails changes nothing. */
  replace(): Promise<'replaced' | 'kept'>
  /** SIGTERM, and SIGKILL to what is left when the signal is aborted. */
  stop(killNow: AbortSignal): Promise<void>
}

export type RoleProcessParts = Omit<ChildParts, 'onMessage'> & {
  label: string
  log: Log
  onMessage(message: FromChild, from: Child): void
}

const BACK_OFF = { firstMs: 100, maxMs: 10_000 }
const STEADY_MS = 10_000
const SUCCESSOR_TIMEOUT_MS = 30_000

/** Starts the process and keeps its place filled until `stop`, with back-off between failures. */
export function startRoleProcess(parts: RoleProcessParts): RoleProcess {
  const stopping = new AbortController()
  const alive = new Set<Child>()
  const firstReady = Promise.withResolvers<void>()
  let current: Child | undefined
  let ready = false
  let failures = 0
  let restart = Promise.resolve()

  const spawn = (): Child => {
    const child: Child = spawnChild({ ...parts, onMessage: (message) => parts.onMessage(message, child) })
    alive.add(child)
    void child.ended.then(() => alive.delete(child))
    return child
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
    void child.ended.then(({ reason }) => {
      if (current !== child || stopping.signal.aborted) return
      current = undefined
      failures = ready && performance.now() - begun > STEADY_MS ? 1 : failures + 1
      ready = false
      const waitMs = backOffMs(failures, BACK_OFF)
      parts.log.error({ process: child.pid }, `${parts.label} ended (${reason}): starting it again in ${waitMs} ms`)
      restart = pause(waitMs, stopping.signal).then(() => {
        if (!stopping.signal.aborted && !current) seat(spawn()) // a successor may have taken the place
      })
    })
  }
  seat(spawn())

  return {
    role: parts.role,
    label: parts.label,
    firstReady: firstReady.promise,
    current: () => current,
    isReady: () => ready,
    async replace() {
      const former = current
      const successor = spawn()
      const late = pause(SUCCESSOR_TIMEOUT_MS, stopping.signal).then(() => false)
      if (!(await Promise.race([successor.ready, late])) || stopping.signal.aborted) {
        successor.signal('SIGTERM')
        return 'kept'
      }
      // The place may have been filled anew meanwhile, after a crash: whoever sits there now makes room.
      const sitting = current ?? former
      seat(successor)
      if (sitting !== successor) sitting?.signal('SIGTERM')
      return 'replaced'
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
