import { join } from 'node:path'
import type { Config } from '../config.ts'
import { type Hostname, wildcardOver } from '../hostname.ts'
import { Lru } from '../lib/lru.ts'
import { connectToFollower } from '../replica/client.ts'
import { openCopyReader } from '../replica/copy-reader.ts'
import { missIsFinal } from '../replica/copy-status.ts'
import type { RouteAnswer } from '../replica/messages.ts'
import { findLocalRoute } from '../replica/route-lookup.ts'
import type { ChangedKeys } from '../replica/rows.ts'
import type { RoleContext } from './role.ts'

const ROUTES_IN_MEMORY_MAX = 200_000
const MISSES_IN_MEMORY_MAX = 100_000 // two of a name that is not served: its own and its wildcard's
const UNKNOWN: RouteAnswer = { kind: 'unknown' }

export const copyPath = (config: Config) => join(config.dataDir, 'copy', 'routes.sqlite')
export const followerSocket = (context: RoleContext) => join(context.runDir, 'follower.sock')

/**
 * How an api or edge process reads this machine's local copy: memory first, then the copy, then, only while the copy is behind or
 * incomplete, the follower. The follower's pushes drop what changed from memory; when the link to it breaks, all of it is dropped.
 */
export function openLocalCopy(context: RoleContext, news: { changed?(keys: ChangedKeys): void; reset?(): void }) {
  const routes = new Lru<Hostname, RouteAnswer>(ROUTES_IN_MEMORY_MAX)
  const misses = new Lru<Hostname, RouteAnswer>(MISSES_IN_MEMORY_MAX)
  const follower = connectToFollower(followerSocket(context), {
    onChanged(keys) {
      for (const hostname of keys.routes) {
        routes.delete(hostname)
        misses.delete(hostname)
      }
      news.changed?.(keys)
    },
    onReset() {
      routes.clear()
      misses.clear()
      news.reset?.()
    },
  })
  const reader = openCopyReader(copyPath(context.config), { onDamaged: follower.copyDamaged })
  const isFresh = () => missIsFinal(follower.status())

  // A route is kept under its claim's name alone, a wildcard's too, so that news of one name makes one entry stale however many it covers.
  const remembered = (hostname: Hostname): RouteAnswer | undefined => {
    if (!misses.peek(hostname)) return undefined
    const wildcard = wildcardOver(hostname)
    return routes.peek(wildcard) ?? misses.peek(wildcard)
  }
  const remember = (hostname: Hostname, found: RouteAnswer) => {
    if (found.kind === 'unavailable') return
    if (found.kind === 'route') routes.set(found.route.hostname, found)
    if (found.kind === 'route' && found.route.hostname === hostname) return
    // A miss is remembered too: a scanner's guesses must not become reads.
    misses.set(hostname, UNKNOWN)
    if (found.kind === 'unknown') misses.set(wildcardOver(hostname), UNKNOWN)
  }

  return {
    reader,
    follower,
    isFresh,
    /** Answers at once for every hostname that the copy holds; asks the follower only for the others, and only while the copy is not fresh. */
    findRoute(hostname: Hostname): RouteAnswer | Promise<RouteAnswer> {
      const known = routes.peek(hostname) ?? (isFresh() ? remembered(hostname) : undefined)
      if (known) return known
      const found = findLocalRoute(reader, follower, hostname)
      if (found instanceof Promise) return found
      remember(hostname, found)
      return found
    },
    close() {
      follower.close()
      reader.close()
    },
  }
}
