/** What one look-up may spend: time, and queries, so that no zone, however strange, holds a probe for long. */
export type Budget = { readonly endsAt: number; queriesLeft: number }

const LOOKUP_TIMEOUT_MS = 8_000
const LOOKUP_QUERIES_MAX = 64
const ASIDE_TIMEOUT_MS = 1_500
const ASIDE_QUERIES_MAX = 3

export function openBudget(): Budget {
  return { endsAt: performance.now() + LOOKUP_TIMEOUT_MS, queriesLeft: LOOKUP_QUERIES_MAX }
}

/** For one question about ourselves beside a look-up, which must not cost what the customer's zone may spend, nor depend on what it has left. */
export function openBudgetAside(): Budget {
  return { endsAt: performance.now() + ASIDE_TIMEOUT_MS, queriesLeft: ASIDE_QUERIES_MAX }
}

/** Takes one query out of the budget; false when none is left, or no time. */
export function spend(budget: Budget): boolean {
  if (budget.queriesLeft <= 0 || performance.now() >= budget.endsAt) return false
  budget.queriesLeft--
  return true
}
