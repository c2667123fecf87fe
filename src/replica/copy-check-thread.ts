// The thread of copy-check.ts: reads the whole file, which takes too long for the follower's own loop.
import { DatabaseSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'
import { isSqliteError } from '../lib/sqlite-error.ts'
import type { CheckDepth, CopyCheck } from './copy-check.ts'

function check({ file, depth }: { file: string; depth: CheckDepth }): CopyCheck {
  try {
    const db = new DatabaseSync(file, { readOnly: true })
    const pragma = depth === 'indexes' ? 'integrity_check' : 'quick_check'
    const { [pragma]: finding } = db.prepare(`pragma ${pragma}(1)`).get() as Record<string, string>
    db.close()
    return finding === 'ok' ? { kind: 'sound' } : { kind: 'damaged', sentence: String(finding) }
  } catch (error) {
    return { kind: isSqliteError(error, 'damage') ? 'damaged' : 'unknown', sentence: (error as Error).message }
  }
}

parentPort?.postMessage(check(workerData))
