import { BoundSocket } from 'node:net'
import type { Config } from './config.ts'

/** What is to be said of a machine that is to connect to upstreams from an address that it does not have: every such connection fails. */
export function doubtSources({ upstreamSourceIps }: Pick<Config, 'upstreamSourceIps'>, roles: readonly string[]): string[] {
  const consequence = consequenceFor(roles)
  if (consequence === undefined) return []
  return upstreamSourceIps.flatMap((ip) => {
    try {
      new BoundSocket({ host: ip, port: 0 }).close()
      return []
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      const lack = code === 'EADDRNOTAVAIL' ? `this machine has no address ${ip}` : `${ip} cannot be bound (${code})`
      return [`NAMESAKE_UPSTREAM_SOURCE_IPS: ${lack}, and ${consequence}. Give it to the machine, or take it out`]
    }
  })
}

function consequenceFor(roles: readonly string[]): string | undefined {
  if (roles.includes('edge')) return 'visits whose connection is to come from it are 502'
  if (roles.includes('api'))
    return 'of an application that is tried from it, when its address is saved, the portal says that it does not answer'
  return undefined
}
