import type { Config } from './config.ts'

const OWN_MACHINE = /^((.+\.)?localhost|127\.[\d.]+|\[::1\])$/

/** What can be meant, but seldom is. */
export function doubts({ local, acmeDirectories, edgeIps, dnsZone, baseUrl, portalUrl }: Config): string[] {
  const found: string[] = []
  if (dnsZone && edgeIps.length === 0)
    found.push(`NAMESAKE_EDGE_IPS is not set: the name server of ${dnsZone} has no address. Example: 203.0.113.10`)
  if (local) return found
  if (acmeDirectories.includes('local')) {
    found.push(
      'NAMESAKE_ACME_DIRECTORY is local: no browser trusts the certificates. Example: https://acme-v02.api.letsencrypt.org/directory',
    )
  }
  if (edgeIps.length === 0 && !dnsZone)
    found.push('NAMESAKE_EDGE_IPS is not set: an apex domain then takes a DNS provider with ALIAS records. Example: 203.0.113.10')
  found.push(...doubtAddress('NAMESAKE_BASE_URL', baseUrl, 'https://api.example.com'))
  if (portalUrl.origin !== baseUrl.origin) found.push(...doubtAddress('NAMESAKE_PORTAL_URL', portalUrl, 'https://portal.example.com'))
  return found
}

/** Of an address that the world is to reach. */
function doubtAddress(setting: string, { origin, hostname, protocol }: URL, example: string): string[] {
  if (OWN_MACHINE.test(hostname))
    return [`${setting} is ${origin}: links in mails and answers lead whoever follows them to their own machine. Example: ${example}`]
  if (protocol === 'https:') return []
  return [`${setting} is ${origin}: tokens, sessions and sign-in links cross the network for all to read. Example: ${example}`]
}
