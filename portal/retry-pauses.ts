export type RetryPauses = {
  /** How long to wait before the next try: two seconds at first, then ever longer, and never less than the service named. */
  nextMs(retryAfterMs: number): number
  /** After a try that succeeded. */
  restart(): void
}

const FIRST_MS = 2_000
const MAX_MS = 30_000
const RETRY_AFTER_MAX_MS = 300_000
const SPREAD = 0.3 // the pages of a service that restarts return one after the other

export function createRetryPauses(): RetryPauses {
  let pauseMs = FIRST_MS
  return {
    nextMs(retryAfterMs) {
      const deviation = SPREAD * (2 * Math.random() - 1)
      const waitingMs = Math.max(pauseMs * (1 + deviation), retryAfterMs * (1 + Math.abs(deviation)))
      pauseMs = Math.min(pauseMs * 2, MAX_MS)
      return waitingMs
    },
    restart() {
      pauseMs = FIRST_MS
    },
  }
}

/** 0 where the service names no time in seconds. */
export function retryAfterMsOf(answer: Response): number {
  const seconds = Number(answer.headers.get('retry-after') ?? 0)
  return seconds > 0 ? Math.min(seconds * 1_000, RETRY_AFTER_MAX_MS) : 0
}
