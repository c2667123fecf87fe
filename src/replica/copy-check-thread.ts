// The thread of copy-check.ts: reads the whole file, which takes too long for the follower's own loop.
import { DatabaseSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'
import { isSqliteError } from '../lib/sqlite-error.ts'
import type { CopyCheck } from './copy-check.ts'

function check(file: string): CopyCheck {
  try {
    const db = new DatabaseSync(file, { readOnly: true })
    const { quick_check: finding } = db.prepare('pragma quick_check(1)').get() as { quick_check: string }
    db.close()
    return finding === 'ok' ? { kind: 'sound' } : { kind: 'damaged', sentence: finding }
  } catch (error) {
    return { kind: isSqliteError(error, 'damage') ? 'damaged' : 'unknown', sentence: (error as Error).message }
  }
}

parentPort?.postMessage(check(workerData as string))
