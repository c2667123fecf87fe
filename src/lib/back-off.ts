/** Milliseconds to wait after the nth failure in a row (1 = the first): doubling, bounded, with up to a fifth taken off at random. */
export function backOffMs(failures: number, bounds: { firstMs: number; maxMs: number }): number {
  const full = Math.min(bounds.maxMs, bounds.firstMs * 2 ** Math.min(30, Math.max(0, failures - 1)))
  return Math.round(full * (1 - Math.random() / 5))
}

/** Resolves after `ms`, or at once when the signal is aborted; never rejects. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve()
    const end = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    signal?.addEventListener('abort', end, { once: true })
  })
}
