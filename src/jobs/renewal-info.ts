import type { Db } from '../core/db.ts'
import { claimDueRenewalInfo, type HeldCertificate, recordRenewalTime } from '../core/renewals.ts'
import type { Log } from '../log.ts'

const CERTIFICATES_A_RUN_MAX = 100
const QUESTIONS_AT_ONCE_MAX = 10
const RUN_MS_MAX = 10_000 // a worker's stop waits for it
const QUESTION_TIMEOUT_MS = 5_000 // within a run, so that there is time left for the others when one is silent
const LEASE_S = 300 // longer than a whole run, and after so long one that did not answer is asked again
const ASK_AGAIN_S = 86_400
const ASK_AGAIN_AFTER_FAILURE_S = 3_600
const NEWS_MS = 86_400_000

/** When to renew a certificate, and on whose word. A wish begins at `from`; `directory` is whose it is. */
export type RenewalTime =
  | { kind: 'wish'; directory: string; from: Date; renewAt: Date; retryAfterS: number; explanationUrl?: string }
  | { kind: 'no-wish'; renewAt: Date }
  | { kind: 'failed'; renewAt: Date; sentence: string }

export type RenewalInfoParts = {
  db: Db
  log: Log
  /** Asks the certificate's authority; `renewAt` is our own rule's where it has no usable answer. */
  renewalTime(held: HeldCertificate, signal: AbortSignal): Promise<RenewalTime>
}

/**
 * Asks authorities when they wish the certificates in hand to be renewed (RFC 9773), as far as asking is due, and moves the renewals.
 * After a failed question our own rule holds, or the wish known from before where that is earlier. Goes on for some seconds while there is more to
 * ask: an authority has a million certificates asked about every six hours. One that answers none of its questions in time is left alone for the rest
 * of the run, and what is due at it is due again minutes later. What could not be kept ends the run once the others asked beside it are.
 */
export async function askAboutRenewals(parts: RenewalInfoParts): Promise<void> {
  const endsAtMs = performance.now() + RUN_MS_MAX
  const silent = new Set<string | null>()
  for (;;) {
    const due = await claimDueRenewalInfo(parts.db, CERTIFICATES_A_RUN_MAX, LEASE_S)
    for (let left = due; left.length > 0; ) {
      left = left.filter(({ directory }) => !silent.has(directory))
      if (performance.now() >= endsAtMs) return
      const beside = left.slice(0, QUESTIONS_AT_ONCE_MAX)
      left = left.slice(QUESTIONS_AT_ONCE_MAX)
      for (const directory of await askBesideEachOther(parts, beside)) silent.add(directory)
    }
    if (due.length < CERTIFICATES_A_RUN_MAX || performance.now() >= endsAtMs) return
  }
}

/** Says whose directories have answered none of the questions in time. Rejects with what could not be kept, once all have come to their end. */
async function askBesideEachOther(parts: RenewalInfoParts, due: readonly HeldCertificate[]): Promise<(string | null)[]> {
  const answered = new Set<string | null>()
  const asked = due.map(async (held) => {
    const signal = AbortSignal.timeout(QUESTION_TIMEOUT_MS)
    const time = await parts.renewalTime(held, signal)
    if (!signal.aborted) answered.add(held.directory)
    await keep(parts, held, time)
  })
  const failed = (await Promise.allSettled(asked)).find((outcome) => outcome.status === 'rejected')
  if (failed) throw failed.reason
  return due.map(({ directory }) => directory).filter((directory) => !answered.has(directory))
}

async function keep({ db, log }: RenewalInfoParts, held: HeldCertificate, time: RenewalTime): Promise<void> {
  const { hostname } = held
  switch (time.kind) {
    case 'wish': {
      const { renewAt, retryAfterS, explanationUrl } = time
      await recordRenewalTime(db, held, { renewAt, askAgainInS: retryAfterS, wish: time })
      if (held.renewAt.getTime() - renewAt.getTime() > NEWS_MS && explanationUrl !== undefined) {
        log.info({ hostname, renewAt, explanationUrl }, 'the authority wishes an earlier renewal')
      }
      return
    }
    case 'no-wish':
      return recordRenewalTime(db, held, { renewAt: time.renewAt, askAgainInS: ASK_AGAIN_S, wish: 'none' })
    case 'failed': {
      const renewAt = new Date(Math.min(time.renewAt.getTime(), held.renewAt.getTime()))
      log.debug({ hostname, reason: time.sentence }, 'the authority did not say when to renew')
      const wish = renewAt < held.renewAt ? 'none' : 'as-before'
      return recordRenewalTime(db, held, { renewAt, askAgainInS: ASK_AGAIN_AFTER_FAILURE_S, wish })
    }
  }
}
