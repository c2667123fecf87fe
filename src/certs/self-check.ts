import type { Hostname } from '../hostname.ts'

/** How many addresses of one hostname are looked at. */
export const ADDRESSES_MAX = 8
export const LOOK_TIMEOUT_MS = 3_000

/** Whether a challenge for a hostname would be met by us. A sentence says what was found where it would not, or may not. */
export type SelfCheck = { kind: 'ours' } | { kind: 'cannot-connect'; sentence: string } | { kind: 'answered-by-other'; sentence: string }

/** What one address answered. `sentence` names the place and what is wrong there, without a final full stop. */
export type Look = { kind: 'ours' } | { kind: 'other'; sentence: string } | { kind: 'no-connection'; sentence: string }

/** Any address that somebody else answers decides, since an authority may choose that one; else any that is ours. `advice` goes with the former. */
export function judgeLooks(looks: readonly Look[], hostname: Hostname, advice: string): SelfCheck {
  const other = looks.find((look) => look.kind === 'other')
  if (other) return { kind: 'answered-by-other', sentence: `${other.sentence}. ${advice}` }
  if (looks.some(({ kind }) => kind === 'ours')) return { kind: 'ours' }
  const reasons = looks.flatMap((look) => (look.kind === 'no-connection' ? [look.sentence] : []))
  return { kind: 'cannot-connect', sentence: `No connection to ${reasons.join('; ') || `${hostname}: it has no address`}.` }
}
