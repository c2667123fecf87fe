import { Shares } from '../lib/shares.ts'

/** Who has how many of the places for jobs that run at the same time. */
export type PlaceShares = {
  /** Who may take no further place now. */
  full(): string[]
  /** Runs `work` in a place that counts for `holder`, if it is anybody's. */
  hold(holder: string | undefined, work: () => Promise<void>): Promise<void>
}

const HELD_PER_FREE = 4
const NOBODY = ''

/**
 * Shares places so that some always stay free for whoever comes next. A holder may take a further one while it has less than four times as many as are
 * free: alone it has four fifths of them, two have nine of twenty each, and so on (dynamic thresholds: Choudhury and Hahne, "Dynamic queue length
 * thresholds for shared-memory packet switches", IEEE/ACM Transactions on Networking 6(2), 1998).
 */
export function sharePlaces(places: number): PlaceShares {
  const held = new Shares() // the queue gives the places out
  return {
    full: () => held.ownersWith(HELD_PER_FREE * (places - held.count)).filter((owner) => owner !== NOBODY),
    async hold(holder = NOBODY, work) {
      held.enter(holder)
      try {
        await work()
      } finally {
        held.leave(holder)
      }
    },
  }
}
