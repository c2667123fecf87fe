import type { Config } from '../config.ts'
import { type Hostname, readHostname } from '../hostname.ts'

export type OwnHost = { kind: 'edge-root' } | { kind: 'service'; upstreamUrl: string }

/**
 * The service's own names: the edge host answers the liveness text; the API's and the portal's hosts lead to the api role.
 * A base URL without a dot in it, such as http://localhost:4000, is not served through the edge.
 */
export function ownHosts(config: Config): ReadonlyMap<Hostname, OwnHost> {
  const hosts = new Map<Hostname, OwnHost>()
  const api = { kind: 'service' as const, upstreamUrl: `http://${apiAuthority(config)}` }
  for (const url of [config.baseUrl, config.portalUrl]) {
    const reading = readHostname(url.hostname)
    if (reading.kind === 'hostname') hosts.set(reading.hostname, api)
  }
  return hosts.set(config.edgeHost, { kind: 'edge-root' })
}

/** Where the edge reaches the api role of its own machine: its listen address, or loopback when that is a wildcard. */
function apiAuthority({ apiAddr }: Config): string {
  const host = apiAddr.host === '0.0.0.0' ? '127.0.0.1' : apiAddr.host === '::' ? '::1' : apiAddr.host
  return host.includes(':') ? `[${host}]:${apiAddr.port}` : `${host}:${apiAddr.port}`
}
