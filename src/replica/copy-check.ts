import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { ownProgram } from '../own-files.ts'

export type CopyCheck = { kind: 'sound' } | { kind: 'damaged'; sentence: string } | { kind: 'unknown'; sentence: string }

/** Of `structure` are the pages and rows; `indexes` compares each row with its places in them too, which takes longer. */
export type CheckDepth = 'structure' | 'indexes'

const CHECK_TIMEOUT_MS = 15 * 60_000

/** Reads a whole copy and checks it, in a thread of its own: seconds a million rows. Never rejects. */
export async function checkCopy(file: string, depth: CheckDepth, signal?: AbortSignal): Promise<CopyCheck> {
  const deadline = AbortSignal.timeout(CHECK_TIMEOUT_MS)
  const worker = new Worker(ownProgram('replica/copy-check-thread'), { workerData: { file, depth } })
  try {
    const [outcome] = await once(worker, 'message', { signal: signal ? AbortSignal.any([signal, deadline]) : deadline })
    return outcome as CopyCheck
  } catch (error) {
    return { kind: 'unknown', sentence: (error as Error).message }
  } finally {
    await worker.terminate()
  }
}
