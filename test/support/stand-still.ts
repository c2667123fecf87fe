/**
 * This process stands still, as if it had been stopped and continued: what comes meanwhile lies unread, as does what `others` send just before, and no timer fires.
 * Resolves before those that are due by then do.
 */
export async function standStill(ms: number, others = () => {}): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve)) // timers come next
  others()
  await new Promise<void>((resolve) => process.nextTick(resolve)) // it has been written
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}
