import type { FromChild, ToChild } from './child.ts'
import type { ProcessReport } from './roles/role.ts'

export type SupervisorLink = {
  /** Says that this process serves. */
  ready(): void
  /** Says that this process waits for something of which its predecessor must let go. */
  waiting(): void
  /** The reports of every process of the tree, or of those of one role; none where the supervisor does not answer in time. */
  gather(role?: string): Promise<ProcessReport[]>
  /** Resolves when the supervisor says that its tree is the one in charge, which one that takes over from another does. */
  inCharge: Promise<void>
  close(): void
}

const GATHER_TIMEOUT_MS = 3_000

/**
 * The child's end of the channel to its supervisor: answers requests for a report, relays its own. `onGone` is called when the
 * supervisor has died or let go: whoever serves then drains and exits, so that no orphan ever serves old routes.
 */
export function connectToSupervisor(parts: { report(): Promise<ProcessReport>; onGone(): void }): SupervisorLink {
  const waiting = new Map<number, (reports: ProcessReport[]) => void>()
  const charge = Promise.withResolvers<void>()
  let asked = 0

  const send = (message: FromChild) => {
    if (process.connected) process.send?.(message, undefined, undefined, () => {})
  }
  const answer = async (id: number) => send({ type: 'report', id, report: await parts.report() })
  const onMessage = (message: ToChild) => {
    if (message.type === 'report') void answer(message.id)
    if (message.type === 'in-charge') charge.resolve()
    if (message.type === 'gathered') waiting.get(message.id)?.(message.reports)
  }
  process.on('message', onMessage)
  process.on('disconnect', parts.onGone)

  return {
    ready: () => send({ type: 'ready' }),
    waiting: () => send({ type: 'waiting' }),
    inCharge: charge.promise,
    async gather(role) {
      if (!process.connected) return [await parts.report()]
      const id = asked++
      const { promise, resolve } = Promise.withResolvers<ProcessReport[]>()
      const timer = setTimeout(resolve, GATHER_TIMEOUT_MS, [])
      waiting.set(id, resolve)
      send({ type: 'gather', id, role })
      try {
        return await promise
      } finally {
        clearTimeout(timer)
        waiting.delete(id)
      }
    },
    close() {
      process.off('message', onMessage)
      process.off('disconnect', parts.onGone)
      if (process.connected) process.disconnect()
    },
  }
}
