import { forget, keep, recall } from './browser-memory.ts'
import { withAsciiDomain } from './unicode-name.ts'

const KEY = 'namesake-link-asked'
const KEPT_MS = 20 * 60_000 // a sign-in link works for 15 minutes

/** Remembers that somebody at this browser asked for a sign-in link for the address; the latest address counts. */
export function rememberAsking(email: string): void {
  keep(KEY, withAsciiDomain(email.toLowerCase()))
}

/** Whether this browser asked lately for a link for the very address. */
export function hasAsked(email: string): boolean {
  return recall(KEY, KEPT_MS) === email
}

export function forgetAsking(): void {
  forget(KEY)
}
