// Names under which registries sell domains two labels deep (co.uk, com.au): enough to guess a zone before the API has named it.
const SECOND_LEVELS = new Set(['ac', 'co', 'com', 'edu', 'gob', 'gov', 'ne', 'net', 'or', 'org'])

/** `*.customer.com` stands for every name with one label in the place of the star. */
export function isWildcard(hostname: string): boolean {
  return hostname.startsWith('*.')
}

export function withoutStar(hostname: string): string {
  return hostname.replace(/^\*\./, '')
}

/** People paste what stands in their browser: the hostname of an address is what they mean. */
export function hostnameIn(typed: string): string {
  const trimmed = typed.trim()
  return /^https?:\/\//i.test(trimmed) ? trimmed.replace(/^https?:\/\//i, '').replace(/[/?#].*$/s, '') : trimmed
}

/** What a search among hostnames looks for. */
export function searchedFor(typed: string): string {
  return hostnameIn(typed.toLowerCase().normalize('NFKC')).replace(/[:/].*$/s, '')
}

/** What a DNS provider's form calls the record's name ("@" for the domain itself), and the domain in whose DNS it belongs. */
export type RecordPlace = { label: string; zone: string }

/** A known `zone` is believed; without one the registered domain is guessed, which is right for nearly all names. */
export function placeOf(name: string, zone?: string | null): RecordPlace {
  const known = zone && (name === zone || name.endsWith(`.${zone}`)) ? zone : guessZone(name)
  return { label: name === known ? '@' : name.slice(0, -known.length - 1), zone: known }
}

function guessZone(name: string): string {
  const labels = name.replace(/^(\*|_[^.]+)\./, '').split('.')
  const isTwoDeep = labels.length > 2 && labels.at(-1)!.length === 2 && SECOND_LEVELS.has(labels.at(-2)!)
  return labels.slice(isTwoDeep ? -3 : -2).join('.')
}
