import type { WorkerEvents } from 'graphile-worker'
import type { Db } from '../core/db.ts'
import { type HeldJob, handBackJobs, listHeldJobs } from '../core/workers.ts'
import type { Log } from '../log.ts'
import { startSweeps } from './sweep.ts'

/** How often it is looked for them, and after how long no answer of the queue can be on its way any more. */
export type LookForLost = { everyMs: number; answerWithinS: number }

/**
 * Hands back what the queue has given to this worker without its knowledge: where the connection is lost between the statement that takes a job and its
 * answer, nobody would do that job for four hours. What was begun stays, also while its end is still to be written down.
 */
export function watchForLostJobs(db: Db, workerId: string, begun: BegunJobs, { everyMs, answerWithinS, log }: LookForLost & { log: Log }) {
  const look = async (): Promise<void> => {
    const before = begun.all()
    const held = await listHeldJobs(db, workerId, answerWithinS)
    const lost = held.filter((job) => job.isOld && !begun.has(job)).map(({ id }) => id)
    begun.keep(before, held)
    if (lost.length === 0) return
    await handBackJobs(db, workerId, lost, answerWithinS)
    log.warn({ jobs: lost }, 'jobs were lost on the way from the queue; they are free again')
  }
  return startSweeps([{ name: 'lost jobs', everyMs, run: look }], log)
}

export type BegunJobs = ReturnType<typeof noteBegunJobs>

/**
 * Which jobs have reached this worker, from before it takes the first: of each when the queue handed it out last, since one that failed may be lost when it
 * is handed out again. Of one that is asked for anew meanwhile the queue changes neither.
 */
export function noteBegunJobs(events: WorkerEvents) {
  const handedOut = new Map<string, number>()
  events.on('job:start', ({ job }) => handedOut.set(job.id, Number(job.locked_at)))
  return {
    all: () => [...handedOut],
    has: ({ id, lockedAt }: HeldJob) => handedOut.get(id) === Number(lockedAt),
    /** Of those that were known before a look, only what it found is still of interest. */
    keep(before: readonly [id: string, at: number][], held: readonly HeldJob[]) {
      const found = new Set(held.map(({ id }) => id))
      for (const [id, at] of before) if (!found.has(id) && handedOut.get(id) === at) handedOut.delete(id)
    },
  }
}
