import type { InventoryEntry } from '../core/certificate-inventory.ts'
import { isWildcard } from '../hostname.ts'
import { shownTime } from './output.ts'

const DAY_MS = 86_400_000
const IMPORTED_LOW_DAYS = 30

/** Whole days for which the certificate is valid still, negative after its end; null where there is none. */
export function daysLeft({ notAfter }: Pick<InventoryEntry, 'notAfter'>, now: Date): number | null {
  return notAfter === null ? null : Math.floor((Date.parse(notAfter) - now.getTime()) / DAY_MS)
}

/** How long it is valid, as a person reads it. */
export function shownDaysLeft(days: number): string {
  if (days === 0) return 'less than a day left'
  if (days > 0) return days === 1 ? '1 day left' : `${days} days left`
  if (days === -1) return 'ended less than a day ago'
  return days === -2 ? 'ended 1 day ago' : `ended ${-days - 1} days ago`
}

/** The state in one word; of what has ended, that. */
export function shownState({ state, origin, notAfter }: Pick<InventoryEntry, 'state' | 'origin' | 'notAfter'>, now: Date): string {
  if (notAfter !== null && Date.parse(notAfter) <= now.getTime()) return 'ended'
  return origin === 'imported' ? 'imported' : state
}

/** What happens next to the certificate, or what somebody must do, in one line. */
export function nextStep(entry: InventoryEntry, now: Date): string {
  const { state, origin, underWay, lastError, nextAttemptAt, nextIssuanceAt, nextIssuanceReason, renewAt, renewal } = entry
  const isPast = (time: string | null) => time === null || Date.parse(time) <= now.getTime()
  if (underWay) return 'an order is under way'
  if (renewal?.stoppedAt)
    return `NOT RENEWED since ${shownTime(renewal.stoppedAt)}: its DNS leads elsewhere since ${shownTime(renewal.dnsLeftAt)}`
  if (nextIssuanceAt) return `waits until ${shownTime(nextIssuanceAt)}: ${nextIssuanceReason}`
  if (lastError) return `${state === 'issued' ? 'NOT RENEWED YET, ' : ''}${triedAgain(nextAttemptAt, isPast)}: ${lastError.sentence}`
  if (state !== 'issued')
    return `ordered when the DNS is verified, or ${isWildcard(entry.hostname) ? 'its challenges are delegated' : 'at the first visit'}`
  if (origin === 'imported' && !isPast(renewAt)) {
    const low = daysLeft(entry, now)! < IMPORTED_LOW_DAYS
    return low ? `EXPIRES SOON: import the next one before ${shownTime(renewAt)}` : `kept as imported until ${shownTime(renewAt)}`
  }
  return isPast(renewAt) ? 'renewal is due now' : `renewed ${shownTime(renewAt)}`
}

function triedAgain(at: string | null, isPast: (time: string | null) => boolean): string {
  if (at === null) return 'tried again when a visitor comes, or a check finds the DNS right'
  return isPast(at) ? 'tried again now' : `tried again ${shownTime(at)}`
}
