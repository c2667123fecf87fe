import { parseHostname } from '../../src/hostname.ts'
import { createProbe, type Probe, type ProbeSettings } from '../../src/probe/probe.ts'
import { type DnsServer, startAuthorities, startDnsServer } from './dns.ts'

export const EDGE_HOST = 'edge.namesake.test'
export const PORTAL_HOST = 'app.namesake.test'

export type CustomerZone = {
  resolver: DnsServer
  authorities: DnsServer[]
  /** Sets a record at the customer's DNS provider, where the resolver sees it at once. */
  set: DnsServer['set']
  probe: Probe
  stop(): Promise<void>
}

/** The zone customer.test on two authoritative servers, a resolver that knows them, and a probe that asks all three. */
export async function startCustomerZone(settings: Partial<ProbeSettings> = {}): Promise<CustomerZone> {
  const resolver = await startDnsServer({ role: 'resolver', zones: ['test', 'namesake.test', 'customer.test'] })
  const authorities = await startAuthorities([['customer.test'], ['customer.test']])
  resolver.set(EDGE_HOST, 'A', '127.0.0.10')
  resolver.set('customer.test', 'NS', 'ns1.customer.test', 'ns2.customer.test')
  for (const [n, authority] of authorities.entries()) resolver.set(`ns${n + 1}.customer.test`, 'A', authority.address)
  const probe = createProbe({
    edgeHost: parseHostname(EDGE_HOST),
    edgeIps: ['127.0.0.10', '2001:db8::10'],
    portalHosts: [PORTAL_HOST],
    servers: [resolver.endpoint],
    caaIssuers: [],
    authoritativePort: authorities[0]!.port,
    ...settings,
  })
  return {
    resolver,
    authorities,
    set: (...record) => {
      for (const server of [resolver, ...authorities]) server.set(...record)
    },
    probe,
    async stop() {
      probe.close()
      await Promise.all([resolver, ...authorities].map((server) => server.stop()))
    },
  }
}
