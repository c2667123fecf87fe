import { getDomain, getPublicSuffix } from 'tldts'

/** With the list's private section: who owns br.com is a registry, and who owns is-a.dev keeps records of others. The DNS alone tells which it is. */
const WITH_PRIVATE = { allowPrivateDomains: true }

/** Where a record is entered: `label` is what a DNS provider's form calls the name ("@" for the zone itself), `zone` the domain it belongs to. */
export type Place = { label: string; zone: string }

/** A known `zone` is believed, else the registered domain counts as the zone. */
export function placeOf(name: string, zone?: string): Place {
  const domain = zone !== undefined && isWithin(zone, name) && !isPublicSuffix(zone) ? zone : registeredDomain(name)
  return { label: name === domain ? '@' : name.slice(0, -domain.length - 1), zone: domain }
}

/** The part of a name that is registered with a registry (Public Suffix List), or the name itself when it has no such part. */
export function registeredDomain(name: string): string {
  const known = unstarred(name)
  return getDomain(known) ?? known
}

/** Whether a zone was registered with a registry, or with the owner of a domain such as br.com who acts as one. */
export function isRegistered(zone: string): boolean {
  return registeredDomain(zone) === zone || getDomain(zone, WITH_PRIVATE) === zone
}

/** The domain of its own that a name could be in, were it registered: where its zone is one like br.com. */
export function domainBelow(name: string, zone: string | undefined): string | undefined {
  const isShared = zone !== undefined && !isPublicSuffix(zone) && getPublicSuffix(zone, WITH_PRIVATE) === zone
  return isShared ? (getDomain(unstarred(name), WITH_PRIVATE) ?? undefined) : undefined
}

/** Whether registries register names directly below this one, as below com and co.uk. The root, '', is one: top-level domains are registered there. */
export function isPublicSuffix(name: string): boolean {
  return name === '' || getPublicSuffix(name) === name
}

/** Whether `name` is `zone` or below it. */
export function isWithin(zone: string, name: string): boolean {
  return name === zone || name.endsWith(`.${zone}`)
}

/** Whether two names are in one registered domain. */
export function inOneDomain(one: string, other: string): boolean {
  return registeredDomain(one) === registeredDomain(other)
}

function unstarred(name: string): string {
  return name.startsWith('*.') ? name.slice(2) : name
}

/** The name without its first label; empty above a top-level domain. */
export function parentOf(name: string): string {
  const dot = name.indexOf('.')
  return dot === -1 ? '' : name.slice(dot + 1)
}
