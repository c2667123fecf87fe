import { type Hostname, isWildcard, withoutStar } from '../hostname.ts'
import type { Budget } from './budget.ts'
import type { Finding, Lookup } from './lookup.ts'
import { sampleUnder } from './sample.ts'

/**
 * Looks up what a claim stands for. Of a wildcard that is a sample under it. What is found is told of the wildcard.
 */
export async function examineClaim(lookup: Lookup, hostname: Hostname, budget: Budget): Promise<Finding> {
  if (!isWildcard(hostname)) return lookup.examine(hostname, budget)
  const sample = sampleUnder(withoutStar(hostname))
  return tellOf(hostname, sample, await lookup.examine(sample, budget, 'sample'))
}

/** A finding is plain data, and the sample occurs in it as a name alone or with the zone behind it. */
function tellOf(hostname: Hostname, sample: string, finding: Finding): Finding {
  return JSON.parse(JSON.stringify(finding), (_key, value) =>
    typeof value === 'string' && value.toLowerCase().startsWith(sample) ? `${hostname}${value.slice(sample.length)}` : value,
  ) as Finding
}
