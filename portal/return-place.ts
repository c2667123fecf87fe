const KEY = 'namesake-return-to'
const KEPT_MS = 20 * 60_000 // a sign-in link works for 15 minutes
const OWN = /^\/(projects\/[^/]|new-project)/

/** Keeps the page that somebody wanted before they had to sign in. The link in the mail may open in another tab of the same browser. */
export function keepPlace(path: string): void {
  try {
    if (OWN.test(path)) localStorage.setItem(KEY, JSON.stringify({ path, at: Date.now() }))
  } catch {} // a browser that keeps nothing: they land on their projects
}

/** That page, once; undefined when there is none, or it was long ago. */
export function takePlace(): string | undefined {
  try {
    const { path, at } = JSON.parse(localStorage.getItem(KEY) ?? '{}') as { path?: string; at?: number }
    localStorage.removeItem(KEY)
    return path && OWN.test(path) && Date.now() - (at ?? 0) < KEPT_MS ? path : undefined
  } catch {
    return undefined
  }
}
