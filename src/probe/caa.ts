import type { ResourceRecord } from '../lib/dns-message.ts'
import type { Budget } from './budget.ts'
import { parentOf } from './place.ts'
import type { Resolver } from './resolver.ts'

/** `at` is the name that holds the records, `allowed` the authorities that they name. */
export type CaaFinding = { kind: 'allows' } | { kind: 'forbids'; at: string; allowed: string[] } | { kind: 'unknown' }

const TAGS_WITHOUT_EFFECT = ['issuewild', 'iodef', 'contactemail', 'contactphone', 'issuemail', 'issuevmc']

/**
 * Finds the CAA records that count for a hostname, climbing from it to the top-level domain (RFC 8659 §3), and says whether
 * one of our issuers may issue. A hostname that does not exist is climbed over.
 */
export async function findCaa(
  resolver: Resolver,
  hostname: string,
  exists: boolean,
  issuers: readonly string[],
  budget: Budget,
): Promise<CaaFinding> {
  for (let name = exists ? hostname : parentOf(hostname); name !== ''; name = parentOf(name)) {
    const asking = { name, type: 'CAA' } as const
    const reply = await (name === hostname ? resolver.resolve(asking, budget) : resolver.resolveCached(asking, budget))
    if (reply.kind !== 'answer') return { kind: 'unknown' }
    const records = reply.message.answers.filter((record) => record.type === 'CAA')
    if (records.length > 0) return judgeCaa(records, issuers)
  }
  return { kind: 'allows' }
}

/** Judges one CAA record set for a certificate without wildcards (RFC 8659 §4): one of `issuers` must be named, unless nobody is. */
export function judgeCaa(records: readonly ResourceRecord[], issuers: readonly string[]): CaaFinding {
  const issue = records.filter((record) => record.caa?.tag === 'issue')
  const allowed = issue.map((record) => (record.value.split(';')[0] ?? '').trim().toLowerCase())
  const notUnderstood = records.some(
    (record) => record.caa?.critical && record.caa.tag !== 'issue' && !TAGS_WITHOUT_EFFECT.includes(record.caa.tag),
  )
  const permitted = issue.length === 0 || allowed.some((name) => issuers.includes(name))
  if (permitted && !notUnderstood) return { kind: 'allows' }
  return { kind: 'forbids', at: records[0]!.name.toLowerCase(), allowed: allowed.filter((name) => name !== '') }
}
