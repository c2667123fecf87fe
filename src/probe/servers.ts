import { isIP } from 'node:net'
import { unmapped } from '../lib/addresses.ts'

export type Server = { address: string; port: number }

const DNS_PORT = 53

/** Reads `ip`, `ip:port` or `[ip]:port`. Throws RangeError that names the entry which is none of them. */
export function parseServer(text: string): Server {
  if (isIP(text) !== 0) return { address: canonical(text), port: DNS_PORT }
  const parts = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d{1,5}))?$/.exec(text)
  const address = parts?.[1] ?? parts?.[2] ?? ''
  const port = Number(parts?.[3] ?? DNS_PORT)
  if (isIP(address) === 0 || port < 1 || port > 65_535)
    throw new RangeError(`"${text}" is not a DNS server: write an IP address, or ip:port`)
  return { address: canonical(address), port }
}

/** As the system writes the source of a packet, so that the two can be compared; a zone such as %eth0 stays. */
function canonical(address: string): string {
  return address.includes('%') ? address.toLowerCase() : unmapped(address)
}
