/**
 * How well the copy is known to mirror the database: `lagMs` since it was last known to hold everything, `asOfMs` that moment.
 * `complete` when it holds every hostname, so that a miss means something.
 */
export type CopyStatus = { lagMs: number; complete: boolean; asOfMs: number }

const FRESH_LAG_MS_MAX = 5_000

/** Whether news from the database arrives within seconds. */
export function isCurrent(status: { lagMs: number }): boolean {
  return status.lagMs <= FRESH_LAG_MS_MAX
}

/** Whether a hostname that the copy does not hold is not registered. Never a reason to stop serving the hostnames that it holds. */
export function missIsFinal(status: { lagMs: number; complete: boolean }): boolean {
  return status.complete && isCurrent(status)
}
