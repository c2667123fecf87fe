import { randomBytes } from 'node:crypto'

const NAME_BYTES_MAX = 253
const LABEL_BYTES = 20

/**
 * A name directly under a domain which nobody can have set records for, another one each time, so no resolver remembers it: it leads where a wildcard
 * record leads.
 */
export function sampleUnder(domain: string): string {
  const label = randomBytes(LABEL_BYTES / 2).toString('hex')
  return `${label.slice(0, Math.max(1, NAME_BYTES_MAX - 1 - domain.length))}.${domain}`
}
