import { Lru } from '../lib/lru.ts'
import { createOnce } from '../lib/once.ts'

const HOSTS_MAX = 10_000
const FRESH_MS = 10_000
const STALE_MS_MAX = 10 * 60_000
const PATIENCE_MS = 1_000

type Known = { addresses: string[]; atMs: number }

/**
 * Remembers the addresses of upstreams for ten seconds, so that a busy upstream costs a look-up now and then and not one a connection.
 * When a look-up fails or takes longer than a second, the last answer stands in, for ten minutes at most: a resolver's outage must not
 * take down upstreams that are well. Whether an address may be used is not decided here. Rejects as `look` does when nothing is known.
 */
export function createUpstreamAddresses(look: (host: string) => Promise<string[]>, now: () => number): (host: string) => Promise<string[]> {
  const memory = new Lru<string, Known>(HOSTS_MAX)
  const once = createOnce<string, string[]>()

  const refresh = (host: string) =>
    once(host, async () => {
      const addresses = await look(host)
      memory.set(host, { addresses, atMs: now() })
      return addresses
    })

  return async (host) => {
    const known = memory.get(host)
    const ageMs = known ? now() - known.atMs : Number.POSITIVE_INFINITY
    if (known && ageMs < FRESH_MS) return known.addresses
    if (!known || ageMs > STALE_MS_MAX) return refresh(host)
    return orAfter(PATIENCE_MS, refresh(host), known.addresses)
  }
}

/** What the promise brings, or the stand-in when it fails or is late. */
function orAfter<T>(ms: number, promise: Promise<T>, standIn: T): Promise<T> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms, standIn)
    const settle = (value: T) => {
      clearTimeout(timer)
      resolve(value)
    }
    promise.then(settle, () => settle(standIn))
  })
}
