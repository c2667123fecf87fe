import { saysDatabaseIsAway } from '../errors.ts'
import { pause } from '../lib/back-off.ts'
import type { Log } from '../log.ts'

export type Sweep = {
  name: string
  everyMs: number
  /** The share of time that it may take at most: one that grows with the installation comes less often then. */
  shareMax?: number
  run(): Promise<void>
}

/** Runs each sweep at once and then every so often, one run at a time; a failure is logged, an outage of the database once, and the next run comes in time. */
export function startSweeps(sweeps: readonly Sweep[], log: Log): { stop(): Promise<void> } {
  const stopping = new AbortController()
  const loops = sweeps.map((sweep) => repeat(sweep, log, stopping.signal))
  return {
    async stop() {
      stopping.abort()
      await Promise.all(loops)
    },
  }
}

async function repeat(sweep: Sweep, log: Log, stopped: AbortSignal): Promise<void> {
  let wasAway = false
  while (!stopped.aborted) {
    const startedAtMs = performance.now()
    try {
      await sweep.run()
      wasAway = false
    } catch (error) {
      const isAway = saysDatabaseIsAway(error) // said once, and without where in the code it was met
      const cause = isAway ? { reason: error.message } : { err: error }
      if (!isAway || !wasAway) log.warn({ ...cause, sweep: sweep.name }, 'sweep failed; it runs again in time')
      wasAway = isAway
    }
    const tookMs = performance.now() - startedAtMs
    await pause(Math.max(sweep.everyMs, tookMs / (sweep.shareMax ?? 1) - tookMs), stopped)
  }
}
