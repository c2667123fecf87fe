import { Lru } from '../lib/lru.ts'
import { createOnce } from '../lib/once.ts'
import { Shares } from '../lib/shares.ts'
import { UpstreamFailure } from './upstream.ts'

const HOSTS_MAX = 10_000
const FRESH_MS = 10_000
const STALE_MS_MAX = 10 * 60_000
const PATIENCE_MS = 1_000
const FAILED_MS = 2_000
/**
 * Half of libuv's threads may look up names at the same time (`node-flags.ts` asks for 256), and one whose server does not answer takes ten seconds and
 * more. An owner, which is a project, has one upstream, and for a moment the one before it: the fifty projects that a person may have leave room for others'.
 */
const LOOKUPS = { max: 120, perOwnerMax: 2 }

type Known = { addresses: string[]; atMs: number }

/**
 * Remembers the addresses of upstreams for ten seconds, so that a busy upstream costs a look-up now and then and not one a connection.
 * When a look-up fails or takes longer than a second, the last answer stands in, for ten minutes at most: a resolver's outage must not
 * take down upstreams that are well. A failure is remembered for two seconds, and each owner has a share of the look-ups, so that names which nobody
 * answers for hold up no others; where all places are taken, the last answer stands in however old. Whether an address may be used is not decided here.
 * Rejects as `look` does when nothing is known. `now`: milliseconds that never go back.
 */
export function createUpstreamAddresses(
  look: (host: string) => Promise<string[]>,
  now = () => performance.now(),
): (host: string, owner: string) => Promise<string[]> {
  const memory = new Lru<string, Known>(HOSTS_MAX)
  const failures = new Lru<string, { error: unknown; atMs: number }>(HOSTS_MAX)
  const once = createOnce<string, string[]>()
  const running = new Shares(LOOKUPS)

  const lookUp = async (host: string, owner: string) => {
    const failed = failures.get(host)
    if (failed && now() - failed.atMs < FAILED_MS) throw failed.error
    if (!running.enter(owner)) throw busy(host)
    try {
      const addresses = await look(host)
      memory.set(host, { addresses, atMs: now() })
      return addresses
    } catch (error) {
      failures.set(host, { error, atMs: now() })
      throw error
    } finally {
      running.leave(owner)
    }
  }
  const refresh = (host: string, owner: string) => once(host, () => lookUp(host, owner))

  return async (host, owner) => {
    const known = memory.get(host)
    const ageMs = known ? now() - known.atMs : Number.POSITIVE_INFINITY
    if (known && ageMs < FRESH_MS) return known.addresses
    if (!known) return refresh(host, owner)
    if (ageMs > STALE_MS_MAX) return refresh(host, owner).catch((error) => orRethrow(error, known.addresses))
    return orAfter(PATIENCE_MS, refresh(host, owner), known.addresses)
  }
}

/** As a resolver says "later". */
class TooManyLookUps extends Error {
  readonly code = 'EAI_AGAIN'
}

function busy(host: string): UpstreamFailure {
  return new UpstreamFailure('dns', `${host} cannot be resolved at the moment`, {
    cause: new TooManyLookUps('too many names are being looked up'),
  })
}

/** Where nobody was asked the last answer stands in, however old. */
function orRethrow(error: unknown, standIn: string[]): string[] {
  if (error instanceof Error && error.cause instanceof TooManyLookUps) return standIn
  throw error
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
