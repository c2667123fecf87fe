import { type Hostname, wildcardOver } from '../hostname.ts'
import { Lru } from '../lib/lru.ts'
import type { Vitals } from '../replica/acknowledgements.ts'
import { connectToFollower } from '../replica/client.ts'
import { type CopyReader, openCopyReader } from '../replica/copy-reader.ts'
import { isCurrent, missIsFinal } from '../replica/copy-status.ts'
import type { RouteAnswer } from '../replica/messages.ts'
import { createNameUses } from '../replica/name-uses.ts'
import type { ChangedKeys, Route } from '../replica/rows.ts'
import { type ClientLookupParts, createClientLookups } from './client-lookups.ts'
import { copyPath, followerSocket } from './copy-place.ts'
import type { RoleContext } from './role.ts'
import { type LocalAnswer, type RouteMemory, rememberUsed } from './route-memory.ts'

export type LocalCopyParts<Kept> = {
  /** What this process needs of a route. */
  keep(route: Route): Kept
  /** Whether this process needs what the vendor stored with it. */
  metadata?: boolean
  /** Whether it may stay in memory; what may not is read from the copy each time. All may where this is absent. */
  isLight?(kept: Kept): boolean
  /** How it remembers the routes of a copy that holds every hostname; those that were used lately where this is absent. */
  remember?(reader: CopyReader): RouteMemory<Kept>
  /** News that the copy holds already. */
  changed?(keys: ChangedKeys): void
  /** Whatever was read before may be stale. */
  reset?(): void
  /** Of an edge process. */
  vitals?(): Vitals
  /** Of an edge process. */
  visitors?: Pick<ClientLookupParts, 'trustedProxies' | 'processes'>
}

const MISSES_IN_MEMORY_MAX = 100_000 // two of a name that is not served: its own and its wildcard's
const UNKNOWN: { kind: 'unknown' } = { kind: 'unknown' }
const NO_VISITORS = { trustedProxies: { has: () => false }, processes: 1 }

/**
 * How an api or edge process reads this machine's local copy: memory first, then the copy, whose hits are always served; then, only while the copy is
 * behind or incomplete, so that a miss in it means nothing, the follower. The follower's pushes drop what changed from memory; when the link to it breaks, all
 * of it is dropped, and each name is looked for in the copy until the link stands again.
 */
export function openLocalCopy<Kept extends Pick<Route, 'hostname' | 'projectId'>>(context: RoleContext, parts: LocalCopyParts<Kept>) {
  let revision = 0
  /** Whether news of whatever is remembered would come. */
  let isTold = false
  const misses = new Lru<Hostname, typeof UNKNOWN>(MISSES_IN_MEMORY_MAX)
  const follower = connectToFollower(followerSocket(context), {
    onChanged(keys) {
      revision += 1
      reader.lookAgain()
      for (const hostname of keys.routes) {
        routes.delete(hostname)
        misses.delete(hostname)
      }
      if (keys.projects.length > 0) forgetProjects(new Set(keys.projects))
      parts.changed?.(keys)
    },
    onReset() {
      isTold = follower.status().connected
      forgetAll()
    },
    ...(parts.vitals && { vitals: parts.vitals }),
  })
  const forgetAll = () => {
    revision += 1
    reader.lookAgain()
    routes.clear()
    misses.clear()
    parts.reset?.()
  }
  const reader = openCopyReader(copyPath(context.config), {
    metadata: parts.metadata ?? false,
    onDamaged: follower.copyDamaged,
    onLate: forgetAll,
    onUnwritable: (reason) => context.log.error({ reason }, 'nothing can be written beside the local copy, which is served as it lies'),
  })
  const isBounded = context.config.copyHostnamesMax > 0
  const routes = (!isBounded && parts.remember?.(reader)) || rememberUsed<Kept>()
  const uses = createNameUses({
    tell: follower.hostnamesUsed,
    forget() {
      if (!isBounded) return
      revision += 1
      routes.clear()
    },
  })
  const isFresh = () => missIsFinal(follower.status())
  const beyond = createClientLookups({ find: follower.findRoute, ...(parts.visitors ?? NO_VISITORS) })
  const forgetProjects = (ids: Set<string>) => {
    routes.forgetProjects(ids)
    misses.clear() // a route counts from when its project is in the copy
  }

  // A route is kept under its claim's name alone, a wildcard's too, so that news of one name makes one entry stale however many it covers.
  const remembered = (hostname: Hostname): LocalAnswer<Kept> | undefined => {
    if (!misses.get(hostname)) return undefined
    const wildcard = wildcardOver(hostname)
    return routes.get(wildcard) ?? misses.get(wildcard)
  }
  const remember = (hostname: Hostname, found: LocalAnswer<Kept>) => {
    if (found.kind === 'unavailable' || !isTold) return
    if (found.kind === 'route' && (parts.isLight?.(found.route) ?? true)) routes.set(found)
    if (found.kind === 'route' && found.route.hostname === hostname) return
    // A miss is remembered too: a scanner's guesses must not become reads.
    misses.set(hostname, UNKNOWN)
    if (found.kind === 'unknown') misses.set(wildcardOver(hostname), UNKNOWN)
  }
  const kept = (found: RouteAnswer): LocalAnswer<Kept> =>
    found.kind === 'route' ? { kind: 'route', route: parts.keep(found.route) } : found
  const inCopy = (hostname: Hostname): RouteAnswer | undefined => {
    const route = reader.findRoute(hostname)
    if (route) return { kind: 'route', route }
    return reader.isSound() && isFresh() ? UNKNOWN : undefined
  }

  return {
    reader,
    follower,
    isFresh,
    isCurrent: () => isCurrent(follower.status()),
    /**
     * Answers at once for every hostname that the copy holds; asks the follower only for the others, and only while the copy is not fresh. `client`: the
     * address of the visitor on whose behalf, who has a share of what is asked. Never throws or rejects.
     */
    findRoute(hostname: Hostname, client?: string): LocalAnswer<Kept> | Promise<LocalAnswer<Kept>> {
      const known = isTold ? (routes.get(hostname) ?? (isFresh() ? remembered(hostname) : undefined)) : undefined
      if (known) return known
      const answer = inCopy(hostname) ?? beyond(hostname, client)
      if (answer instanceof Promise) return answer.then(kept)
      const found = kept(answer)
      if (isBounded && found.kind === 'route') {
        uses.note(hostname)
        uses.note(found.route.hostname)
      }
      remember(hostname, found)
      return found
    },
    /** Has the hostname's certificate issued. A name that a bounded copy has let go is brought back first, with the certificate that it may have. */
    async requestCertificate(hostname: Hostname) {
      if (isBounded && !reader.findRoute(hostname)) await follower.findRoute(hostname)
      return follower.requestCertificate(hostname)
    },
    /** Another number whenever a route that was found before may be another one by now; none, NaN, while nobody would tell. */
    revision: () => (isTold ? revision : Number.NaN),
    /** What the remembered routes take, or may take soon. */
    routeBytes: routes.bytes,
    close() {
      uses.close()
      routes.close()
      follower.close()
      reader.close()
    },
  }
}
