const EVERY_MS = 60_000

/** For what strangers can bring about at any rate: it is said once a minute at most, with how often it has happened since it was said last. */
export function createSeldom(now: () => number = () => performance.now()): (say: (times: number) => void) => void {
  let saidAtMs = Number.NEGATIVE_INFINITY
  let times = 0
  return (say) => {
    times += 1
    if (now() - saidAtMs < EVERY_MS) return
    saidAtMs = now()
    say(times)
    times = 0
  }
}
