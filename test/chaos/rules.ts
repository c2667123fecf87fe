import type { ClaimsCheck } from './claims.ts'
import type { Convergence } from './convergence.ts'
import type { EdgeName } from './machines.ts'
import type { Miss, Tally } from './tally.ts'

/** What a fault may do to visitors: nothing; or fail what is under way at an edge while that edge itself is hit. */
export type Rule = { mayFail: 'nothing' | 'at the edge that is hit'; convergedWithinMs: number }

const CONVERGED_WITHIN_MS = 5_000

/** The rules by name. Wrong answers and lost acknowledged writes are allowed by none. */
export const RULES = {
  unnoticed: { mayFail: 'nothing', convergedWithinMs: CONVERGED_WITHIN_MS },
  edgeHit: { mayFail: 'at the edge that is hit', convergedWithinMs: CONVERGED_WITHIN_MS },
} as const satisfies Record<string, Rule>

/** The time in which an edge itself was hit; by performance.now(). */
export type Hit = { edge: EdgeName; from: number; until: number }

export type Findings = { tally: Tally; hits: readonly Hit[]; claims: ClaimsCheck; convergence: Convergence }

/** Failures that no rule excuses. */
export function unexcused(rule: Rule, { tally, hits }: Pick<Findings, 'tally' | 'hits'>): Miss[] {
  if (rule.mayFail === 'nothing') return tally.failed
  const isExcused = (miss: Miss) =>
    hits.some(({ edge, from, until }) => edge === miss.edge && miss.startedAt < until && miss.endedAt > from)
  return tally.failed.filter((miss) => !isExcused(miss))
}

/** A sentence for each rule that was broken; none when all held. */
export function brokenRules(rule: Rule, findings: Findings): string[] {
  const { tally, claims, convergence } = findings
  const failed = unexcused(rule, findings)
  const broken: string[] = []
  if (tally.wrong.length > 0) broken.push(`${tally.wrong.length} wrong answers: ${examples(tally.wrong)}`)
  if (failed.length > 0) broken.push(`${failed.length} failed requests: ${examples(failed)}`)
  if (claims.missing.length > 0) broken.push(`${claims.missing.length} acknowledged writes lost: ${claims.missing.slice(0, 3).join(', ')}`)
  if (tally.requests === 0) broken.push('there was no load')
  if (convergence.kind === 'failed') broken.push(`not converged: ${convergence.sentence}`)
  else if (convergence.afterMs > rule.convergedWithinMs)
    broken.push(`converged after ${(convergence.afterMs / 1_000).toFixed(1)} s: ${convergence.sentence}`)
  return broken
}

const EXAMPLES_MAX = 3

/** Each kind of failure once, most frequent first. */
function examples(misses: readonly Miss[]): string {
  const kinds = Map.groupBy(misses, ({ edge, kind, sentence }) => `${edge}, ${kind}: ${sentence}`)
  const sorted = [...kinds].sort(([, a], [, b]) => b.length - a.length)
  return sorted
    .slice(0, EXAMPLES_MAX)
    .map(([sentence, all]) => `${all.length} × ${sentence}`)
    .join('; ')
}
