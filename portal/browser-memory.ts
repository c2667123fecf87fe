// Some browsers keep nothing, and throw: then nothing is recalled.

/** Keeps the value for the pages that come later in this browser. */
export function keep(key: string, value: string): void {
  try {
    localStorage.setItem(key, JSON.stringify({ value, at: Date.now() }))
  } catch {}
}

/** What was kept, unless it was longer ago. */
export function recall(key: string, withinMs: number): string | undefined {
  try {
    const { value, at = 0 } = JSON.parse(localStorage.getItem(key) ?? '{}') as { value?: string; at?: number }
    return Date.now() - at < withinMs ? value : undefined
  } catch {
    return undefined
  }
}

export function forget(key: string): void {
  try {
    localStorage.removeItem(key)
  } catch {}
}
