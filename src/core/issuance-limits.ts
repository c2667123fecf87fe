import { parse } from 'tldts'
import { type Hostname, withoutStar } from '../hostname.ts'

/**
 * What a limit counts: the orders of the `account`; the certificates of a registered `domain` with everything below it; the certificates
 * for exactly the same `names`; the `failures` to validate one hostname.
 */
export type LimitScope = 'account' | 'domain' | 'names' | 'failures'

/** So many within the last `windowS` seconds. */
export type IssuanceLimit = { readonly scope: LimitScope; readonly max: number; readonly windowS: number }

const HOUR_S = 3_600
const WEEK_S = 7 * 24 * HOUR_S

/** How long an order can count against any limit. */
export const LONGEST_WINDOW_S = WEEK_S

// https://letsencrypt.org/docs/rate-limits/
const LETS_ENCRYPT = limits({ account: 300, domain: 50, names: 5, failures: 5 })

// By the directory's host. https://letsencrypt.org/docs/staging-environment/#rate-limits
const OF_HOST: ReadonlyMap<string, readonly IssuanceLimit[]> = new Map([
  ['acme-v02.api.letsencrypt.org', LETS_ENCRYPT],
  ['acme-staging-v02.api.letsencrypt.org', limits({ account: 1_500, domain: 30_000, names: 30_000, failures: 200 })],
])

const RENEWALS_SHARE = 1 / 5

/**
 * What the directory allows: its own limits where they are known, else those of Let's Encrypt. None for `local` and for a directory on
 * this machine, which is a test's.
 */
export function limitsOf(directory: string): readonly IssuanceLimit[] {
  if (directory === 'local') return []
  const { hostname } = new URL(directory)
  if (/^(127\.[\d.]+|\[::1\]|localhost|.+\.localhost)$/.test(hostname)) return []
  return OF_HOST.get(hostname) ?? LETS_ENCRYPT
}

/** How many of a limit new certificates may use: a fifth is kept for renewals. Failures know no such reserve. */
export function roomForNew({ scope, max }: IssuanceLimit): number {
  return scope === 'failures' ? max : max - Math.floor(max * RENEWALS_SHARE)
}

/**
 * The domain that its owner registered, below which the directories count everything together: by the Public Suffix List with its private
 * section, so `a.github.io` and `b.github.io` are two. A name that is itself a public suffix counts alone.
 */
export function registeredDomainOf(hostname: Hostname): string {
  return parse(withoutStar(hostname), { allowPrivateDomains: true }).domain ?? withoutStar(hostname)
}

function limits(max: Record<LimitScope, number>): readonly IssuanceLimit[] {
  return [
    { scope: 'account', max: max.account, windowS: 3 * HOUR_S },
    { scope: 'domain', max: max.domain, windowS: WEEK_S },
    { scope: 'names', max: max.names, windowS: WEEK_S },
    { scope: 'failures', max: max.failures, windowS: HOUR_S },
  ]
}
