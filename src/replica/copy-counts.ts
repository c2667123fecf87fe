/** How many rows the copy holds of each kind. */
export type CopyCounts = { routes: number; certificates: number }

const RECOUNT_MS_MIN = 5_000
const SHARE_OF_TIME = 1 / 1_000

/**
 * Counts again no sooner than every five seconds, and so seldom that it takes a thousandth of the time: a million rows some 0.1 s, so each two minutes.
 * A copy that cannot be read leaves the last figures.
 */
export function createCopyCounts(count: () => CopyCounts | undefined): () => CopyCounts {
  let known: CopyCounts = { routes: 0, certificates: 0 }
  let dueAt = 0
  return () => {
    const begun = performance.now()
    if (begun < dueAt) return known
    try {
      known = count() ?? known
    } catch {
      // Whoever reads or writes it says what is wrong with it.
    }
    dueAt = performance.now() + Math.max(RECOUNT_MS_MIN, (performance.now() - begun) / SHARE_OF_TIME)
    return known
  }
}
