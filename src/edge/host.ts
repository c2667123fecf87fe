import type { Hostname } from '../hostname.ts'

/** What the edge needs to know of a hostname to serve it. */
export type HostRoute = { hostname: Hostname; projectId: string; projectSlug: string; upstreamUrl: string; verified: boolean }

export type HostAnswer =
  | { kind: 'route'; route: HostRoute }
  /** One of the service's own: the API or the portal. */
  | { kind: 'service'; upstreamUrl: string }
  | { kind: 'edge-root' }
  | { kind: 'unknown' }
  /** Nobody can say at the moment. */
  | { kind: 'unavailable' }

export type FindHost = (hostname: Hostname) => HostAnswer | Promise<HostAnswer>

/** Whether both belong together so much that one connection may carry requests for both. */
export function isSameTenant(one: HostAnswer, other: HostAnswer): boolean {
  if (one.kind === 'route' && other.kind === 'route') return one.route.projectId === other.route.projectId
  return one.kind !== 'route' && other.kind !== 'route'
}

/** The authority's host part, still unparsed: without port, and without the brackets of an IPv6 address. */
export function hostOf(authority: string): string {
  if (authority.startsWith('[')) return authority.slice(1, authority.indexOf(']'))
  const colon = authority.lastIndexOf(':')
  return colon >= 0 && /^\d{0,5}$/.test(authority.slice(colon + 1)) ? authority.slice(0, colon) : authority
}
