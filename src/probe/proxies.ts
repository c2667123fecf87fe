import { createAddressSet } from '../lib/addresses.ts'

/**
 * Networks that answer in place of the record when a DNS provider's proxy is switched on, as these companies publish them, and the zones of the
 * names that they give to a proxied hostname where its DNS is kept elsewhere.
 * A range that is missing here only makes the diagnosis less exact: the record then counts as pointing elsewhere.
 */
const PROXIES = [
  {
    name: 'Cloudflare',
    aliases: ['cdn.cloudflare.net'],
    ranges: [
      '103.21.244.0/22',
      '103.22.200.0/22',
      '103.31.4.0/22',
      '104.16.0.0/13',
      '104.24.0.0/14',
      '108.162.192.0/18',
      '131.0.72.0/22',
      '141.101.64.0/18',
      '162.158.0.0/15',
      '172.64.0.0/13',
      '173.245.48.0/20',
      '188.114.96.0/20',
      '190.93.240.0/20',
      '197.234.240.0/22',
      '198.41.128.0/17',
      '2400:cb00::/32',
      '2405:8100::/32',
      '2405:b500::/32',
      '2606:4700::/32',
      '2803:f800::/32',
      '2a06:98c0::/29',
      '2c0f:f248::/32',
    ],
  },
  {
    name: 'Imperva',
    aliases: ['impervadns.net', 'incapdns.net'],
    ranges: [
      '45.60.0.0/16',
      '45.64.64.0/22',
      '45.223.0.0/16',
      '103.28.248.0/22',
      '107.154.0.0/16',
      '131.125.128.0/17',
      '149.126.72.0/21',
      '185.11.124.0/22',
      '192.230.64.0/18',
      '198.143.32.0/19',
      '199.83.128.0/21',
      '2a02:e980::/29',
    ],
  },
  {
    name: 'Sucuri',
    aliases: ['sucuri.net'],
    ranges: ['66.248.200.0/22', '185.93.228.0/22', '192.88.134.0/23', '208.109.0.0/22', '2a02:fe80::/29'],
  },
]

const ALL = createAddressSet(PROXIES.flatMap((proxy) => proxy.ranges))
const EACH = PROXIES.map(({ name, ranges }) => ({ name, set: createAddressSet(ranges) }))

/** The proxy that all these addresses belong to, if one does. */
export function proxyOf(addresses: readonly string[]): string | undefined {
  // Nearly every address is in no range at all: one look says so.
  if (addresses.length === 0 || !addresses.every((address) => ALL.has(address))) return undefined
  return EACH.find(({ set }) => addresses.every((address) => set.has(address)))?.name
}

/** The proxy that a CNAME with this target stands for. Other names in a proxy's networks are those of sites behind it: to lead there is another mistake. */
export function proxyBehind(target: string): string | undefined {
  const name = `.${target.toLowerCase()}`
  return PROXIES.find(({ aliases }) => aliases.some((zone) => name.endsWith(`.${zone}`)))?.name
}
