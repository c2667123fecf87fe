/** Of the time that a drain has, the part at its end in which those without an end of their own are ended; no longer than this. */
const SPREAD_SHARE = 1 / 3
const SPREAD_MS_MAX = 10_000
const STEPS = 100

/** `all`: who is still there. */
export type SpreadParts<Member> = { all(): Member[]; end(member: Member): void }

/**
 * Ends what would else be ended in one moment, when `withinMs` are over, in even shares before: visitors whose WebSocket or event stream ends come back
 * at once, each with a handshake, and thousands in one millisecond wait for each other. Who leaves by itself counts for its share. The last one is left
 * to the end of the time. The function returned ends the spreading.
 */
export function spreadEnds<Member>(withinMs: number, { all, end }: SpreadParts<Member>): () => void {
  const spreadMs = Math.min(SPREAD_MS_MAX, withinMs * SPREAD_SHARE)
  const beginsAt = performance.now() + withinMs - spreadMs
  let atFirst: number | undefined

  const endShare = () => {
    const passed = (performance.now() - beginsAt) / spreadMs
    if (passed < 0) return
    const left = all()
    atFirst ??= left.length
    const due = Math.floor(atFirst * Math.min(1, passed)) - (atFirst - left.length)
    for (const member of left.slice(0, Math.max(0, due))) end(member)
  }
  const timer = setInterval(endShare, spreadMs / STEPS)
  timer.unref()
  return () => clearInterval(timer)
}
