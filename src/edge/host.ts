import type { Hostname } from '../hostname.ts'
import type { UpstreamProtocol } from './upstream.ts'

/** What the edge needs to know of a hostname to serve it. `hostname` is the claim's name: the visited one, or the wildcard over it. */
export type HostRoute = {
  hostname: Hostname
  projectId: string
  projectSlug: string
  upstreamUrl: string
  /** HTTP/1.1 when it is absent. */
  upstreamProtocol?: UpstreamProtocol
  verified: boolean
}

export type HostAnswer =
  | { kind: 'route'; route: HostRoute }
  /** One of the service's own: the API or the portal. */
  | { kind: 'service'; upstreamUrl: string }
  | { kind: 'edge-root' }
  | { kind: 'unknown' }
  /** Nobody can say at the moment. */
  | { kind: 'unavailable' }

/** `client`: the address of the visitor who came for it, where a stranger could come for any name at all. */
export type FindHost = (hostname: Hostname, client?: string) => HostAnswer | Promise<HostAnswer>

/** Whether both belong together so much that one connection may carry requests for both. */
export function isSameTenant(one: HostAnswer, other: HostAnswer): boolean {
  if (one.kind === 'route' && other.kind === 'route') return one.route.projectId === other.route.projectId
  return one.kind !== 'route' && other.kind !== 'route'
}

const EMPTY_PORT = /:$/
const DEFAULT_PORT = new Map([
  ['http', /:(?:80)?$/],
  ['https', /:(?:443)?$/],
])

/** Whether two authorities of a scheme are the same (RFC 9110 §4.2.3): case does not matter, nor whether an empty port or the scheme's own is said. */
export function isSameAuthority(one: string, other: string, scheme: string): boolean {
  const needless = DEFAULT_PORT.get(scheme.toLowerCase()) ?? EMPTY_PORT
  return one.toLowerCase().replace(needless, '') === other.toLowerCase().replace(needless, '')
}

const VISIBLE_ASCII = /^[\u0021-\u007e]+$/

/**
 * The authority's host part, still unparsed and without port. Empty for what can be no hostname on the wire: an address in brackets, or
 * characters beyond ASCII (RFC 3986 §3.2.2), which the application would see as another name than we do.
 */
export function hostOf(authority: string): string {
  if (authority.startsWith('[') || !VISIBLE_ASCII.test(authority)) return ''
  const colon = authority.lastIndexOf(':')
  return colon >= 0 && /^\d{0,5}$/.test(authority.slice(colon + 1)) ? authority.slice(0, colon) : authority
}
