import type { FailureReason, UpstreamFailure } from './upstream.ts'

/** The visitor went, or neither sent nor took any more; or it was there when its hostname was removed or moved, or when the edge had to stop. */
export type VisitorLoss = 'visitor-gone' | 'visitor-stalled' | 'hostname-gone' | 'edge-stopped'

/** What became of a request, whether it was forwarded or answered here; filled in as it happens, complete when the exchange closes. */
export type Outcome = {
  status: number
  /** From when it was to go to its upstream to the head of the answer, with all that it waited for meanwhile. */
  upstreamMs: number | undefined
  failure: FailureReason | undefined
  /** What exactly failed, for whoever reads the log. */
  detail: string | undefined
  /** Why its visitor has no whole answer, where that is not for the upstream. */
  visitor: VisitorLoss | undefined
  /** How often it was sent. */
  attempts: number
  /** From when it was first held until it was let go last; undefined where it was not. */
  heldMs: number | undefined
}

export function noOutcome(): Outcome {
  return { status: 0, upstreamMs: undefined, failure: undefined, detail: undefined, visitor: undefined, attempts: 0, heldMs: undefined }
}

export function noteFailure(outcome: Outcome, { reason, message }: UpstreamFailure): void {
  outcome.failure = reason
  outcome.detail = message
}
