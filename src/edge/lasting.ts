import { Members, type Place } from '../lib/members.ts'

/** So often, and from this age on: what lasts is over a second after its hostname was removed or moved, and what is short costs no look. */
const LOOKED_AT_EVERY_MS = 500
/** Then others have their turn: thousands at once would keep every visitor waiting for milliseconds, twice a second. */
const LOOKED_AT_ONCE = 200 // some 0.1 ms

export type LastingParts<Visit> = {
  /** Whether its hostname may lead elsewhere than when it was last looked at. */
  isInDoubt(visit: Visit): boolean
  /** Whether it still leads to the same project, as far as anybody can say. */
  isServed(visit: Visit): Promise<boolean>
  cut(visit: Visit): void
}

/** All open visits, of which those that last are looked after: each is cut when its hostname is no longer served, or is another project's. */
export function createLastingWatch<Visit extends { readonly startedAt: number }>({ isInDoubt, isServed, cut }: LastingParts<Visit>) {
  const open = new Members<Visit>()
  let isLooking = false

  const lookAt = async (visit: Visit) => {
    if (!(await isServed(visit))) cut(visit)
  }
  const lookAtAll = async () => {
    if (isLooking) return
    isLooking = true
    const startedBy = performance.now() - LOOKED_AT_EVERY_MS
    const inDoubt = open.all().filter((visit) => visit.startedAt <= startedBy && isInDoubt(visit))
    for (const [i, visit] of inDoubt.entries()) {
      if (i % LOOKED_AT_ONCE === LOOKED_AT_ONCE - 1) await new Promise((resolve) => setImmediate(resolve))
      lookAt(visit).catch(() => {}) // not awaited: whose answer has to come from somebody holds up no other
    }
    isLooking = false
  }
  const timer = setInterval(() => void lookAtAll(), LOOKED_AT_EVERY_MS)
  timer.unref()

  return {
    add: (visit: Visit): Place<Visit> => open.add(visit),
    delete: (place: Place<Visit>) => open.delete(place),
    count: () => open.size,
    all: () => open.all(),
    destroy: () => clearInterval(timer),
  }
}
