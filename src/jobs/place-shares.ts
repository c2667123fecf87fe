/** Who has how many of the places for jobs that run at the same time. */
export type PlaceShares = {
  /** Who may take no further place now. */
  full(): string[]
  /** Runs `work` in a place of each of `holders`. */
  hold(holders: readonly string[], work: () => Promise<void>): Promise<void>
}

const HELD_PER_FREE = 4

/**
 * Shares places so that some always stay free for whoever comes next. A holder may take a further one while it has less than four times as many as are
 * free: alone it has four fifths of them, two have nine of twenty each, and so on (dynamic thresholds: Choudhury and Hahne, "Dynamic queue length
 * thresholds for shared-memory packet switches", IEEE/ACM Transactions on Networking 6(2), 1998).
 */
export function sharePlaces(places: number): PlaceShares {
  const held = new Map<string, number>()
  let taken = 0
  const add = (holders: readonly string[], change: 1 | -1) => {
    taken += change
    for (const holder of holders) {
      const now = (held.get(holder) ?? 0) + change
      if (now === 0) held.delete(holder)
      else held.set(holder, now)
    }
  }
  return {
    full: () => [...held].filter(([, count]) => count >= HELD_PER_FREE * (places - taken)).map(([holder]) => holder),
    async hold(holders, work) {
      add(holders, 1)
      try {
        await work()
      } finally {
        add(holders, -1)
      }
    },
  }
}
