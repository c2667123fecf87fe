import { Members } from '../lib/members.ts'

/** How soon after a hostname was removed or moved what goes on without end is over. */
const LOOKED_AFTER_EVERY_MS = 500
/** Then others have their turn: thousands at once would keep every visitor waiting for milliseconds, twice a second. */
const LOOKED_AFTER_AT_ONCE = 200 // some 0.3 ms

/** `isServed`: whether its hostname still leads to the same project. */
export type Endless = { isServed(): Promise<boolean>; end(): void }

/** Looks after what may go on for ever, as tunnels, event streams and calls of gRPC do: it ends when its hostname is no longer served. */
export function createEndlessWatch() {
  const watched = new Members<Endless>()

  let isLooking = false // it may have to wait for somebody who knows

  const lookAfter = async () => {
    if (isLooking) return
    isLooking = true
    try {
      for (const [i, each] of watched.all().entries()) {
        if (i % LOOKED_AFTER_AT_ONCE === LOOKED_AFTER_AT_ONCE - 1) await new Promise((resolve) => setImmediate(resolve))
        const isServed = await each.isServed().catch(() => true)
        if (!isServed) each.end()
      }
    } finally {
      isLooking = false
    }
  }
  const timer = setInterval(() => void lookAfter(), LOOKED_AFTER_EVERY_MS)
  timer.unref()

  return {
    /** Until what it returns is called. */
    watch(each: Endless): () => void {
      const place = watched.add(each)
      return () => watched.delete(place)
    },
    destroy: () => clearInterval(timer),
  }
}
