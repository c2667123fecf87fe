import type { Log } from '../log.ts'
import { isCurrent } from './copy-status.ts'

const BEHIND_MS = 60_000

/** To be told the lag each second: says once that the copy is far behind, and once that this is over. */
export function createLagAlarm(log: Log): (status: { lagMs: number }) => void {
  let behind = false
  return (status) => {
    if (!behind && status.lagMs > BEHIND_MS) {
      behind = true
      const seconds = Math.round(status.lagMs / 1_000)
      log.warn({ seconds }, 'the local copy is behind the database: visitors are served as of then. Look at the way to the database')
    } else if (behind && isCurrent(status)) {
      behind = false
      log.info('the local copy is no longer behind the database')
    }
  }
}
