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
  return tellOf(sample, await lookup.examine(sample, budget, 'sample'))
}

const LABEL_CHARS_MIN = 8 // a long domain leaves room for less, which other names may begin with too

/** A finding is plain data, and the sample occurs in it as a name alone, with the zone behind it, or where a DNAME record leads it. */
function tellOf(sample: string, finding: Finding): Finding {
  const label = sample.slice(0, sample.indexOf('.') + 1)
  const start = label.length > LABEL_CHARS_MIN ? label : sample
  return JSON.parse(JSON.stringify(finding), (_key, value) =>
    typeof value === 'string' && value.toLowerCase().startsWith(start) ? `*.${value.slice(label.length)}` : value,
  ) as Finding
}
