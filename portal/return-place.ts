import { forget, keep, recall } from './browser-memory.ts'

const KEY = 'namesake-return-to'
const KEPT_MS = 20 * 60_000 // a sign-in link works for 15 minutes
const OWN = /^\/(projects\/[^/]|new-project)/

/** Keeps the page that somebody wanted before they had to sign in. The link in the mail may open in another tab of the same browser. */
export function keepPlace(path: string): void {
  if (OWN.test(path)) keep(KEY, path)
}

/** That page, once; undefined when there is none, or it was long ago. */
export function takePlace(): string | undefined {
  const path = recall(KEY, KEPT_MS)
  forget(KEY)
  return path !== undefined && OWN.test(path) ? path : undefined
}
