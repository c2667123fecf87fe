import { randomBytes } from 'node:crypto'
import { type Hostname, isWildcard, withoutStar } from '../hostname.ts'
import type { Budget } from './budget.ts'
import type { Finding, Lookup } from './lookup.ts'

const NAME_BYTES_MAX = 253
const LABEL_BYTES = 20

/**
 * Looks up what a claim stands for. Of a wildcard that is a name under it which nobody can have set records for, asked once and never again,
 * so no resolver remembers it: it leads where the zone's wildcard record leads. What is found is told of the wildcard.
 */
export async function examineClaim(lookup: Lookup, hostname: Hostname, budget: Budget): Promise<Finding> {
  if (!isWildcard(hostname)) return lookup.examine(hostname, budget)
  const domain = withoutStar(hostname)
  const label = randomBytes(LABEL_BYTES / 2).toString('hex')
  const sample = `${label.slice(0, Math.max(1, NAME_BYTES_MAX - 1 - domain.length))}.${domain}`
  return tellOf(hostname, sample, await lookup.examine(sample, budget))
}

/** A finding is plain data, and the sample occurs in it as a name alone or with the zone behind it. */
function tellOf(hostname: Hostname, sample: string, finding: Finding): Finding {
  return JSON.parse(JSON.stringify(finding), (_key, value) =>
    typeof value === 'string' && value.toLowerCase().startsWith(sample) ? `${hostname}${value.slice(sample.length)}` : value,
  ) as Finding
}
