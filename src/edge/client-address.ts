import { isIP } from 'node:net'
import { type AddressSet, unmapped } from '../lib/addresses.ts'

const PROXIES_IN_A_ROW_MAX = 20

/**
 * The visitor's address: who connected, or, when that is a trusted proxy, the rightmost address in X-Forwarded-For that no trusted proxy
 * has. Left of the first entry that is not an address nothing is believed.
 */
export function clientAddress(peer: string, forwardedFor: string, trusted: AddressSet): string {
  let client = peer
  if (!trusted.has(peer)) return client
  const hops = forwardedFor.split(',').slice(-PROXIES_IN_A_ROW_MAX).reverse()
  for (const hop of hops) {
    const address = unmapped(hop.trim())
    if (isIP(address) === 0) return client
    client = address
    if (!trusted.has(address)) return client
  }
  return client
}
