import { pause } from '../lib/back-off.ts'
import type { Log } from '../log.ts'

export type Sweep = { name: string; everyMs: number; run(): Promise<void> }

/** Runs each sweep at once and then every so often, one run at a time; a failure is logged and the next run comes in time. */
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
  while (!stopped.aborted) {
    try {
      await sweep.run()
    } catch (error) {
      log.warn({ err: error, sweep: sweep.name }, 'sweep failed; it runs again in time')
    }
    await pause(sweep.everyMs, stopped)
  }
}
