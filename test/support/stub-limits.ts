import { getDomain } from 'tldts'

const HOUR_MS = 3_600_000
const WEEK_MS = 168 * HOUR_MS

/** How much the stub allows; what is absent has no limit. A public authority's figures: 50, 5, 300 and 5. */
export type StubLimits = {
  /** Orders for one registered domain (Public Suffix List) in 7 days. */
  ordersPerRegisteredDomain?: number
  /** Orders for one exact set of names in 7 days. */
  ordersPerNames?: number
  /** Orders of one account in 3 hours. */
  ordersPerAccount?: number
  /** Failed validations of one hostname in an hour. */
  failuresPerHostname?: number
}

export type StubRefusal = { detail: string; retryAfterS: number }

/** Rolling counters of the stub's own, so that a client's book-keeping is checked against somebody else's. */
export function createStubCounters(limits: StubLimits, now: () => Date) {
  const taken = new Map<string, number[]>()
  const recent = (key: string, windowMs: number) => {
    const fresh = (taken.get(key) ?? []).filter((atMs) => atMs > now().getTime() - windowMs)
    taken.set(key, fresh)
    return fresh
  }
  const full = (key: string, windowMs: number, max: number | undefined): StubRefusal | undefined => {
    const uses = recent(key, windowMs)
    if (max === undefined || uses.length < max) return undefined
    const freeAtMs = uses[uses.length - max]! + windowMs
    return { detail: `too many (${max}): ${key}`, retryAfterS: Math.max(1, Math.ceil((freeAtMs - now().getTime()) / 1_000)) }
  }
  const take = (key: string) => taken.set(key, [...(taken.get(key) ?? []), now().getTime()])
  const orderKeys = (account: string, names: readonly string[]): [string, number, number | undefined][] => [
    [`orders of ${account}`, 3 * HOUR_MS, limits.ordersPerAccount],
    [`orders for exactly ${[...names].sort().join(',')}`, WEEK_MS, limits.ordersPerNames],
    ...[...new Set(names.map((name) => getDomain(name, { allowPrivateDomains: true }) ?? name))].map(
      (domain): [string, number, number | undefined] => [`orders under ${domain}`, WEEK_MS, limits.ordersPerRegisteredDomain],
    ),
  ]
  return {
    /** Counts the order, or says which limit it would exceed and counts nothing. */
    order(account: string, names: readonly string[]): StubRefusal | undefined {
      const keys = orderKeys(account, names)
      const failures = names.map((name) => full(`failed validations of ${name}`, HOUR_MS, limits.failuresPerHostname))
      const refused = [...failures, ...keys.map(([key, windowMs, max]) => full(key, windowMs, max))].find(Boolean)
      if (!refused) for (const [key] of keys) take(key)
      return refused
    },
    failedValidation: (hostname: string) => void take(`failed validations of ${hostname}`),
  }
}
