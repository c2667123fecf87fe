const TRIES = 3

/** Milliseconds that the quickest of a few runs takes: what grows with the square of its input is hundreds of times dearer than what does not, whatever the machine does beside. */
export function milliseconds(run: () => void): number {
  let best = Number.POSITIVE_INFINITY
  for (let i = 0; i < TRIES; i += 1) {
    const from = performance.now()
    run()
    best = Math.min(best, performance.now() - from)
  }
  return best
}
