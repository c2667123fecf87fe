import { PAGE_ENTRIES_MAX } from '../core/activity.ts'
import { PAGE_DOMAINS_MAX } from '../core/domain-page.ts'

/** How many entries of a list a caller may ask for at once, and the pattern by which a query is checked. */
export const PAGE_LIMITS = {
  domains: { max: PAGE_DOMAINS_MAX, pattern: '^([1-9][0-9]{0,2}|1000)$' },
  activity: { max: PAGE_ENTRIES_MAX, pattern: '^([1-9][0-9]?|1[0-9][0-9]|200)$' },
} as const

/** What to say of a `limit` that this pattern refused. */
export function limitSentence(pattern: unknown): string {
  const limit = Object.values(PAGE_LIMITS).find((one) => one.pattern === pattern)
  return `limit is a whole number from 1 to ${limit?.max}`
}
