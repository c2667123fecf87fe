/**
 * Whole milliseconds since 1970 as this machine had them when the process began, and from there by the monotonic clock: a jump of the machine's
 * clock does not show in it. For durations and ages within a process.
 */
export function steadyNowMs(): number {
  return Math.round(performance.timeOrigin + performance.now())
}
