import type { Hostname } from '../hostname.ts'
import { type AddressSet, addressKey } from '../lib/addresses.ts'
import { Lru } from '../lib/lru.ts'
import { TokenBucket } from '../lib/token-bucket.ts'
import type { RouteAnswer } from '../replica/messages.ts'

export type ClientLookupParts = {
  /** Asks beyond this machine. Never rejects. */
  find(hostname: Hostname): Promise<RouteAnswer>
  /** Proxies whose connections carry many visitors each: they have no share of their own. */
  trustedProxies: AddressSet
  /** How many processes of this machine serve visitors, who come to all of them. */
  processes: number
  /** Milliseconds that never go back. */
  now?: () => number
}

/** Names that nobody claimed, at all processes of a machine together. A visitor needs none; who guesses names gets a twelfth of what the machine asks for. */
const GUESSES = { perSecond: 4, burst: 40 }
/** At each of many processes: what is looked up for a visitor counts until it is known to be a hostname. */
const BURST_MIN = 5
/** A name under a wildcard counts as a fifth of a guess: anybody can make one up, and a customer's visitors come for many. */
const FOUND_BY_WILDCARD = 0.8
const CLIENTS_MAX = 10_000
const UNAVAILABLE: RouteAnswer = { kind: 'unavailable' }

/**
 * A share for each client (an IPv4 address, or an IPv6 /64) of the look-ups beyond this machine, which are few: so that who guesses names shuts
 * nobody else out. What turns out to be a hostname is not counted, nor is what nobody could say; beyond its share a client is told `unavailable`, since nobody looked.
 */
export function createClientLookups({ find, trustedProxies, processes, now = () => performance.now() }: ClientLookupParts) {
  const guesses = { perSecond: GUESSES.perSecond / processes, burst: Math.max(BURST_MIN, GUESSES.burst / processes) }
  const running = new Map<Hostname, Promise<RouteAnswer>>()
  const shares = new Lru<string, TokenBucket>(CLIENTS_MAX)

  const shareOf = (client: string): TokenBucket => {
    const key = addressKey(client)
    const share = shares.get(key) ?? new TokenBucket(guesses, now())
    shares.set(key, share)
    return share
  }
  const ask = async (hostname: Hostname, share: TokenBucket | undefined): Promise<RouteAnswer> => {
    const answer = await find(hostname).finally(() => running.delete(hostname))
    if (answer.kind !== 'unknown') share?.giveBack(answer.kind === 'route' && answer.route.hostname !== hostname ? FOUND_BY_WILDCARD : 1)
    return answer
  }

  /** `client`: the address of who wants to know; without one, it is this machine. */
  return (hostname: Hostname, client?: string): RouteAnswer | Promise<RouteAnswer> => {
    const known = running.get(hostname)
    if (known) return known
    const share = client === undefined || trustedProxies.has(client) ? undefined : shareOf(client)
    if (share && !share.take(now())) return UNAVAILABLE
    const asked = ask(hostname, share)
    running.set(hostname, asked)
    return asked
  }
}
