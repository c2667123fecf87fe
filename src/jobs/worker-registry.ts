import type { Db } from '../core/db.ts'
import { beatWorker, removeWorker, takeOverFromDead, WORKER_BEAT_MS, type Worker } from '../core/workers.ts'
import { pause } from '../lib/back-off.ts'
import type { Log } from '../log.ts'

/**
 * Says that this worker lives, for as long as it does, and frees what dead ones held. Resolves when it is known; `stop()` is for when it
 * holds nothing any more.
 */
export async function joinWorkers(db: Db, worker: Worker, log: Log): Promise<{ stop(): Promise<void> }> {
  const stopping = new AbortController()
  await beatWorker(db, worker)
  const beating = beat(db, worker, log, stopping.signal)
  return {
    async stop() {
      stopping.abort()
      await beating
      await removeWorker(db, worker.id).catch((error) => log.debug({ err: error }, 'this worker could not say that it ends'))
    },
  }
}

async function beat(db: Db, worker: Worker, log: Log, stopped: AbortSignal): Promise<void> {
  let failures = 0
  for (await pause(WORKER_BEAT_MS, stopped); !stopped.aborted; await pause(WORKER_BEAT_MS, stopped)) {
    try {
      await beatWorker(db, worker)
      const taken = await takeOverFromDead(db, worker)
      if (taken.workers.length > 0) log.warn(taken, 'what dead workers held is free for the others')
      failures = 0
    } catch (error) {
      failures += 1
      if (failures === 1) log.warn({ err: error }, 'this worker cannot say that it lives; others will take over what it holds')
    }
  }
}
