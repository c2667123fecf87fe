/**
 * What one look-up may spend: time, and queries, so that no zone, however strange, holds a probe for long. `owner`: the project that it is for, where that
 * is known.
 */
export type Budget = { readonly endsAt: number; queriesLeft: number; readonly owner: string; readonly turns: Turns }

/** The questions of a look-up that have a place, and those that wait until one of them has ended. `wereTurnedAway`: there was no place for it at all. */
type Turns = { underWay: number; line: (() => void)[]; haveWaited: boolean; wereMissed: boolean; wereTurnedAway: boolean }

const LOOKUP_TIMEOUT_MS = 8_000
const LOOKUP_QUERIES_MAX = 64
const ASIDE_TIMEOUT_MS = 1_500
const ASIDE_QUERIES_MAX = 3

export function openBudget(owner = ''): Budget {
  return { endsAt: performance.now() + LOOKUP_TIMEOUT_MS, queriesLeft: LOOKUP_QUERIES_MAX, owner, turns: noTurns() }
}

/** For one question about ourselves beside a look-up, which must not cost what the customer's zone may spend, nor depend on what it has left. */
export function openBudgetAside(): Budget {
  return { endsAt: performance.now() + ASIDE_TIMEOUT_MS, queriesLeft: ASIDE_QUERIES_MAX, owner: '', turns: noTurns() }
}

function noTurns(): Turns {
  return { underWay: 0, line: [], haveWaited: false, wereMissed: false, wereTurnedAway: false }
}

/** Takes one query out of the budget; false when none is left, or no time. */
export function spend(budget: Budget): boolean {
  if (budget.queriesLeft <= 0 || performance.now() >= budget.endsAt) return false
  budget.queriesLeft--
  return true
}

/** Whether something was not heard for want of places: a question had none, or the time ran out after one that had to wait. That is no silence of servers. */
export function wasKeptWaiting({ endsAt, turns }: Budget): boolean {
  return turns.wereMissed || turns.wereTurnedAway || (turns.haveWaited && performance.now() >= endsAt)
}
