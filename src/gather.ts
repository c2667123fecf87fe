import type { Child } from './child.ts'
import { createKeptCounts, type KeptCounts } from './kept-counts.ts'
import type { RoleProcess } from './role-process.ts'
import type { ProcessReport } from './roles/role.ts'

const REPORT_TIMEOUT_MS = 2_000
/** Whether all is ready must not take longer because of one that ends. */
const LEAVING_TIMEOUT_MS = 500

/** Asks the processes of the tree for their reports, so that one of them can answer for all. */
export type Gatherer = {
  /**
   * One report a process, or a process of that role; one that is down or silent is reported as not ready, and so is a role that was not started yet. One that
   * takes over from its predecessor counts as that did. With the metrics of a process come the counts of those that sat in its place before, and what is
   * held by those that still drain.
   */
  gather(role?: string): Promise<ProcessReport[]>
  /** Takes a child's answer in. */
  received(id: number, report: ProcessReport): void
}

export function createGatherer(processes: () => readonly RoleProcess[], roles: readonly string[]): Gatherer {
  const waiting = new Map<number, { child: Child; answer(report: ProcessReport | undefined): void }>()
  const counts = new Map<string, KeptCounts>() // by label: a place may be given up and made again
  const states = new WeakMap<Child, 'runs' | 'ended'>()
  let asked = 0

  /** Once a child: what waits for a promise is kept for as long as that is open, and children are asked for months. */
  const hearOfItsEnd = (child: Child) => {
    states.set(child, 'runs')
    void child.ended.then(() => {
      states.set(child, 'ended')
      for (const one of waiting.values()) if (one.child === child) one.answer(undefined)
    })
  }
  const ask = async (child: Child, timeoutMs = REPORT_TIMEOUT_MS): Promise<ProcessReport | undefined> => {
    if (!states.has(child)) hearOfItsEnd(child)
    if (states.get(child) === 'ended') return undefined
    const id = asked++
    const { promise, resolve } = Promise.withResolvers<ProcessReport | undefined>()
    const timer = setTimeout(resolve, timeoutMs, undefined)
    waiting.set(id, { child, answer: resolve })
    child.send({ type: 'report', id })
    try {
      return await promise
    } finally {
      clearTimeout(timer)
      waiting.delete(id)
    }
  }
  const reportOf = async (place: RoleProcess): Promise<ProcessReport> => {
    const kept = counts.get(place.label) ?? createKeptCounts()
    counts.set(place.label, kept)
    const child = place.current()
    const takesOver = place.isTakingOver()
    const leaving = Promise.all(place.leaving().map(async (child) => ({ child, metrics: (await ask(child, LEAVING_TIMEOUT_MS))?.metrics })))
    if (!child) return { ...unready(place.role, 'down'), metrics: kept.metricsOf(undefined, await leaving) }
    const report = await ask(child)
    if (!report && place.current() !== child) return reportOf(place) // it was replaced meanwhile
    const shown = report ?? unready(place.role, 'silent', child.pid)
    return { ...shown, ready: shown.ready || takesOver, metrics: kept.metricsOf({ child, metrics: report?.metrics }, await leaving) }
  }

  return {
    async gather(wanted) {
      const isWanted = (role: string) => wanted === undefined || role === wanted
      const started = processes().filter(({ role }) => isWanted(role))
      const missing = roles.filter((role) => isWanted(role) && !started.some((place) => place.role === role))
      return [...(await Promise.all(started.map(reportOf))), ...missing.map((role) => unready(role, 'not started yet'))]
    },
    received: (id, report) => waiting.get(id)?.answer(report),
  }
}

function unready(role: string, state: string, pid = 0): ProcessReport {
  return { role, pid, ready: false, details: { state }, metrics: [] }
}
