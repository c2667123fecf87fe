import { BlockList, isIP, isIPv6 } from 'node:net'

/** What a cluster of addresses is tested against: parsed once, asked often. */
export type AddressSet = { has(address: string): boolean }

/**
 * Addresses and CIDR blocks as one set, IPv4 and IPv6. An IPv4-mapped IPv6 address counts as its IPv4 address, on both sides.
 * Throws RangeError that names the entry which is neither an address nor a block.
 */
export function createAddressSet(entries: readonly string[]): AddressSet {
  const list = new BlockList()
  for (const entry of entries) addEntry(list, entry)
  return {
    has(address) {
      if (entries.length === 0) return false
      const plain = unmapped(address)
      const family = isIP(plain)
      return family !== 0 && list.check(plain, family === 6 ? 'ipv6' : 'ipv4')
    },
  }
}

// IANA's special-purpose registries (RFC 6890 and its updates), as of 2026, and what clouds use for metadata, most of it inside them.
const SPECIAL = createAddressSet([
  '0.0.0.0/8', // this host
  '10.0.0.0/8', // private
  '100.64.0.0/10', // shared address space, CGNAT (RFC 6598)
  '127.0.0.0/8', // loopback
  '168.63.129.16/32', // what a machine in Azure asks for its own state and certificates
  '169.254.0.0/16', // link-local, with the clouds' metadata service
  '172.16.0.0/12', // private
  '192.0.0.0/24', // protocol assignments
  '192.0.2.0/24', // documentation
  '192.31.196.0/24', // AS112
  '192.52.193.0/24', // AMT
  '192.88.99.0/24', // 6to4 relays
  '192.168.0.0/16', // private
  '192.175.48.0/24', // AS112
  '198.18.0.0/15', // benchmarking
  '198.51.100.0/24', // documentation
  '203.0.113.0/24', // documentation
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved, with the broadcast address
  '::/96', // unspecified, loopback, and the deprecated IPv4-compatible addresses
  '::ffff:0:0:0/96', // IPv4-translated (RFC 2765): an IPv4 address in disguise
  '64:ff9b::/96', // NAT64 (RFC 6052): an IPv4 address in disguise
  '64:ff9b:1::/48', // local-use NAT64
  '100::/64', // discard only
  '100:0:0:1::/64', // dummy prefix
  '2001::/23', // protocol assignments, with Teredo
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4: an IPv4 address in disguise
  '3fff::/20', // documentation
  '5f00::/16', // segment routing
  'fc00::/7', // unique local, with the clouds' IPv6 metadata service
  'fe80::/10', // link-local
  'fec0::/10', // site-local
  'ff00::/8', // multicast
])

/**
 * Whether an address is private, loopback, link-local, metadata, shared, mapped, translated, unspecified or otherwise not on the public
 * Internet. What is not an address at all is special too: the safe answer.
 */
export function isSpecialAddress(address: string): boolean {
  const plain = unmapped(address)
  return isIP(plain) === 0 || SPECIAL.has(plain)
}

/** An IPv4-mapped IPv6 address as its IPv4 address, any other text without its zone and brackets. */
export function unmapped(address: string): string {
  if (/^[\d.]+$/.test(address)) return address // nearly all that are asked for
  const bare = address.replace(/^\[|\]$/g, '').replace(/%.*$/, '')
  if (!isIPv6(bare)) return bare
  const canonical = new URL(`http://[${bare}]/`).hostname.slice(1, -1)
  const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(canonical)
  if (!mapped) return canonical
  const high = Number.parseInt(mapped[1]!, 16)
  const low = Number.parseInt(mapped[2]!, 16)
  return [high >> 8, high & 255, low >> 8, low & 255].join('.')
}

/** What counts of a client's address go by: of IPv6 the network (/64), since one person has a whole one. */
export function addressKey(address: string): string {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '')
  if (!plain.includes(':')) return plain
  const [head, tail] = plain.split('%')[0]!.split('::')
  const before = head!.split(':').filter((group) => group !== '')
  const after = tail?.split(':').filter((group) => group !== '') ?? []
  const zeros = Array.from({ length: Math.max(0, 8 - before.length - after.length) }, () => '0')
  return `${[...before, ...(tail === undefined ? [] : zeros), ...after].slice(0, 4).join(':').toLowerCase()}::/64`
}

function addEntry(list: BlockList, entry: string): void {
  const [text = '', prefix] = entry.split('/')
  const mapped = unmapped(text)
  const family = isIP(mapped)
  const bits = family === 6 ? 128 : 32
  const length = prefix === undefined ? bits : Number(prefix)
  if (family === 0 || !Number.isInteger(length) || length < 0 || length > bits) {
    throw new RangeError(`"${entry}" is neither an IP address nor a CIDR block such as 10.0.0.0/8`)
  }
  list.addSubnet(mapped, length, family === 6 ? 'ipv6' : 'ipv4')
}
