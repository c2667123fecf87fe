import type { FailureReason } from './upstream.ts'

/** What became of a forwarded request, filled in as it happens; complete when the exchange closes. */
export type Forwarded = {
  status: number
  /** From the first attempt to the head of the answer. */
  upstreamMs: number | undefined
  failure: FailureReason | undefined
  /** What exactly failed, for whoever reads the log. */
  detail: string | undefined
  /** When it is for the visitor that it did not come to its end: it went, or neither sent nor took any more. */
  visitor: 'visitor-gone' | 'visitor-stalled' | undefined
  /** How often it was sent. */
  attempts: number
  /** From when it was first held until it was let go last; undefined where it was not. */
  heldMs: number | undefined
}

export function noOutcome(): Forwarded {
  return { status: 0, upstreamMs: undefined, failure: undefined, detail: undefined, visitor: undefined, attempts: 0, heldMs: undefined }
}
