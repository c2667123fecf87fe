import type { Config } from '../config.ts'
import { NAME_SERVER } from '../dns/zone.ts'
import { createZoneReader, type NamedServer, type ZoneReader } from '../probe/zone-reader.ts'
import type { Check } from './installation-checks.ts'

const name = 'DNS zone'

/** Whether NAMESAKE_DNS_ZONE is delegated to servers that answer for it as ours do; nothing where none is configured. `port`: where they listen, if not at 53. */
export async function checkDnsZone({ dnsZone: zone, dnsServers, edgeIps }: Config, port?: number): Promise<Check[]> {
  if (!zone) return []
  const reader = createZoneReader(zone, dnsServers, port)
  try {
    const servers = await reader.servers()
    if (servers.length === 0) return [{ name, state: 'bad', sentence: `${zone} is not delegated to us: ${remedy(zone, edgeIps)}` }]
    return await Promise.all(servers.map(async (server) => judge(zone, server, await isOurs(reader, zone, server), edgeIps)))
  } finally {
    reader.close()
  }
}

async function isOurs(reader: ZoneReader, zone: string, server: NamedServer): Promise<boolean | undefined> {
  const message = await reader.ask(server, { name: zone, type: 'SOA' })
  if (!message) return undefined
  const soa = message.answers.find(({ type }) => type === 'SOA')
  return message.authoritative && soa?.value.toLowerCase() === `${NAME_SERVER}.${zone}`
}

function judge(zone: string, server: NamedServer, ours: boolean | undefined, edgeIps: readonly string[]): Check {
  const where = `${zone} is delegated to ${server.name} (${server.address})`
  if (ours) return { name, state: 'good', sentence: `${where}, which answers` }
  if (ours === undefined)
    return {
      name,
      state: 'bad',
      sentence: `${where}, which does not answer: run the role dns there (NAMESAKE_DNS_ADDR) and open port 53 for UDP and TCP`,
    }
  return { name, state: 'bad', sentence: `${where}, which is not ours: ${remedy(zone, edgeIps)}` }
}

function remedy(zone: string, edgeIps: readonly string[]): string {
  const server = `${NAME_SERVER}.${zone}`
  const addresses = edgeIps.map((ip) => `"${server} ${ip.includes(':') ? 'AAAA' : 'A'} ${ip}"`)
  const glue = addresses.length > 0 ? addresses : [`the address of ${server}, for which NAMESAKE_EDGE_IPS must be set`]
  const parent = zone.slice(zone.indexOf('.') + 1)
  return `in the DNS of ${parent} add "${zone} NS ${server}" and ${glue.join(' and ')}, run the role dns at that address, and open port 53 for UDP and TCP`
}
