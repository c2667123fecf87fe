import type { Db } from '../core/db.ts'
import { findRoute, type Route } from '../core/routes.ts'
import { type Hostname, wildcardOver } from '../hostname.ts'
import { Lru } from '../lib/lru.ts'
import { createOnce } from '../lib/once.ts'
import { TokenBucket } from '../lib/token-bucket.ts'
import { createDatabaseFirst } from './database-first.ts'

/** What the machine's copy of all routes says of a hostname; `unavailable`: nobody can say. */
export type RouteAnswer = { kind: 'route'; route: Route } | { kind: 'unknown' } | { kind: 'unavailable' }

/** The machine's copy: answers from memory, usually at once. `isFresh`: it is complete and at most five seconds behind the database. */
export type RouteCopy = { isFresh(): boolean; resolve(hostname: Hostname): RouteAnswer | Promise<RouteAnswer> }

export type RouteFinder = {
  /**
   * The hostname's route in the project, its own or its wildcard's, or undefined when the project does not hold it. From memory while the copy is fresh; else
   * from the database, for which the copy stands in during an outage. What another project holds is looked for as what nobody does: no time or outage tells
   * which it is. Rejects with `database_unavailable` when nobody can say.
   */
  find(hostname: Hostname, projectId: string): Route | undefined | Promise<Route | undefined>
  /** The hostname's route, whosever it is. The copy decides unless it knows nothing: for the certificate check, which must not depend on the database. */
  findInCopy(hostname: Hostname): Promise<Route | undefined>
  /** The claim was just written here: until the copy has followed, the database is asked, so that callers read their own writes. */
  wrote(hostname: Hostname): void
}

const WRITTEN_MS = 6_000 // a fresh copy is at most five seconds behind
const WRITTEN_MAX = 10_000
const MISSES_ASKED = { perSecond: 200, burst: 200 }
const PROJECT_MISSES_ASKED = { perSecond: 50, burst: 50 }
const PROJECTS_MAX = 10_000

export function createRouteFinder(parts: RouteCopy & { db: Db; now(): Date }): RouteFinder {
  const written = new Lru<Hostname, number>(WRITTEN_MAX)
  const once = createOnce<Hostname, Route | undefined>()
  const databaseFirst = createDatabaseFirst(parts.now)
  const misses = new TokenBucket(MISSES_ASKED, parts.now().getTime())
  const ofProjects = new Lru<string, TokenBucket>(PROJECTS_MAX)

  const read = (hostname: Hostname) => findRoute(parts.db, hostname)
  const load = (hostname: Hostname) => once(hostname, () => read(hostname))
  const wasWritten = (hostname: Hostname) => written.size > 0 && (isRecent(hostname) || isRecent(wildcardOver(hostname)))
  const isRecent = (hostname: Hostname): boolean => {
    const atMs = written.peek(hostname)
    if (atMs === undefined) return false
    if (parts.now().getTime() - atMs < WRITTEN_MS) return true
    written.delete(hostname)
    return false
  }
  const missesOf = (projectId: string): TokenBucket => {
    const own = ofProjects.get(projectId) ?? new TokenBucket(PROJECT_MISSES_ASKED, parts.now().getTime())
    ofProjects.set(projectId, own)
    return own
  }
  // Claimed on another machine a moment ago, it may not have reached this one; so a miss is looked up, within bounds.
  const confirmMiss = async (hostname: Hostname, projectId?: string) => {
    const nowMs = parts.now().getTime()
    if (projectId !== undefined && !missesOf(projectId).take(nowMs)) return undefined
    return misses.take(nowMs) ? load(hostname) : undefined
  }
  const fromDatabase = async (hostname: Hostname, isWanted: (route: Route) => boolean): Promise<Route | undefined> => {
    const copied = await parts.resolve(hostname)
    // A reading that began before the write must not be shared by who reads after it.
    const ask = wasWritten(hostname) ? read : load
    return databaseFirst(() => ask(hostname), copied.kind === 'route' && isWanted(copied.route) ? copied.route : undefined)
  }

  return {
    find(hostname, projectId) {
      const isOwn = (route: Route) => route.projectId === projectId
      const ifOwn = (route: Route | undefined) => (route && isOwn(route) ? route : undefined)
      if (!parts.isFresh() || wasWritten(hostname)) return fromDatabase(hostname, isOwn).then(ifOwn)
      const decide = (answer: RouteAnswer) => {
        if (answer.kind === 'route' && isOwn(answer.route)) return answer.route
        return (answer.kind === 'unavailable' ? load(hostname) : confirmMiss(hostname, projectId)).then(ifOwn)
      }
      const answer = parts.resolve(hostname)
      return answer instanceof Promise ? answer.then(decide) : decide(answer)
    },
    async findInCopy(hostname) {
      if (wasWritten(hostname)) return fromDatabase(hostname, () => true)
      const answer = await parts.resolve(hostname)
      if (answer.kind === 'route') return answer.route
      if (answer.kind === 'unavailable') return load(hostname)
      return confirmMiss(hostname).catch(() => undefined)
    },
    wrote: (hostname) => written.set(hostname, parts.now().getTime()),
  }
}
