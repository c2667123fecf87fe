import { EventEmitter } from 'node:events'
import { hostname as hostOfMachine } from 'node:os'
import { type Job, Logger, run, type WorkerEvents } from 'graphile-worker'
import type { Db } from '../core/db.ts'
import { queuePool } from '../core/queue-pool.ts'
import { holdsJob } from '../core/workers.ts'
import { saysDatabaseIsAway } from '../errors.ts'
import type { Log } from '../log.ts'
import { type LookForLost, noteBegunJobs, watchForLostJobs } from './lost-jobs.ts'
import { sharePlaces } from './place-shares.ts'
import { joinWorkers } from './worker-registry.ts'

export type JobRunnerParts = {
  db: Db
  /** For what the queue itself asks. */
  jobDb: Db
  log: Log
  /** The only kind of jobs that it runs, and how many at the same time. */
  task: string
  atOnce: number
  /** For jobs that are in its name without its knowledge. */
  lookForLost?: LookForLost
  /** `workerId` as the registry of workers knows it. */
  work(payload: unknown, job: Job, workerId: string): Promise<void>
}

export type JobRunner = {
  id: string
  /** Resolves when the jobs under way have ended. */
  stop(): Promise<void>
  /** For when nothing is held any more under its id. */
  leave(): Promise<void>
}

const JOB_POLL_MS = 1_000
const LOOK_FOR_LOST: LookForLost = { everyMs: 30_000, answerWithinS: 60 } // a connection is given up after 40 s of silence

/**
 * Runs the jobs of one kind, so that those of another never wait for their places; whom a job's flag names has no more of them than its share. Places
 * that are given out in the same moment are not known to each other: of an idle runner one may get all, and keeps its share as they end. Resolves once the
 * runner is known as a worker.
 */
export async function startJobRunner({
  db,
  jobDb,
  log,
  task,
  atOnce,
  work,
  lookForLost = LOOK_FOR_LOST,
}: JobRunnerParts): Promise<JobRunner> {
  const events: WorkerEvents = new EventEmitter()
  const begun = noteBegunJobs(events)
  const created = new Promise<string>((resolve) => events.once('pool:create', ({ workerPool }) => resolve(workerPool.id)))
  const joined = created.then(async (id) => ({ id, ...(await joinWorkers(db, { id, host: hostOfMachine(), pid: process.pid }, log)) }))
  joined.catch(() => {}) // it is awaited below
  const places = sharePlaces(atOnce)
  const runner = await run({
    events,
    pgPool: queuePool(jobDb.pool),
    concurrency: atOnce,
    async forbiddenFlags() {
      await joined // what an unknown worker holds is nobody's to take over: it takes nothing yet
      return places.full()
    },
    pollInterval: JOB_POLL_MS,
    noHandleSignals: true,
    logger: jobLogger(log),
    parsedCronItems: [],
    taskList: {
      async [task](payload, { job }) {
        const { id } = await joined
        const [holder] = Object.keys(job.flags ?? {})
        await places.hold(holder, () => work(payload, job, id))
        // The queue deletes what has ended well by its number alone, and writes a failure only of what is still held.
        if (!(await stillHolds(db, job))) throw new Error('another worker has taken this job over meanwhile')
      },
    },
  })
  const registered = await joined
  const lost = watchForLostJobs(db, registered.id, begun, { ...lookForLost, log })
  return {
    id: registered.id,
    async stop() {
      await Promise.all([lost.stop(), runner.stop()])
    },
    leave: () => registered.stop(),
  }
}

/** True also while the database is away: a job that is done must not fail for that. */
async function stillHolds(db: Db, { id, locked_by }: Job): Promise<boolean> {
  return holdsJob(db, id, locked_by!).catch((error: unknown) => {
    if (!saysDatabaseIsAway(error)) throw error
    return true
  })
}

function jobLogger(log: Log): Logger {
  return new Logger(() => (level, message) => log[level === 'warning' ? 'warn' : level === 'error' ? 'error' : 'debug'](message))
}
