/** A look that comes so much too late follows a standstill: of the process, or of all of its machine, whose network has to come back first. */
const STANDSTILL_MS = 1_000

/**
 * Calls `look` about every `ms`, each time when what had come by `nowMs` is read, which is done after timers: no deadline is judged without it. The first look behind
 * a standstill is left out (docs/decisions/0104).
 */
export function startLooks(ms: number, look: (nowMs: number) => void) {
  let dueMs = performance.now() + ms
  let wasLeftOut = false
  let next: NodeJS.Immediate | undefined
  const timer = setInterval(() => {
    const nowMs = performance.now()
    wasLeftOut = !wasLeftOut && nowMs - dueMs >= STANDSTILL_MS
    dueMs = nowMs + ms
    if (!wasLeftOut) next = setImmediate(look, nowMs)
  }, ms)
  timer.unref()

  return {
    stop() {
      clearInterval(timer)
      clearImmediate(next)
    },
  }
}
