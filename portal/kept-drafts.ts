import { forget, keep, recall } from './browser-memory.ts'

const KEY = 'namesake-draft'
const KEPT_MS = 20 * 60_000 // a sign-in link works for 15 minutes
const ENDED = 'namesake-session-ended'

type Kept = { email: string; draft: object }

/**
 * Has every open form keep what was typed into it, until the same person has signed in again: the link in the mail may open in another tab of the same
 * browser. Who signs out by themselves keeps nothing.
 */
export function keepDrafts(email: string): void {
  window.dispatchEvent(new CustomEvent(ENDED, { detail: email }))
}

/** Has a form keep its draft when the session ends, until the returned function is called. */
export function offerDraft(form: string, draft: object): () => void {
  const onEnd = (event: Event) => {
    const kept: Kept = { email: (event as CustomEvent<string>).detail, draft }
    keep(`${KEY} ${form}`, JSON.stringify(kept))
  }
  window.addEventListener(ENDED, onEnd)
  return () => window.removeEventListener(ENDED, onEnd)
}

/** What the same person had typed into the form; undefined when there is none, or it was long ago. */
export function recallDraft<Draft extends object>(form: string, email: string | undefined): Draft | undefined {
  const kept = JSON.parse(recall(`${KEY} ${form}`, KEPT_MS) ?? 'null') as Kept | null
  return kept && kept.email === email ? (kept.draft as Draft) : undefined
}

export function forgetDraft(form: string): void {
  forget(`${KEY} ${form}`)
}
