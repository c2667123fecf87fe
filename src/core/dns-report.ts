/** What a look at a hostname's DNS can come to. */
export const DNS_STATES = [
  'verified',
  'absent',
  'wrong-target',
  'wrong-case',
  'typo-in-target',
  'doubled-host',
  'missing-final-dot',
  'value-in-txt',
  'proxied',
  'apex-not-pointing',
  'mixed-addresses',
  'stale-aaaa',
  'target-is-portal',
  'loop',
  'lame-delegation',
  'servers-disagree',
  'dnssec-bogus',
  'edge-host-broken',
  'cname-target-broken',
  'proof-needed',
  'unknown',
] as const

export type DnsState = (typeof DNS_STATES)[number]

export type DnsRecord = { name: string; type: 'CNAME' | 'DNAME' | 'ALIAS' | 'A' | 'AAAA' | 'TXT'; value: string }

/** How the alias stands by which a hostname's DNS-01 challenges are delegated to us: `name` CNAME `value`. */
export type DelegationReport = { name: string; value: string; state: DelegationState; sentence: string }

export const DELEGATION_STATES = ['present', 'absent', 'elsewhere', 'unknown'] as const

export type DelegationState = (typeof DELEGATION_STATES)[number]

/** What one look at a hostname's DNS found; `sentence` is for its owner. Stored as it comes, shown as it is. */
export type DnsReport = {
  state: DnsState
  sentence: string
  expected: DnsRecord[]
  found: DnsRecord[]
  warnings: { kind: 'caa-forbids' | 'aaaa-elsewhere' | 'cname-at-apex'; sentence: string }[]
  checkedAt: string
  delegation?: DelegationReport
  zone?: string | null
  nameServers?: string[]
  /** Nothing was found out for want of room here, which says nothing of the hostname. */
  turnedAway?: true
  evidence?: object
}
