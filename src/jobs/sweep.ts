import { ServiceError } from '../errors.ts'
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
  let failures = 0
  while (!stopped.aborted) {
    try {
      await sweep.run()
      if (failures > 1) log.info({ sweep: sweep.name, failures }, 'sweep runs again')
      failures = 0
    } catch (error) {
      failures += 1
      const cause = isAway(error) ? { reason: error.message } : { err: error }
      if (failures === 1) log.warn({ ...cause, sweep: sweep.name }, 'sweep failed; it runs again in time')
    }
    await pause(sweep.everyMs, stopped)
  }
}

/** An outage of the database says the same of every sweep: where in the code it was met is of no use. */
function isAway(error: unknown): error is ServiceError {
  return error instanceof ServiceError && error.code === 'database_unavailable'
}
