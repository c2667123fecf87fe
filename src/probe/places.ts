import { Shares } from '../lib/shares.ts'
import type { Budget } from './budget.ts'

export type Places = {
  /**
   * Asks a question of a look-up in a place. A look-up has one of its own at once, whatever others ask; those beside it are common to all, and where they are
   * taken, its questions take turns. Undefined where none came free before the look-up's end, which `wasKeptWaiting` then says of its budget.
   */
  inPlace<T>(budget: Budget, ask: () => Promise<T>): Promise<T | undefined>
}

const LOOKUPS_MAX = 4_000
/** By project: zones whose name servers cannot be found ask for eight names at a time, and are given no answer for seconds. */
const BESIDE = { max: 1_000, perOwnerMax: 250 }
export const PLACES_MAX = LOOKUPS_MAX + BESIDE.max

export function createPlaces(): Places {
  const beside = new Shares(BESIDE)
  let lookups = 0

  function enter({ owner, turns }: Budget): boolean {
    const isFirst = turns.underWay === 0
    if (isFirst ? lookups >= LOOKUPS_MAX : !beside.enter(owner)) return false
    if (isFirst) lookups++
    turns.underWay++
    return true
  }

  function leave({ owner, turns }: Budget): void {
    const next = turns.line.shift()
    if (next) {
      next() // the place passes on, so the counts stay
      return
    }
    turns.underWay--
    if (turns.underWay > 0) beside.leave(owner)
    else lookups--
  }

  return {
    async inPlace(budget, ask) {
      const { turns } = budget
      if (!enter(budget)) {
        // A place comes from a question of the same look-up that has ended.
        if (turns.underWay === 0) {
          turns.wereTurnedAway = true
          return undefined
        }
        turns.haveWaited = true
        if (!(await waitForTurn(budget))) {
          turns.wereMissed = true
          return undefined
        }
      }
      try {
        return await ask()
      } finally {
        leave(budget)
      }
    },
  }
}

/** False when the look-up's time is over first. */
function waitForTurn({ endsAt, turns: { line } }: Budget): Promise<boolean> {
  return new Promise((resolve) => {
    const begin = () => {
      clearTimeout(timer)
      resolve(true)
    }
    const giveUp = () => {
      line.splice(line.indexOf(begin), 1)
      resolve(false)
    }
    const timer = setTimeout(giveUp, Math.max(0, endsAt - performance.now()))
    line.push(begin)
  })
}
